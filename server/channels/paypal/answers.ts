/** The meaning of an answer: of an order, a capture, a refund and a refusal, with the words and issues of PayPal. */
import type {
  CloseOutcome,
  Outcome,
  PayHint,
  RefundOutcome,
  RefundRef,
  RefusalDoubt,
  Settlement,
} from '../../payments/channel.ts';
import { type Money, readMajorText, sameMoney } from '../../money.ts';
import { type PaypalAmount, type PaypalCapture, type PaypalOrder, type PaypalRefund, unknown } from './reply.ts';
import type { PaypalSettings } from './settings.ts';

/** What an order's word means here; a word that no table lists is pending. (Orders v2 reference.) */
type OrderMeaning = 'pending' | 'waiting' | 'approved' | 'completed' | 'voided';
/** What a capture's word means here. (Payments v2 reference.) */
type CaptureMeaning = 'paid' | 'refunded' | 'pending' | 'declined';
/** What a refund's word means here. (Payments v2 reference.) */
type RefundMeaning = 'succeeded' | 'pending' | 'failed';

const ORDER: ReadonlyMap<string, OrderMeaning> = new Map([
  ['CREATED', 'waiting'],
  ['SAVED', 'waiting'],
  ['PAYER_ACTION_REQUIRED', 'waiting'],
  ['APPROVED', 'approved'],
  ['COMPLETED', 'completed'],
  ['VOIDED', 'voided'],
]);

const CAPTURE: ReadonlyMap<string, CaptureMeaning> = new Map([
  ['COMPLETED', 'paid'],
  ['PARTIALLY_REFUNDED', 'refunded'],
  ['REFUNDED', 'refunded'],
  ['PENDING', 'pending'],
  ['DECLINED', 'declined'],
  ['FAILED', 'declined'],
]);

const REFUND: ReadonlyMap<string, RefundMeaning> = new Map([
  ['COMPLETED', 'succeeded'],
  ['PENDING', 'pending'],
  ['CANCELLED', 'failed'],
  ['FAILED', 'failed'],
]);

/** Reasons of a pending capture that end only when the merchant does something in its PayPal account. (Payments v2, capture status details.) */
const MERCHANT_DECIDES: ReadonlySet<string> = new Set([
  'INTERNATIONAL_WITHDRAWAL',
  'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION',
  'UNILATERAL',
  'VERIFICATION_REQUIRED',
]);

/** Whether a capture that is pending for this reason waits for the merchant. */
function waitsForMerchant(reason: string): boolean {
  return MERCHANT_DECIDES.has(reason);
}

/** Meaning of an order status: `waiting` = for the payer. `completed` is never money by itself: read the capture. */
function orderMeaning(word: string): OrderMeaning {
  return ORDER.get(word) ?? 'pending';
}

/** Meaning of a capture status; `refunded` is paid with refunds to look at. */
function captureMeaning(word: string): CaptureMeaning {
  return CAPTURE.get(word) ?? 'pending';
}

/** Meaning of a refund status. */
function refundMeaning(word: string): RefundMeaning {
  return REFUND.get(word) ?? 'pending';
}

/** What an answer must agree with; `channelOrderId` only once it is known. */
export interface Expected {
  orderNo: string;
  amount: Money;
  channelOrderId: string | null;
}

/**
 * What a PayPal order says about ours. Money is read from the captures, never from the order's COMPLETED; a capture
 * with another amount is `paid` with that amount, because the money has moved.
 */
export function orderOutcome(order: PaypalOrder, expected: Expected, settings: PaypalSettings): Outcome {
  const [unit] = order.purchase_units;
  const foreign = strangerIn(order, expected, settings);
  if (foreign) return unknown('mismatch', foreign);
  const capture = decisiveCapture(unit.payments.captures);
  if (capture && captureMeaning(capture.status) !== 'declined') {
    const outcome = captureOutcome(capture, order);
    return outcome.kind === 'paid' ? withRefunded(outcome, unit.payments.refunds) : outcome;
  }
  const amount = unit.amount && readAmount(unit.amount);
  if (!amount || !sameMoney(amount, expected.amount))
    return unknown('mismatch', `The order amount is ${words(unit.amount)}.`);
  return unpaidOutcome(order, capture !== undefined, settings);
}

