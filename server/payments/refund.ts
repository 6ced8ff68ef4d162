import type { Via } from './apply.ts';
import { ask, refundOrder } from './ask.ts';
import { isSendable } from './core/plan.ts';
import { claimRefund } from './claim-refund.ts';
import type { Asker, Ports } from './ports.ts';
import type { RefundOptions, RefundRequest } from './refund-request.ts';
import { afterIntent } from './refusals.ts';
import { lockPair, type Pair, settleRefund, settleRefundLocked } from './settle.ts';

/** Gives money back: reserves, asks the channel, settles. Once accepted it is never an error, also when the channel is silent. */
export type RefundPayment = (asker: Asker, request: RefundRequest, options?: RefundOptions) => Promise<Pair>;

/** The operation over its ports. */
export function refundPayment(ports: Ports): RefundPayment {
  const send = sendRefund(ports);
  return async (asker, request, options = {}) => {
    const { pair, due } = await ports.store.transaction((tx) => claimRefund(ports, tx, asker, request, options));
    ports.checkpoint('refund.intent');
    if (!due) return pair;
    const { orderNo, refundNo } = pair.refund;
    return afterIntent({ orderNo, refundNo }, () => send(refundNo, { cause: 'refund', actor: asker.actor }));
  };
}

/** Sends (or re-sends) a refund that is reserved, and settles the answer. The same number every time. */
export function sendRefund(ports: Ports) {
  return async (refundNo: string, via: Via): Promise<Pair> => {
    const { pair, mine } = await intendToSend(ports, refundNo, via);
    if (!mine) return pair;
    const call = refundOrder(pair.order, pair.refund, ports.publicUrl);
    const outcome = await ask(ports, pair.order, (channel) => channel.refund(call));
    ports.checkpoint('refund.asked');
    const settled = await settleRefund(ports, refundNo, { outcome, sent: true }, via);
    ports.checkpoint('refund.settled');
    return settled;
  };
}

/** What was settled since the caller looked is not sent: its reservation may be gone. */
function intendToSend(ports: Ports, refundNo: string, via: Via): Promise<{ pair: Pair; mine: boolean }> {
  return ports.store.transaction(async (tx) => {
    const pair = await lockPair(tx, refundNo);
    const mine = isSendable(pair.refund);
    return { pair: await settleRefundLocked(ports, tx, pair, { wish: 'send' }, via), mine };
  });
}
