/** Creates, finds and captures orders. */
import type { Account } from '../accounts.ts';
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import type { Payment, Trade } from '../trade.ts';
import { DECLINED_BY_AMOUNT, fixedOutcome } from '../trades.ts';
import { newPaypalId } from './account.ts';
import { notFound, presentCapture, refuse, refuseWith, sceneryOf } from './answers.ts';
import { sendEvent } from './notifications.ts';
import { type OrderRequest, readAmount } from './requests.ts';

type CaptureFault = 'capture-pending' | 'capture-declined';

/** How long a capture is pending with the fault `capture-pending`, in simulated milliseconds. */
const PENDING_MS = 60_000;

/**
 * PayPal error codes (`issue`) after which the payer must choose another payment method ("Handle funding failures" and
 * the Orders v2 error list at developer.paypal.com). Captures are refused until the payer approves again.
 */
const CHOOSE_AGAIN: ReadonlySet<string> = new Set([
  'INSTRUMENT_DECLINED',
  'PAYER_ACTION_REQUIRED',
  'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
]);

/**
 * PayPal's reasons for a pending capture that the merchant must accept or deny (Payments v2, capture status details).
 */
const MERCHANT_DECIDES: ReadonlySet<string> = new Set([
  'INTERNATIONAL_WITHDRAWAL',
  'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION',
  'UNILATERAL',
  'VERIFICATION_REQUIRED',
]);

/**
 * Refuses a capture if the fault `refused` is set. Refuses it also after an earlier refusal, until the payer approves
 * the order again. Throws PaypalRefusal.
 */
function refuseCapture(core: Core, trade: Trade, fault: FaultName | undefined, word: string | undefined): void {
  const issue = fault === 'refused' ? (word ?? 'TRANSACTION_REFUSED') : trade.details['refusedWith'];
  if (typeof issue !== 'string') return;
  const isForPayer = CHOOSE_AGAIN.has(issue);
  if (isForPayer && trade.state === 'approved') {
    trade.state = 'open';
    trade.details['refusedWith'] = issue;
    core.trades.decline(trade);
  }
  throw refuseWith(issue, isForPayer ? [{ href: core.payUrl(trade), rel: 'redirect', method: 'GET' }] : []);
}

/** Captures the payment and notifies the merchant. With a fault the capture is pending or declined. */
export function takeMoney(
  core: Core,
  trade: Trade,
  requestId: string | undefined,
  fault: CaptureFault | undefined,
  reason = 'PENDING_REVIEW',
): void {
  const number = core.trades.newNumber(newPaypalId);
  if (fault === undefined) {
    core.trades.pay(trade, { number, type: 'captured', requestNo: requestId });
    notifyCapture(core, trade, 'PAYMENT.CAPTURE.COMPLETED', 'completed');
    return;
  }
  const state = fault === 'capture-pending' ? 'pending' : 'declined';
  trade.payments.push({ number, minor: trade.minor, state, at: core.clock.now(), requestNo: requestId ?? null });
  trade.state = state === 'pending' ? 'paid' : trade.state;
  const ripens = state === 'pending' && !MERCHANT_DECIDES.has(reason);
  if (state === 'pending') trade.details['pendingReason'] = reason;
  if (ripens) trade.details['ripeAt'] = core.clock.now() + PENDING_MS;
  core.trades.record(trade, fault, { number, minor: trade.minor });
  notifyCapture(core, trade, state === 'pending' ? 'PAYMENT.CAPTURE.PENDING' : 'PAYMENT.CAPTURE.DECLINED', state);
  if (ripens) core.clock.schedule(PENDING_MS, () => moveCapture(core, trade, 'completed'));
}

/** Completes a pending capture whose time is over, in case the process that scheduled the completion has ended. */
export function ripen(core: Core, trade: Trade): void {
  const ripeAt = trade.details['ripeAt'];
  if (typeof ripeAt === 'number' && ripeAt <= core.clock.now()) moveCapture(core, trade, 'completed');
}

/**
 * Completes or declines a pending capture: PayPal finished its review, or the merchant accepted or denied the payment
 * in its account.
 */
export function moveCapture(core: Core, trade: Trade, state: 'completed' | 'declined'): void {
  const payment = trade.payments.find((candidate) => candidate.state === 'pending');
  if (!payment) return;
  payment.state = state;
  const isTaken = state === 'completed';
  if (isTaken) payment.completedAt = core.clock.now();
  core.trades.record(trade, isTaken ? 'captured' : 'capture-declined', {
    number: payment.number,
    minor: payment.minor,
  });
  notifyCapture(core, trade, isTaken ? 'PAYMENT.CAPTURE.COMPLETED' : 'PAYMENT.CAPTURE.DENIED', state);
}

