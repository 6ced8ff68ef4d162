import type { CloseOutcome, Outcome, PayHint, RefundOutcome, RefundRef, Settlement } from '../../payments/channel.ts';
import { readMajorText, sameMoney } from '../../payments/money.ts';
import type { Money } from '../../payments/money.ts';
import { unknown } from './answers.ts';
import type { PaypalAmount, PaypalCapture, PaypalOrder, PaypalRefund } from './answers.ts';
import type { PaypalSettings } from './settings.ts';
import { captureMeaning, orderMeaning, refundMeaning, waitsForMerchant } from './status.ts';

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
