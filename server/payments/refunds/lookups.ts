import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundLookupRow, RefundRow } from '../../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../../db/store.ts';
import { inSpan } from '../../work.ts';
import { callChannel, externalRefundRef, refundRef } from '../call-channel.ts';
import { endDifference } from '../side-effects.ts';
import type { RefundOutcome } from '../channel.ts';
import { isAfterOpening } from '../core/decide-dispute.ts';
import {
  type OtherPayment,
  type RefundAnswer,
  decideForeignRefund,
  decideLookup,
  isForgotten,
  isOwnPayment,
} from '../core/decide-refund.ts';
import { unexplainedRefunds } from '../core/apply-order-outcome.ts';
import { isExternal } from '../core/open-refund.ts';
import { type NextRefundStep, nextRefundStep } from '../core/plan.ts';
import { type Via, apply } from '../ledger.ts';
import { newNumber, readNumberAtChannel } from '../numbers.ts';
import { checkOrder } from '../orders/order.ts';
import type { Ports } from '../ports.ts';
import { explainSums, openLookup, ownerOf, settleRefund, settleRefundLocked } from '../settle.ts';
import { sendRefund } from './refund.ts';

/**
 * Records a refund that was made outside this service, for example in the channel's portal: stores a refund, changes
 * the refunded sum of the order and opens an exception. The refund may belong to another payment than the one that the
 * order counts; then the sum stays unchanged. If the order has no known payment yet, the service stores a lookup
 * instead, so that a job queries the channel later.
 */
export async function settleForeignRefund(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  outcome: Extract<RefundOutcome, { kind: 'succeeded' }>,
  number: string | null,
  via: Via,
): Promise<OrderRow> {
  const now = ports.now();
  const channelRefundNo = outcome.channelRefundNo ?? number;
  const known = channelRefundNo && (await tx.refunds.find({ orderNo: order.orderNo, channelRefundNo }));
  const lookupNo = number ?? channelRefundNo;
  const also = { ...via, refundNo: newNumber('R', now), channelRefundNo, number: lookupNo };
  const ofOther = known ? undefined : await otherPayment(tx, order, outcome);
  const ofDispute = known || ofOther ? undefined : await lostMoney(tx, order, outcome);
  const change = decideForeignRefund(order, { isKnown: Boolean(known), ofDispute, ofOther }, outcome, also, now);
  const { order: after } = await apply(ports, tx, { order, refund: ofDispute }, change, via);
  if (ofOther)
    await endDifference(tx, { kind: 'duplicate_payment', orderNo: order.orderNo, dedupe: ofOther.channelNo }, now);
  else if (after.paid === 0n && lookupNo) await openLookup(ports, tx, after, { number: lookupNo });
  else await explainSums(ports, tx, after);
  return after;
}

/**
 * Returns the refunded payment if the order does not count it as its own payment, otherwise undefined. If the order is
 * unpaid, a payment is returned only if an exception of the order names it.
 */
async function otherPayment(
  tx: Tx,
  order: OrderRow,
  { payment }: Extract<RefundOutcome, { kind: 'succeeded' }>,
): Promise<OtherPayment | undefined> {
  if (payment === undefined || isOwnPayment(order, payment)) return undefined;
  const { orderNo, paid } = order;
  const { channelNo: paymentNo } = payment;
  const isListed = (await listedPayments(tx, orderNo)).includes(paymentNo);
  if (paid === 0n && !isListed) return undefined;
  const before = await tx.refunds.list({ orderNo, paymentNo, surplus: true, state: 'succeeded' });
  const back = before.reduce((sum, { amount }) => sum + amount, 0n);
  return { ...payment, back, isListed, owner: await ownerOf(tx, order, paymentNo) };
}

/** The payments that the order's sums do not include; its open and resolved exceptions name them. */
async function listedPayments(tx: ReadTx, orderNo: string): Promise<string[]> {
  const listed = await tx.exceptions.list({ orderNo, kind: ['double_paid', 'amount_mismatch'] });
  return listed.map(({ dedupe }) => dedupe);
}

/**
 * Finds the refund that the service recorded when a dispute was lost, so that the channel's report of the same money is
 * not recorded twice.
 */
