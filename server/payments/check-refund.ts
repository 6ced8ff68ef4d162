import type { RefundRow } from '../db/entities/refunds.ts';
import { ask, refundOrder } from './ask.ts';
import type { RefundOutcome } from './channel.ts';
import type { Ports } from './ports.ts';
import { isForgotten, sendRefund } from './refund.ts';
import { settleRefund } from './settle/refund.ts';

const VIA = { cause: 'refund-check', actor: 'service' };

/** Does for one refund whatever is due (R2): sends what was never sent, asks, and re-sends the same number when the channel knows nothing of it. */
export function checkRefund(ports: Ports) {
  const send = sendRefund(ports);

  return async (refundNo: string, via = VIA): Promise<void> => {
    const refund = await ports.store.read((tx) => tx.refunds.find({ refundNo }));
    if (!refund) return;
    if (refund.state !== 'pending' && refund.state !== 'processing') return rest(refundNo);
    if (refund.tries === 0 && refund.sentAt !== null && refund.sentAt > ports.now()) return;
    if (refund.tries === 0) return void (await send(refundNo, via));
    const outcome = await question(refund);
    ports.checkpoint('refund-check.asked');
    if (outcome.kind === 'absent' && !refund.accepted && refund.refusedAt === null) return resend(refund, via);
    await ports.store.transaction((tx) => settleRefund(ports, tx, refundNo, outcome, via));
  };

  async function question(refund: RefundRow): Promise<RefundOutcome> {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo: refund.orderNo }));
    if (!order) throw new Error('a refund has no order');
    const call = { ...refundOrder(order, refund, ports.publicUrl), channelRefundNo: refund.channelRefundNo };
    return ask(ports, refund.refundNo, async () => (await ports.channels.forOrder(order)).queryRefund(call));
  }

  /** A number that its channel has forgotten is not sent again: a person must look. */
  async function resend(refund: RefundRow, via: typeof VIA): Promise<void> {
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo: refund.orderNo }));
    if (!isForgotten(ports, order!, refund, ports.now())) return void (await send(refund.refundNo, via));
    const lost = { kind: 'abnormal', code: 'refund_lost', reason: 'The channel no longer knows this number.' } as const;
    await ports.store.transaction((tx) => settleRefund(ports, tx, refund.refundNo, lost, via));
  }

  async function rest(refundNo: string): Promise<void> {
    // Only while it is final: a retry may have opened it since it was read.
    const where = { refundNo, state: ['succeeded', 'failed', 'abnormal'] as const };
    await ports.store.read((tx) => tx.refunds.update(where, { nextCheckAt: null, leasedUntil: null }));
  }
}
