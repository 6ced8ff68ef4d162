/** Interprets PayPal's statuses of orders, captures and refunds, and the issues (error codes) of refusals. */
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

/** The meaning of an order status (Orders v2 reference). A status that is not listed is pending. */
type OrderMeaning = 'pending' | 'waiting' | 'approved' | 'completed' | 'voided';
/** A capture is PayPal's word for the payment of an order (Payments v2 reference). */
type CaptureMeaning = 'paid' | 'refunded' | 'pending' | 'declined';
/** The meaning of a refund status (Payments v2 reference). */
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

/** Only the merchant can resolve these reasons, in its PayPal account (Payments v2, capture status details). */
const MERCHANT_DECIDES: ReadonlySet<string> = new Set([
  'INTERNATIONAL_WITHDRAWAL',
  'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION',
  'UNILATERAL',
  'VERIFICATION_REQUIRED',
]);

function waitsForMerchant(reason: string): boolean {
  return MERCHANT_DECIDES.has(reason);
}

/** `waiting` means that PayPal waits for the payer. `completed` does not prove a payment; only a capture does. */
function orderMeaning(word: string): OrderMeaning {
  return ORDER.get(word) ?? 'pending';
}

/** Returns the meaning of a capture status. `refunded` means paid and then refunded in full or in part. */
function captureMeaning(word: string): CaptureMeaning {
  return CAPTURE.get(word) ?? 'pending';
}

function refundMeaning(word: string): RefundMeaning {
  return REFUND.get(word) ?? 'pending';
}

/** The order that a response must belong to. `channelOrderId` is null while PayPal's order id is not known. */
export interface Expected {
  orderNo: string;
  amount: Money;
  channelOrderId: string | null;
}

/**
 * Reads the outcome of an order. Only a capture proves a payment; the order status COMPLETED does not. A capture with
 * another amount than the order is also `paid`, with the captured amount, because the money has moved.
 */