function notifyCapture(core: Core, trade: Trade, event: string, state: Payment['state']): void {
  const payment = trade.payments.find((candidate) => candidate.state === state);
  if (!payment) return;
  const summary = `Payment ${state} for ${payment.number}`;
  sendEvent(core, trade, event, summary, presentCapture(trade, payment, sceneryOf(core, trade)));
}

/** How long an order waits for the payer's approval, and how long an approved order waits for its capture. */
const ORDER_LIFE_MS = 3 * 3600 * 1000;
/** How long a create-order request can be repeated with the same PayPal-Request-Id. */
const CREATE_MEMORY_MS = 6 * 3600 * 1000;

/** The result of a create or capture request. `repeated` = it is the result of an earlier request. */
export interface Done {
  trade: Trade;
  repeated: boolean;
  silent?: boolean;
}

interface CreateHeaders {
  requestId: string | undefined;
  /** From the header `simulator-notify-url`, which only the simulator has; the events of this order are sent there. */
  notifyUrl: string | null;
}

/** `POST /v2/checkout/orders`: creates an order; throws PaypalRefusal. */
export function createOrder(
  core: Core,
  index: TradeIndex,
  account: Account,
  request: OrderRequest,
  headers: CreateHeaders,
): Done {
  const { requestId } = headers;
  const earlier = requestId === undefined ? undefined : index.byRequest(account, requestId);
  if (earlier && core.clock.now() - earlier.createdAt < CREATE_MEMORY_MS) return { trade: earlier, repeated: true };
  if (request.payment_source && requestId === undefined) {
    throw refuse(
      400,
      'PAYPAL_REQUEST_ID_REQUIRED',
      'A PayPal-Request-Id is required if you are trying to process payment for an Order.',
    );
  }
  const trade = core.trades.create(draftOf(core, index, account, request, headers));
  core.startFixed(trade);
  return { trade, repeated: false, silent: trade.fixed === 'silent' };
}

function draftOf(
  core: Core,
  index: TradeIndex,
  account: Account,
  request: OrderRequest,
  { requestId, notifyUrl }: CreateHeaders,
) {
  const [unit] = request.purchase_units;
  if (!unit)
    throw refuse(400, 'MISSING_REQUIRED_PARAMETER', 'A required field / parameter is missing.', '/purchase_units');
  const { minor, currency } = readAmount(unit.amount, '/purchase_units/@reference_id==default/amount');
  const { invoice_id: invoiceId, custom_id: customId } = unit;
  if (invoiceId !== undefined && index.invoiceUsed(account, invoiceId)) throw duplicateInvoice();
  if (fixedOutcome(minor, currency) === 'declined') {
    throw refuse(422, 'PAYEE_ACCOUNT_RESTRICTED', `The merchant account is restricted. ${DECLINED_BY_AMOUNT.en}`);
  }
  const id = core.trades.newNumber(newPaypalId);
  const context = request.payment_source?.paypal.experience_context;
  return {
    id,
    payWay: 'paypal' as const,
    account: account.name,
    orderNo: customId ?? invoiceId ?? id,
    scene: 'redirect',
    subject: unit.description ?? '',
    minor,
    currency,
    notifyUrl,
    returnUrl: context ? withPayer(context.return_url, id) : null,
    cancelUrl: context ? withToken(context.cancel_url, id) : null,
    expiresAt: core.clock.now() + ORDER_LIFE_MS,
    details: {
      requestId,
      invoiceId,
      customId,
      merchantId: account.secrets['merchantId'],
      linkName: context ? 'payer-action' : 'approve',
      isImmediate: context?.payment_method_preference === 'IMMEDIATE_PAYMENT_REQUIRED',
    },
  };
}

/** `GET /v2/checkout/orders/{id}`: returns the order; throws PaypalRefusal if it is unknown or expired. */
export function getOrder(core: Core, index: TradeIndex, account: Account, id: string): Trade {
  const trade = index.byNumber(account, id);
  if (!trade || trade.id !== id) throw notFound();
  ripen(core, trade);
  if (isStale(core, trade)) core.trades.close(trade, 'expired');
  if (trade.state === 'closed') throw notFound();
  return trade;
}