async function lostMoney(
  tx: Tx,
  { orderNo }: OrderRow,
  { amount: { minor: amount, currency }, at }: Extract<RefundOutcome, { kind: 'succeeded' }>,
): Promise<RefundRow | undefined> {
  const where = { orderNo, origin: 'dispute', state: 'succeeded', amount, currency, channelRefundNo: null } as const;
  const lost = await tx.refunds.list(where, { orderBy: { createdAt: 'asc', refundNo: 'asc' } });
  if (lost.length === 0) return undefined;
  const disputes = await tx.disputes.list({ orderNo });
  return lost.find(({ refundNo }) =>
    disputes.some((dispute) => dispute.refundNo === refundNo && isAfterOpening(at, dispute.openedAt)),
  );
}

/**
 * Creates the function that runs one lookup: a query about a refund that a message of the channel named without its
 * result.
 */
export function refundLookups(ports: Ports) {
  const check = checkOrder(ports);

  return async (id: string): Promise<void> => {
    const lookup = await ports.store.read((tx) => tx.refundLookups.find({ id }));
    if (lookup?.state !== 'open') return;
    const { orderNo, number } = lookup;
    const before = await readOrder(orderNo);
    // The payment is queried first, because only a paid order can have refunds.
    if (before.paid === 0n) await check(orderNo);
    const order = before.paid === 0n ? await readOrder(orderNo) : before;
    const [own, others] = await ports.store.read(async (tx) => [
      await findOwn(tx, orderNo, number),
      await listedPayments(tx, orderNo),
    ]);
    const reported = await callChannel(ports, order, (channel) =>
      own
        ? channel.queryRefund(refundRef(order, own, ports.publicUrl))
        : channel.lookUpRefund(externalRefundRef(order), number, others),
    );
    const outcome = ofSameAmount(order, reported);
    ports.checkpoint('refund-question.asked');
    await ports.store.transaction((tx) => answer(tx, lookup, outcome));
  };

  async function readOrder(orderNo: string): Promise<OrderRow> {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
    if (!order) throw new Error('the order of a refund lookup does not exist');
    return order;
  }

  async function answer(tx: Tx, { id, orderNo, revision }: RefundLookupRow, outcome: RefundOutcome): Promise<void> {
    const order = await tx.orders.lock({ orderNo });
    const lookup = await tx.refundLookups.lock({ id });
    // The answer is discarded if a message about the refund arrived during the query, because the answer may be older
    // than the message.
    if (!order || lookup?.state !== 'open' || lookup.revision !== revision) return;
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    const known = await findKnown(tx, orderNo, [lookup.number, refundNumberIn(outcome)]);
    const isKnown = known !== undefined;
    const paymentNo = outcome.kind === 'succeeded' ? outcome.payment?.channelNo : undefined;
    const isOfListed = paymentNo !== undefined && (await listedPayments(tx, orderNo)).includes(paymentNo);
    const facts = { ...order, isKnown, isOfListed };
    const { patch, raise, resolve, settle } = decideLookup(facts, lookup, outcome, ports.now());
    await tx.refundLookups.update({ id }, patch);
    const { order: updated } = await apply(
      ports,
      tx,
      { order },
      { rule: null, raise: raise ?? [], resolve: resolve ?? [] },
      via,
    );
    if (!settle) return;
    const after = known
      ? await settleKnown(tx, updated, known, settle)
      : await settleForeign(tx, updated, lookup, settle);
    await compareReported(tx, after);
  }

  async function settleKnown(
    tx: Tx,
    order: OrderRow,
    { refundNo }: RefundRow,
    outcome: RefundAnswer,
  ): Promise<OrderRow> {
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    const refund = await tx.refunds.lock({ refundNo });
    const { order: after } = await settleRefundLocked(ports, tx, { order, refund: refund! }, { outcome }, via);
    await explainSums(ports, tx, after);
    return after;
  }

  async function settleForeign(
    tx: Tx,
    order: OrderRow,
    { number }: RefundLookupRow,
    outcome: RefundAnswer,
  ): Promise<OrderRow> {
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    return outcome.kind === 'succeeded' ? settleForeignRefund(ports, tx, order, outcome, number, via) : order;
  }

  /**
   * Compares the largest refund total that the channel reported with the refunds that the service knows, and opens an
   * exception (a case for an operator) if the total is not explained. Does nothing while a query about a refund of the
   * order is planned; the last query makes the comparison.
   */
  async function compareReported(tx: Tx, order: OrderRow): Promise<void> {
    const lookups = await tx.refundLookups.list({ orderNo: order.orderNo });
    if (lookups.some(({ state }) => state === 'open')) return;
    const totals = lookups.flatMap(({ total }) => (total === null ? [] : [total]));
    const refundedTotal = totals.reduce((most, total) => (total > most ? total : most), 0n);
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    await apply(ports, tx, { order }, { rule: null, raise: unexplainedRefunds(order, { refundedTotal }) }, via);
  }
}