/** Where the money stands, from one capture; amounts in minor units. */
export function captureOutcome(capture: PaypalCapture, order?: PaypalOrder): Outcome {
  const meaning = captureMeaning(capture.status);
  const channelOrderId = order?.id;
  if (meaning === 'pending') {
    const capturePending = pendingReason(capture);
    const waits = waitsForMerchant(capturePending) ? ({ waitsFor: 'merchant' } as const) : {};
    return { kind: 'pending', capturePending, channelOrderId, ...waits };
  }
  if (meaning === 'declined')
    return declined(`CAPTURE_${capture.status}`, capture.status_details?.reason ?? capture.status);
  const amount = readAmount(capture.amount);
  if (!amount) return unknown('mismatch', `The capture amount is ${words(capture.amount)}.`);
  return {
    kind: 'paid',
    channelNo: capture.id,
    amount,
    at: capture.create_time,
    payer: order?.payer?.payer_id,
    channelOrderId,
    refundsHint: meaning === 'refunded' || undefined,
    ...settlementOf(capture, meaning === 'paid'),
    ...(capture.status === 'REFUNDED' ? { refundedTotal: amount.minor } : {}),
  };
}

/**
 * Fee and net of a capture, where PayPal tells them in amounts that can be read. While it is COMPLETED and nothing else, what changed it last
 * (`update_time`, Payments v2) is what completed it.
 */
function settlementOf(
  { seller_receivable_breakdown: told, create_time: createdAt, update_time: updatedAt }: PaypalCapture,
  isPlain: boolean,
): { settlement?: Settlement } {
  if (!told) return {};
  const settlement: Settlement = {};
  const [fee, net, received] = [
    told.paypal_fee ?? told.paypal_fee_in_receivable_currency,
    told.net_amount,
    told.receivable_amount,
  ].map((amount) => amount && readAmount(amount));
  if (isPlain && updatedAt && updatedAt > createdAt) settlement.completedAt = updatedAt;
  if (fee) settlement.fee = fee;
  if (net) settlement.net = net;
  if (received) settlement.received = received;
  return Object.keys(settlement).length > 0 ? { settlement } : {};
}

/** The refunds that the order lists: what they are in all, when they are as many as the capture's own word wants. */
function withRefunded(paid: Extract<Outcome, { kind: 'paid' }>, listed: readonly PaypalRefund[]): Outcome {
  const states = listed.map(refundState);
  if (states.some(({ kind }) => kind === 'unknown')) return paid;
  const done = states.flatMap((state) => (state.kind === 'succeeded' ? [state.amount] : []));
  if (done.length === 0 || done.some(({ currency }) => currency !== paid.amount.currency)) return paid;
  const sum = done.reduce((total, { minor }) => total + minor, 0n);
  const atLeast = paid.refundedTotal ?? 0n;
  return { ...paid, refundsHint: true, refundedTotal: sum > atLeast ? sum : atLeast };
}

/** Why this capture is not ours; undefined when it is. */
export function strangerCapture(
  capture: PaypalCapture,
  expected: Expected,
  settings: PaypalSettings,
): string | undefined {
  if ((capture.custom_id ?? capture.invoice_id) !== expected.orderNo)
    return 'The capture has a different order number.';
  const payee = capture.payee?.merchant_id;
  if (settings.merchantId && payee && payee !== settings.merchantId) return `The capture pays ${payee}.`;
  return undefined;
}

/** A capture's answer may leave members out of the unit and give them with the capture; what is given must all agree. */
function strangerIn(order: PaypalOrder, expected: Expected, { merchantId }: PaypalSettings): string | undefined {
  const [unit] = order.purchase_units;
  const parts = [unit, ...unit.payments.captures];
  const isOnly = (values: (string | undefined)[], wanted: string) => {
    const given = values.filter((value) => value !== undefined);
    return given.length > 0 && given.every((value) => value === wanted);
  };
  if (expected.channelOrderId && order.id !== expected.channelOrderId)
    return `The response is about order ${order.id}.`;
  const numbers = parts.map(({ custom_id }) => custom_id);
  if (!isOnly(numbers, expected.orderNo)) return 'The order has a different custom_id.';
  const invoices = parts.map(({ invoice_id }) => invoice_id ?? expected.orderNo);
  if (!isOnly(invoices, expected.orderNo)) return 'The order has a different invoice_id.';
  const payees = parts.map(({ payee }) => payee?.merchant_id);
  if (merchantId && !isOnly(payees, merchantId)) return `The order does not pay ${merchantId}.`;
  return undefined;
}

/** Money first, then money on its way, then an unknown word, then what was declined. */
function decisiveCapture(captures: readonly PaypalCapture[]): PaypalCapture | undefined {
  const rank = { paid: 0, refunded: 0, pending: 1, declined: 2 } as const;
  return captures.toSorted((a, b) => rank[captureMeaning(a.status)] - rank[captureMeaning(b.status)])[0];
}