interface CaptureAsked {
  id: string;
  requestId: string | undefined;
  fault: FaultName | undefined;
  /** PayPal's error code (`issue`) with which the fault refuses the capture, or the reason of a pending capture. */
  word: string | undefined;
}

/** `POST /v2/checkout/orders/{id}/capture`: captures the payment of an approved order. Throws PaypalRefusal. */
export function captureOrder(
  core: Core,
  index: TradeIndex,
  account: Account,
  { id, requestId, fault, word }: CaptureAsked,
): Done {
  const trade = getOrder(core, index, account, id);
  if (requestId !== undefined && trade.payments.some(({ requestNo }) => requestNo === requestId))
    return { trade, repeated: true };
  if (trade.payments.length > 0)
    throw refuse(
      422,
      'ORDER_ALREADY_CAPTURED',
      'Order already captured. If intent=CAPTURE only one capture per order is allowed.',
    );
  refuseCapture(core, trade, fault, word);
  if (trade.state !== 'approved')
    throw refuse(422, 'ORDER_NOT_APPROVED', 'Payer has not yet approved the Order for payment.');
  const { invoiceId } = trade.details;
  if (typeof invoiceId === 'string' && index.invoiceUsed(account, invoiceId, trade)) throw duplicateInvoice();
  takeMoney(core, trade, requestId, isCaptureFault(fault) ? fault : undefined, word);
  return { trade, repeated: false };
}

function isStale({ clock }: Core, { state, payments, details }: Trade): boolean {
  const uncaptured = state === 'approved' && payments.length === 0;
  return uncaptured && clock.now() - Number(details['approvedAt']) > ORDER_LIFE_MS;
}

function isCaptureFault(fault: FaultName | undefined): fault is CaptureFault {
  return fault === 'capture-pending' || fault === 'capture-declined';
}

function duplicateInvoice() {
  return refuse(
    422,
    'DUPLICATE_INVOICE_ID',
    'Duplicate Invoice ID detected. To avoid a potential duplicate transaction your account setting requires that Invoice Id be unique for each transaction.',
  );
}

function withToken(address: string, token: string): string {
  const url = new URL(address);
  url.searchParams.set('token', token);
  return url.href;
}

function withPayer(address: string, token: string): string {
  const url = new URL(withToken(address, token));
  url.searchParams.set('PayerID', 'SIMPAYER00001');
  return url.href;
}

export interface TradeIndex {
  /** Returns the trade with this order, capture or refund id, if the trade belongs to the account. */
  byNumber(account: Account, number: string): Trade | undefined;
  byRequest(account: Account, requestId: string): Trade | undefined;
  /** Whether another order with this invoice id has been paid. */
  invoiceUsed(account: Account, invoiceId: string, except?: Trade): boolean;
}

/** Opens an index of the append-only ledger. Each lookup first adds the new ledger entries. */
export function openTradeIndex({ ledger, trades }: Core): TradeIndex {
  const numbers = new Map<string, string>();
  const requests = new Map<string, string>();
  const invoices = new Map<string, Set<string>>();
  let read = 0;

  const update = () => {
    for (; read < ledger.entries.length; read += 1) {
      const entry = ledger.entries[read];
      if (entry?.payWay !== 'paypal') continue;
      numbers.set(entry.number, entry.tradeId);
      if (entry.type === 'created') enter(entry.account, entry.tradeId);
    }
  };
  const enter = (account: string, tradeId: string) => {
    const { requestId, invoiceId } = ledger.trades.get(tradeId)?.details ?? {};
    if (typeof requestId === 'string') requests.set(`${account} ${requestId}`, tradeId);
    if (typeof invoiceId !== 'string') return;
    const key = `${account} ${invoiceId}`;
    invoices.set(key, (invoices.get(key) ?? new Set()).add(tradeId));
  };
  const find = (account: Account, id: string | undefined): Trade | undefined => {
    const trade = id === undefined ? undefined : trades.byId(id);
    return trade?.payWay === 'paypal' && trade.account === account.name ? trade : undefined;
  };

  return {
    byNumber(account, number) {
      update();
      return find(account, numbers.get(number));
    },
    byRequest(account, requestId) {
      update();
      return find(account, requests.get(`${account.name} ${requestId}`));
    },
    invoiceUsed(account, invoiceId, except) {
      update();
      const ids = [...(invoices.get(`${account.name} ${invoiceId}`) ?? [])];
      return ids.some((id) => id !== except?.id && ledger.trades.get(id)?.state === 'paid');
    },
  };
}
