import type { Account } from '../accounts.ts';
import type { Core } from '../half.ts';
import type { FaultName } from '../faults.ts';
import { fixedOutcome } from '../fixed.ts';
import type { Trade } from '../trade.ts';
import type { Books } from './books.ts';
import { refuseCapture, ripen, takeMoney, type CaptureFault } from './captures.ts';
import { readAmount, type OrderRequest } from './order-request.ts';
import { notFound, refuse } from './refusals.ts';
import { newPaypalId } from './secrets.ts';

/** An order without its payer's agreement, or agreed and not captured, ends after this. */
export const ORDER_LIFE_MS = 3 * 3600 * 1000;
/** How long a create is remembered by its PayPal-Request-Id. */
const CREATE_MEMORY_MS = 6 * 3600 * 1000;

/** What a call came to: the trade, and whether it is an earlier call's result. */
export interface Done {
  trade: Trade;
  repeated: boolean;
  silent?: boolean;
}

/** What the headers of a create say. */
export interface CreateHeaders {
  requestId: string | undefined;
  /** Where the simulator sends the webhooks of this order; PayPal itself knows no such header. */
  notifyUrl: string | null;
}

/** `POST /v2/checkout/orders`; throws PaypalRefusal. */
export function createOrder(
  core: Core,
  books: Books,
  account: Account,
  request: OrderRequest,
  headers: CreateHeaders,
): Done {
  const { requestId } = headers;
  const earlier = requestId === undefined ? undefined : books.byRequest(account, requestId);
  if (earlier && core.clock.now() - earlier.createdAt < CREATE_MEMORY_MS) return { trade: earlier, repeated: true };
  if (request.payment_source && requestId === undefined) {
    throw refuse(
      400,
      'PAYPAL_REQUEST_ID_REQUIRED',
      'A PayPal-Request-Id is required if you are trying to process payment for an Order.',
    );
  }
  const trade = core.trades.create(draftOf(core, books, account, request, headers));
  core.startFixed(trade);
  return { trade, repeated: false, silent: trade.fixed === 'silent' };
}

function draftOf(
  core: Core,
  books: Books,
  account: Account,
  request: OrderRequest,
  { requestId, notifyUrl }: CreateHeaders,
) {
  const [unit] = request.purchase_units;
  if (!unit)
    throw refuse(400, 'MISSING_REQUIRED_PARAMETER', 'A required field / parameter is missing.', '/purchase_units');
  const { minor, currency } = readAmount(unit.amount, '/purchase_units/@reference_id==default/amount');
  const { invoice_id: invoiceId, custom_id: customId } = unit;
  if (invoiceId !== undefined && books.invoiceUsed(account, invoiceId)) throw duplicateInvoice();
  if (fixedOutcome(minor, currency) === 'declined') {
    throw refuse(422, 'PAYEE_ACCOUNT_RESTRICTED', 'The merchant account is restricted.');
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

/** `GET /v2/checkout/orders/{id}`: the order as it is now; throws PaypalRefusal for one that is over or not there. */
export function getOrder(core: Core, books: Books, account: Account, id: string): Trade {
  const trade = books.byNumber(account, id);
  if (!trade || trade.id !== id) throw notFound();
  ripen(core, trade);
  if (isStale(core, trade)) core.trades.close(trade, 'expired');
  if (trade.state === 'closed') throw notFound();
  return trade;
}

/** A capture call, and what a fault makes of it. */
export interface CaptureAsked {
  id: string;
  requestId: string | undefined;
  fault: FaultName | undefined;
  /** The issue of a refusal, or the reason of a pending capture. */
  word: string | undefined;
}

/** `POST /v2/checkout/orders/{id}/capture`; throws PaypalRefusal. */
export function captureOrder(
  core: Core,
  books: Books,
  account: Account,
  { id, requestId, fault, word }: CaptureAsked,
): Done {
  const trade = getOrder(core, books, account, id);
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
  if (typeof invoiceId === 'string' && books.invoiceUsed(account, invoiceId, trade)) throw duplicateInvoice();
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