function unpaidOutcome(order: PaypalOrder, wasDeclined: boolean, settings: PaypalSettings): Outcome {
  const channelOrderId = order.id;
  switch (orderMeaning(order.status)) {
    case 'approved':
      return { kind: 'approved', channelOrderId };
    case 'voided':
      return { kind: 'closed' };
    case 'completed':
      // A completed order takes no second capture, so with every capture declined it is over and unpaid.
      return wasDeclined
        ? { kind: 'closed' }
        : { kind: 'pending', capturePending: 'COMPLETED_WITHOUT_CAPTURE', channelOrderId };
    case 'waiting':
      return { kind: 'pending', pay: payHint(order, settings), channelOrderId };
    default:
      return { kind: 'pending', channelOrderId };
  }
}

/** The approval link, by either of its names; outside the simulator only PayPal's own https pages count. */
function payHint({ links }: PaypalOrder, { mode }: PaypalSettings): PayHint | undefined {
  const href = (links.find(({ rel }) => rel === 'payer-action') ?? links.find(({ rel }) => rel === 'approve'))?.href;
  const url = href === undefined ? null : URL.parse(href);
  if (!url) return undefined;
  const usable = mode === 'simulator' ? /^https?:$/.test(url.protocol) : isPaypalPage(url);
  return usable ? { type: 'redirect', url: url.href } : undefined;
}