export function orderOutcome(order: PaypalOrder, expected: Expected, settings: PaypalSettings): Outcome {
  const [unit] = order.purchase_units;
  const foreign = orderMismatch(order, expected, settings);
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

/** Reads the outcome of one capture; amounts in minor units. */
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

/** `update_time` (Payments v2) is the time of completion only if the capture is COMPLETED and has no refunds. */
function settlementOf(
  { seller_receivable_breakdown: breakdown, create_time: createdAt, update_time: updatedAt }: PaypalCapture,
  isPlain: boolean,
): { settlement?: Settlement } {
  if (!breakdown) return {};
  const settlement: Settlement = {};
  const [fee, net, received] = [
    breakdown.paypal_fee ?? breakdown.paypal_fee_in_receivable_currency,
    breakdown.net_amount,
    breakdown.receivable_amount,
  ].map((amount) => amount && readAmount(amount));
  if (isPlain && updatedAt && updatedAt > createdAt) settlement.completedAt = updatedAt;
  if (fee) settlement.fee = fee;
  if (net) settlement.net = net;
  if (received) settlement.received = received;
  return Object.keys(settlement).length > 0 ? { settlement } : {};
}

/**
 * Adds to a paid outcome the sum of the refunds that the order lists. If one refund is unreadable or in another
 * currency, the outcome stays unchanged. The sum is never smaller than the refunded total that the capture reports.
 */
function withRefunded(paid: Extract<Outcome, { kind: 'paid' }>, listed: readonly PaypalRefund[]): Outcome {
  const states = listed.map(refundState);
  if (states.some(({ kind }) => kind === 'unknown')) return paid;
  const done = states.flatMap((state) => (state.kind === 'succeeded' ? [state.amount] : []));
  if (done.length === 0 || done.some(({ currency }) => currency !== paid.amount.currency)) return paid;
  const sum = done.reduce((total, { minor }) => total + minor, 0n);
  const atLeast = paid.refundedTotal ?? 0n;
  return { ...paid, refundsHint: true, refundedTotal: sum > atLeast ? sum : atLeast };
}

/** Returns why a capture does not belong to the expected order; undefined if it belongs to it. */
export function captureMismatch(
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

/** A response to a capture call has some fields only inside the capture, so the captures are checked too. */
function orderMismatch(order: PaypalOrder, expected: Expected, { merchantId }: PaypalSettings): string | undefined {
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

/** A paid capture comes first, then a pending or unknown one, and a declined capture only if there is no other. */
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
      // PayPal accepts no second capture for a completed order. So an order with only declined captures stays unpaid.
      return wasDeclined
        ? { kind: 'closed' }
        : { kind: 'pending', capturePending: 'COMPLETED_WITHOUT_CAPTURE', channelOrderId };
    case 'waiting':
      return { kind: 'pending', pay: payHint(order, settings), channelOrderId };
    default:
      return { kind: 'pending', channelOrderId };
  }
}

/**
 * Returns the approval link for the payer; PayPal uses two names for it. Only https pages of PayPal are accepted; in
 * simulator mode any http or https URL is accepted.
 */
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

/**
 * Converts the outcome of a query to the outcome of a close. PayPal has no call that closes an order. So the service
 * closes only its own record of the order, and only if the payer cannot have paid.
 */
export function closeOutcome(outcome: Outcome): CloseOutcome {
  switch (outcome.kind) {
    case 'paid':
      return { kind: 'paid' };
    case 'absent':
      return { kind: 'absent' };
    case 'unknown':
      return outcome;
    case 'pending':
      // An approval link means that PayPal waits for the payer. Without a link the state is not clear enough to close
      // the order.
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

/** Reads the outcome of a refund, with PayPal's amount. A refund with a different refund number is a mismatch. */
export function refundOutcome(refund: PaypalRefund, { refundNo }: Pick<RefundRef, 'refundNo'>): RefundOutcome {
  if (refund.invoice_id !== refundNo) return unknown('mismatch', 'The refund has a different invoice_id.');
  return refundState(refund);
}

/** Reads a refund without a check of its refund number, also one that the service did not make. */
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

/** Finds a refund of an order by the refund number, which PayPal stores as invoice_id. */
export function refundInOrder(order: PaypalOrder, ref: RefundRef): RefundOutcome {
  const ours = order.purchase_units[0].payments.refunds.find(({ invoice_id }) => invoice_id === ref.refundNo);
  return ours ? refundOutcome(ours, ref) : { kind: 'absent' };
}

/** Builds the outcome of a call that was refused. `definite` means that the refusal rules out a trade at PayPal. */
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
 * The meaning of PayPal's issues (the error codes of a refusal), for each call. Source: the OpenAPI documents of Orders
 * v2 and Payments v2 (paypal-rest-api-specifications, 2024-02-03) and the error pages at developer.paypal.com ("Handle
 * payment failures", "Orders v2 error messages", "Payments v2 errors").
 */

/** Issues (PayPal's error codes) of a refused create call which prove that PayPal created no order. */
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

/** Issues (PayPal's error codes) of a refused create call which mean that a payment with this order number exists. */
const CREATE_KNOWN: ReadonlySet<string> = new Set(['DUPLICATE_INVOICE_ID']);

/** Issues of a refused capture that the payer can resolve at PayPal, by an approval or another payment method. */
const CAPTURE_FOR_PAYER: ReadonlySet<string> = new Set([
  'INSTRUMENT_DECLINED',
  'PAYER_ACTION_REQUIRED',
  'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
  'ORDER_NOT_APPROVED',
  'CARD_EXPIRED',
  'REFERENCED_CARD_EXPIRED',
  'CARD_BRAND_NOT_SUPPORTED',
]);

/** Issues (PayPal's error codes) of a refused capture. After one of them no capture of the order can succeed. */
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
 * Issues (PayPal's error codes) of a refused refund call. After one of them this refund can never succeed. No earlier
 * call of the refund has succeeded either: PayPal would have returned its result, because all calls of a refund have
 * the same PayPal-Request-Id.
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

/** Whether this issue (PayPal's error code) of a refused create call proves that PayPal created no order. */
export function refusesForCertain(issue: string): boolean {
  return CREATE_FINAL.has(issue);
}

/** Returns why a refused create call may have created an order: a trade may exist, or the issue is not listed. */
export function createDoubt(issue: string): RefusalDoubt {
  return CREATE_KNOWN.has(issue) ? 'trade_may_exist' : 'unlisted';
}

/** Returns who can still make a refused capture succeed; undefined if the result of the capture is unknown. */
export function captureEnds(issue: string): 'payer' | 'nobody' | undefined {
  if (CAPTURE_FOR_PAYER.has(issue)) return 'payer';
  return CAPTURE_FINAL.has(issue) ? 'nobody' : undefined;
}

/** Whether a refund that PayPal refused with this issue (error code) can never succeed. */
export function refundEnds(issue: string): boolean {
  return REFUND_FINAL.has(issue);
}
