import type { RefundRow } from '../db/entities/refunds.ts';
import type { Via } from './apply.ts';
import { ask, refundRef } from './ask.ts';
import { isForgotten } from './core/decide-refund.ts';
import { type NextRefundStep, nextRefundStep } from './core/plan.ts';
import type { Ports } from './ports.ts';
import { sendRefund } from './refund.ts';
import { settleRefund } from './settle.ts';
import { inSpan } from '../tracing.ts';

const CHECK = { cause: 'refund-check', actor: 'service' };

/** The channel no longer knows a number that it once had: nothing that can be repeated, so a person must look. */
const LOST = { kind: 'abnormal', code: 'refund_lost', reason: 'The channel no longer has this refund.' } as const;

/** Does for one refund whatever is due: sends what was never sent, asks, and re-sends the same number when the channel knows nothing of it. */
export function checkRefund(ports: Ports) {
  const send = sendRefund(ports);

  return async (refundNo: string, via: Via = CHECK): Promise<void> => {
    const refund = await ports.store.read((tx) => tx.refunds.find({ refundNo }));
    if (refund) await inSpan('check refund', { parent: refund.traceParent }, () => check(refund, via));
  };

  async function check(refund: RefundRow, via: Via): Promise<void> {
    const { refundNo } = refund;
    const step = nextRefundStep(refund, ports.now());
    if (step === 'rest') await settleRefund(ports, refundNo, { wish: 'rest' }, via);
    else if (step === 'send') await send(refundNo, via);
    else if (step !== 'await_slot') await question(refund, via, step);
  }

  async function question(refund: RefundRow, via: Via, step: NextRefundStep): Promise<void> {
    const { refundNo, orderNo, attempt } = refund;
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo }));
    if (!order) throw new Error('a refund has no order');
    const outcome = await ask(ports, order, (channel) =>
      channel.queryRefund(refundRef(order, refund, ports.publicUrl)),
    );
    ports.checkpoint('refund-check.asked');
    const isUnheardOf = step === 'ask_if_known' && outcome.kind === 'absent';
    const tellsAgain = step !== 'ask_if_done' && outcome.kind === 'unknown' && 'repeat' in outcome;
    const canRepeat = !isForgotten(refund, ports.channels.kindOf(order.payWay).limits, ports.now());
    if ((isUnheardOf || tellsAgain) && canRepeat) await send(refundNo, via);
    else await settleRefund(ports, refundNo, { outcome: isUnheardOf ? LOST : outcome, attempt }, via);
  }
}