function isPaypalPage({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' && (hostname === 'paypal.com' || hostname.endsWith('.paypal.com'));
}

/** PayPal has no close call: whether closing here is safe, from what it says about the order. */
export function closeOutcome(outcome: Outcome): CloseOutcome {
  switch (outcome.kind) {
    case 'paid':
      return { kind: 'paid' };
    case 'absent':
      return { kind: 'absent' };
    case 'unknown':
      return outcome;
    case 'pending':
      // A link for the payer shows that PayPal still waits; without one the state is not understood well enough.
      if (outcome.pay) return { kind: 'closed' };
      return {
        kind: 'refused',
        code: 'NOT_CLOSABLE',
        reason: outcome.capturePending ?? 'Unknown state.',
      };
    case 'declined':
      return { kind: 'refused', code: outcome.code, reason: outcome.reason };
    default:
      return { kind: 'closed' };
  }
}

/** What PayPal says about one refund; a refund of another number is not this one. The amount is what was given back. */
export function refundOutcome(refund: PaypalRefund, { refundNo }: Pick<RefundRef, 'refundNo'>): RefundOutcome {
  if (refund.invoice_id !== refundNo) return unknown('mismatch', 'The refund has a different invoice_id.');
  return refundState(refund);
}

/** Where a refund stands, whoever made it. */
export function refundState(refund: PaypalRefund): RefundOutcome {
  const amount = readAmount(refund.amount);
  if (!amount) return unknown('mismatch', `The refund amount is ${words(refund.amount)}.`);
  switch (refundMeaning(refund.status)) {
    case 'succeeded':
      return { kind: 'succeeded', amount, at: refund.create_time, channelRefundNo: refund.id };
    case 'failed':
      return {
        kind: 'failed',
        code: refund.status,
        reason: refund.status_details?.reason ?? refund.status,
        channelRefundNo: refund.id,
      };
    default:
      return { kind: 'pending', channelRefundNo: refund.id };
  }
}

/** Finds our refund in an order by its invoice id. */
export function refundInOrder(order: PaypalOrder, ref: RefundRef): RefundOutcome {
  const ours = order.purchase_units[0].payments.refunds.find(({ invoice_id }) => invoice_id === ref.refundNo);
  return ours ? refundOutcome(ours, ref) : { kind: 'absent' };
}

/** A refusal of PayPal's that leaves the order as it was. */
export function declined(code: string, reason: string, definite = false): Extract<Outcome, { kind: 'declined' }> {
  return { kind: 'declined', code, reason, definite };
}

function pendingReason({ status, status_details }: PaypalCapture): string {
  return status_details?.reason ?? status;
}

function readAmount({ value, currency_code }: PaypalAmount): Money | undefined {
  return readMajorText(value, currency_code);
}

function words(amount: PaypalAmount | undefined): string {
  return amount ? `${amount.value} ${amount.currency_code}`.slice(0, 40) : 'nothing';
}

/*
 * What PayPal's issues mean, by call. Source: the OpenAPI documents of Orders v2 and Payments v2 (paypal-rest-api-specifications, 2024-02-03)
 * and the error pages at developer.paypal.com ("Handle payment failures", "Orders v2 error messages", "Payments v2 errors").
 */

/** Issues of the create call that cannot hide an order: the request itself was not acceptable. */
const CREATE_FINAL: ReadonlySet<string> = new Set([
  'INVALID_CURRENCY_CODE',
  'CURRENCY_NOT_SUPPORTED',
  'CURRENCY_NOT_SUPPORTED_FOR_COUNTRY',
  'DECIMAL_PRECISION',
  'DECIMALS_NOT_SUPPORTED',
  'CANNOT_BE_ZERO_OR_NEGATIVE',
  'CANNOT_BE_NEGATIVE',
  'MAX_VALUE_EXCEEDED',
  'INVALID_PARAMETER_VALUE',
  'INVALID_PARAMETER_SYNTAX',
  'INVALID_STRING_LENGTH',
  'INVALID_STRING_MAX_LENGTH',
  'MISSING_REQUIRED_PARAMETER',
  'MALFORMED_REQUEST_JSON',
  'PAYEE_ACCOUNT_INVALID',
  'PAYEE_ACCOUNT_RESTRICTED',
  'PAYEE_ACCOUNT_LOCKED_OR_CLOSED',
  'PAYEE_NOT_ENABLED_FOR_CARD_PROCESSING',
]);

/** Issues of the create call that say that there is such a payment. */
const CREATE_KNOWN: ReadonlySet<string> = new Set(['DUPLICATE_INVOICE_ID']);

/** After these the payer chooses another way to pay, or agrees, at PayPal; then a capture can succeed. */
const CAPTURE_FOR_PAYER: ReadonlySet<string> = new Set([
  'INSTRUMENT_DECLINED',
  'PAYER_ACTION_REQUIRED',
  'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
  'ORDER_NOT_APPROVED',
  'CARD_EXPIRED',
  'REFERENCED_CARD_EXPIRED',
  'CARD_BRAND_NOT_SUPPORTED',
]);

/** After these no capture of the order succeeds. */
const CAPTURE_FINAL: ReadonlySet<string> = new Set([
  'TRANSACTION_REFUSED',
  'PAYER_CANNOT_PAY',
  'PAYER_ACCOUNT_RESTRICTED',
  'PAYER_ACCOUNT_LOCKED_OR_CLOSED',
  'COMPLIANCE_VIOLATION',
  'DOMESTIC_TRANSACTION_REQUIRED',
  'DECLINED_DUE_TO_RELATED_TXN',
  'PAYEE_BLOCKED_TRANSACTION',
  'PAYEE_ACCOUNT_RESTRICTED',
  'PAYEE_ACCOUNT_LOCKED_OR_CLOSED',
  'TRANSACTION_BLOCKED_BY_PAYEE',
  'TRANSACTION_LIMIT_EXCEEDED',
  'TRANSACTION_RECEIVING_LIMIT_EXCEEDED',
  'MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED',
]);

/**
 * After these no call about this refund succeeds, and none has: an earlier call under the same PayPal-Request-Id would have been
 * answered with its result.
 */
const REFUND_FINAL: ReadonlySet<string> = new Set([
  'CAPTURE_FULLY_REFUNDED',
  'CAPTURED_AMOUNT_FULLY_REFUNDED',
  'REFUND_TIME_LIMIT_EXCEEDED',
  'REFUND_NOT_ALLOWED',
  'REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK',
  'REFUND_IS_RESTRICTED',
  'PARTIAL_REFUND_NOT_ALLOWED',
  'MAX_NUMBER_OF_REFUNDS_EXCEEDED',
  'REFUND_AMOUNT_TOO_LOW',
  'CURRENCY_MISMATCH',
  'REFUND_CURRENCY_MISMATCH',
  'REFUND_CAPTURE_CURRENCY_MISMATCH',
  'INVALID_CURRENCY_CODE',
  'DECIMAL_PRECISION',
  'DECIMALS_NOT_SUPPORTED',
  'CANNOT_BE_NEGATIVE',
  'CANNOT_BE_ZERO_OR_NEGATIVE',
]);

/** Whether a create refused with this issue has left no order behind. */
export function refusesForCertain(issue: string): boolean {
  return CREATE_FINAL.has(issue);
}

/** Why a create refused with another issue decides nothing. */
export function createDoubt(issue: string): RefusalDoubt {
  return CREATE_KNOWN.has(issue) ? 'trade_may_exist' : 'unlisted';
}

/** Who can still do something about a refused capture: the payer, nobody, or undefined when it is not known whether anything happened. */
export function captureEnds(issue: string): 'payer' | 'nobody' | undefined {
  if (CAPTURE_FOR_PAYER.has(issue)) return 'payer';
  return CAPTURE_FINAL.has(issue) ? 'nobody' : undefined;
}

/** Whether a refund refused with this issue will never be made. */
export function refundEnds(issue: string): boolean {
  return REFUND_FINAL.has(issue);
}