/**
 * Turns the channel's answer into `unknown` if it names the payment that the order counts, but with another amount. For
 * any other payment of the order, the amount is not checked.
 */
function ofSameAmount(order: OrderRow, reported: RefundOutcome): RefundOutcome {
  const payment = reported.kind === 'succeeded' ? reported.payment : undefined;
  if (!payment || !isOwnPayment(order, payment)) return reported;
  const { minor, currency } = payment.amount;
  if (minor === order.paid && currency === order.currency) return reported;
  return {
    kind: 'unknown',
    cause: 'mismatch',
    detail: `The channel reports a payment of ${minor} minor units of ${currency}; the order has another paid amount.`,
  };
}

/** Finds a refund of the order by numbers; each is the service's refund number or the channel's refund id. */
export async function findKnown(
  tx: ReadTx,
  orderNo: string,
  numbers: readonly (string | null | undefined)[],
): Promise<RefundRow | undefined> {
  for (const number of numbers) {
    if (!number) continue;
    const own = await findByNumber(tx, number);
    if (own?.orderNo === orderNo) return own;
    const named = await tx.refunds.find({ orderNo, channelRefundNo: number });
    if (named) return named;
  }
  return undefined;
}

/**
 * The refund that the service sent under this refund number. A refund may have several attempts with different numbers;
 * `attempt` in the result is the attempt that used this number.
 */
async function findOwn(tx: ReadTx, orderNo: string, number: string): Promise<RefundRow | undefined> {
  const known = await findKnown(tx, orderNo, [number]);
  if (known) return isExternal(known.origin) ? undefined : known;
  const { refundNo, attempt } = readNumberAtChannel(number);
  const now = await tx.refunds.find({ orderNo, refundNo });
  return now && { ...now, attempt, channelRefundNo: null };
}

/** The channel's id of a refund, if the outcome contains it. */
export function refundNumberIn(outcome: RefundOutcome): string | undefined {
  return 'channelRefundNo' in outcome ? outcome.channelRefundNo : undefined;
}

/** Finds a refund by the refund number of its current attempt. A number of an earlier attempt finds nothing. */
export async function findByNumber(tx: ReadTx, number: string): Promise<RefundRow | undefined> {
  const { refundNo, attempt } = readNumberAtChannel(number);
  const refund = await tx.refunds.find({ refundNo });
  return refund?.attempt === attempt ? refund : undefined;
}

const CHECK = { cause: 'refund-check', actor: 'service' };

/**
 * The outcome for a refund that the channel does not find. The channel may have forgotten the number, so a repeated
 * refund could pay twice. An operator must check the refund.
 */
const LOST = { kind: 'abnormal', code: 'refund_lost', reason: 'The channel no longer has this refund.' } as const;

/**
 * Runs the next step of a refund: sends it, queries it, or sends it again under the same number if the channel does not
 * know it.
 */
export function checkRefund(ports: Ports) {
  const send = sendRefund(ports);

  return async (refundNo: string, via: Via = CHECK): Promise<void> => {
    const refund = await ports.store.read((tx) => tx.refunds.find({ refundNo }));
    if (refund) await inSpan('check refund', { parent: refund.traceParent }, () => check(refund, via));
  };

  async function check(refund: RefundRow, via: Via): Promise<void> {
    const { refundNo } = refund;
    const step = nextRefundStep(refund, ports.now());
    if (step === 'rest') await settleRefund(ports, refundNo, { command: 'rest' }, via);
    else if (step === 'send') await send(refundNo, via);
    else if (step !== 'await_slot') await lookup(refund, via, step);
  }

  async function lookup(refund: RefundRow, via: Via, step: NextRefundStep): Promise<void> {
    const { refundNo, orderNo, attempt } = refund;
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
    if (!order) throw new Error('the order of a refund does not exist');
    const outcome = await callChannel(ports, order, (channel) =>
      channel.queryRefund(refundRef(order, refund, ports.publicUrl)),
    );
    ports.checkpoint('refund-check.asked');
    const isUnreported = step === 'ask_if_known' && outcome.kind === 'absent';
    const needsRepeat = step !== 'ask_if_done' && outcome.kind === 'unknown' && 'repeat' in outcome;
    const canRepeat = !isForgotten(refund, ports.channels.kindOf(order.payWay).limits, ports.now());
    if ((isUnreported || needsRepeat) && canRepeat) await send(refundNo, via);
    else await settleRefund(ports, refundNo, { outcome: isUnreported ? LOST : outcome, attempt }, via);
  }
}
