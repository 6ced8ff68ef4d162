import type { RefundRow } from '../db/entities/refunds.ts';
import { ask, refundOrder } from './ask.ts';
import type { RefundOutcome } from './channel.ts';
import type { Ports } from './ports.ts';
import { sendRefund } from './refund.ts';
import { later } from './schedule.ts';
import { settleRefund } from './settle/refund.ts';

const VIA = { cause: 'refund-check', actor: 'service' };

/** Does for one refund whatever is due (R2): sends what was never sent, asks, and re-sends the same number when the channel knows nothing of it. */
export function checkRefund(ports: Ports) {
  const send = sendRefund(ports);

  return async (refundNo: string, via = VIA): Promise<void> => {
    const refund = await ports.store.read((tx) => tx.refunds.find({ refundNo }));
    if (!refund) return;
    if (refund.state !== 'pending' && refund.state !== 'processing') return rest(refundNo);
    if (refund.tries === 0) return void (await send(refundNo, via));
    const outcome = await question(refund);
    ports.checkpoint('refund-check.asked');
    if (outcome.kind === 'absent' && !refund.accepted && refund.refusedAt === null) return resend(refund, via);
    await ports.store.transaction((tx) => settleRefund(ports, tx, refundNo, outcome, via));
  };

  async function question(refund: RefundRow): Promise<RefundOutcome> {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo: refund.orderNo }));
    if (!order) throw new Error('a refund has no order');
    const channel = await ports.channels.forOrder(order);
    const call = refundOrder(order, refund, ports.publicUrl);
    return ask(ports, refund.refundNo, () => channel.queryRefund({ ...call, channelRefundNo: refund.channelRefundNo }));
  }

  /** Some channels forget a number: after that a re-send would pay twice, so a person must look. */
  async function resend(refund: RefundRow, via: typeof VIA): Promise<void> {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo: refund.orderNo }));
    const { refundResendDays } = ports.channels.kindOf(order!.payWay).limits;
    const tooLate = refundResendDays !== null && ports.now() > later(refund.createdAt, refundResendDays * 86_400);
    if (!tooLate) return void (await send(refund.refundNo, via));
    const lost = { kind: 'abnormal', code: 'refund_lost', reason: 'The channel no longer knows this number.' } as const;
    await ports.store.transaction((tx) => settleRefund(ports, tx, refund.refundNo, lost, via));
  }

  async function rest(refundNo: string): Promise<void> {
    await ports.store.read((tx) => tx.refunds.update({ refundNo }, { nextCheckAt: null, leasedUntil: null }));
  }
}
