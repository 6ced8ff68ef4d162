import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundQuestionRow, RefundRow } from '../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { apply } from './apply.ts';
import { ask, foreignRef, refundRef } from './ask.ts';
import { checkOrder } from './check-order.ts';
import type { RefundOutcome } from './channel.ts';
import { decideQuestion, type RefundSaid } from './core/decide-question.ts';
import { isOwnPayment } from './core/decide-refund.ts';
import { isForeign } from './core/open-refund.ts';
import { unexplainedRefunds } from './core/unexplained.ts';
import { listedPayments, settleForeignRefund } from './foreign-refund.ts';
import { readNumberAtChannel } from './numbers.ts';
import { explainSums } from './open-question.ts';
import type { Ports } from './ports.ts';
import { settleRefundLocked } from './settle.ts';

/** Asks the channel what became of a refund that it named; the row says when it is due again. */
export function refundQuestions(ports: Ports) {
  const check = checkOrder(ports);

  return async (id: string): Promise<void> => {
    const question = await ports.store.read((tx) => tx.refundQuestions.find({ id }));
    if (question?.state !== 'open') return;
    const { orderNo, number } = question;
    const before = await readOrder(orderNo);
    // Only what was paid can have gone back: the payment first.
    if (before.paid === 0n) await check(orderNo);
    const order = before.paid === 0n ? await readOrder(orderNo) : before;
    const [own, others] = await ports.store.read(async (tx) => [
      await findOwn(tx, orderNo, number),
      await listedPayments(tx, orderNo),
    ]);
    const said = await ask(ports, order, (channel) =>
      own
        ? channel.queryRefund(refundRef(order, own, ports.publicUrl))
        : channel.lookUpRefund(foreignRef(order), number, others),
    );
    const outcome = ofSameAmount(order, said);
    ports.checkpoint('refund-question.asked');
    await ports.store.transaction((tx) => answer(tx, question, outcome));
  };

  async function readOrder(orderNo: string): Promise<OrderRow> {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
    if (!order) throw new Error('a question has no order');
    return order;
  }

  async function answer(tx: Tx, { id, orderNo, told }: RefundQuestionRow, outcome: RefundOutcome): Promise<void> {
    const order = await tx.orders.lock({ orderNo });
    const question = await tx.refundQuestions.lock({ id });
    // What was heard meanwhile is not in this answer.
    if (!order || question?.state !== 'open' || question.told !== told) return;
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    const known = await findKnown(tx, orderNo, [question.number, refundNumberIn(outcome)]);
    const isKnown = known !== undefined;
    const ofWhich = outcome.kind === 'succeeded' ? outcome.payment?.channelNo : undefined;
    const isOfListed = ofWhich !== undefined && (await listedPayments(tx, orderNo)).includes(ofWhich);
    const questioned = { ...order, isKnown, isOfListed };
    const { patch, raise, resolve, settle } = decideQuestion(questioned, question, outcome, ports.now());
    await tx.refundQuestions.update({ id }, patch);
    const { order: heard } = await apply(
      ports,
      tx,
      { order },
      { rule: null, raise: raise ?? [], resolve: resolve ?? [] },
      via,
    );
    if (!settle) return;
    const after = known
      ? await settleKnown(tx, heard, known, settle)
      : await settleForeign(tx, heard, question, settle);
    await compareTold(tx, after);
  }

  async function settleKnown(tx: Tx, order: OrderRow, { refundNo }: RefundRow, outcome: RefundSaid): Promise<OrderRow> {
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    const refund = await tx.refunds.lock({ refundNo });
    const { order: after } = await settleRefundLocked(ports, tx, { order, refund: refund! }, { outcome }, via);
    await explainSums(ports, tx, after);
    return after;
  }

  async function settleForeign(
    tx: Tx,
    order: OrderRow,
    { number }: RefundQuestionRow,
    outcome: RefundSaid,
  ): Promise<OrderRow> {
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    return outcome.kind === 'succeeded' ? settleForeignRefund(ports, tx, order, outcome, number, via) : order;
  }

  /** When nothing is asked any more, what the channel counted in all must be what we know. */
  async function compareTold(tx: Tx, order: OrderRow): Promise<void> {
    const questions = await tx.refundQuestions.list({ orderNo: order.orderNo });
    if (questions.some(({ state }) => state === 'open')) return;
    const totals = questions.flatMap(({ total }) => (total === null ? [] : [total]));
    const refundedTotal = totals.reduce((most, total) => (total > most ? total : most), 0n);
    const via = { cause: 'refund-question', actor: `channel:${order.payWay}` };
    await apply(ports, tx, { order }, { rule: null, raise: unexplainedRefunds(order, { refundedTotal }) }, via);
  }
}

/** What is told of the order's own payment must be about its amount; a payment beside it had one of its own. */
function ofSameAmount(order: OrderRow, said: RefundOutcome): RefundOutcome {
  const payment = said.kind === 'succeeded' ? said.payment : undefined;
  if (!payment || !isOwnPayment(order, payment)) return said;
  const { minor, currency } = payment.amount;
  if (minor === order.paid && currency === order.currency) return said;
  return { kind: 'unknown', cause: 'mismatch', detail: `The payment was one of ${minor} ${currency}.` };
}

/** The refund of an order that bears one of these numbers, ours or the channel's own. */
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

/** The refund of ours that a number means, as the attempt that bore it. */
async function findOwn(tx: ReadTx, orderNo: string, number: string): Promise<RefundRow | undefined> {
  const known = await findKnown(tx, orderNo, [number]);
  if (known) return isForeign(known.origin) ? undefined : known;
  const { refundNo, attempt } = readNumberAtChannel(number);
  const now = await tx.refunds.find({ orderNo, refundNo });
  return now && { ...now, attempt, channelRefundNo: null };
}

/** The channel's own number of a refund, if it said it. */
export function refundNumberIn(outcome: RefundOutcome): string | undefined {
  return 'channelRefundNo' in outcome ? outcome.channelRefundNo : undefined;
}

/** The refund that the channel knows by this number now; the number of an earlier attempt is not it any more. */
export async function findByNumber(tx: ReadTx, number: string): Promise<RefundRow | undefined> {
  const { refundNo, attempt } = readNumberAtChannel(number);
  const refund = await tx.refunds.find({ refundNo });
  return refund?.attempt === attempt ? refund : undefined;
}
