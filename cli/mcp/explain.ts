import { z } from 'zod';
import { segment } from '../resource.ts';
import type { Row } from '../values.ts';
import { toolAnswer } from './answers.ts';
import { OrderNo, READS, tool, type Tool } from './tool.ts';

const WHY: Readonly<Record<string, string>> = {
  created: 'The order is stored; the channel has not confirmed it yet.',
  pending: 'The payer has not paid yet. Until expiresAt the order can be paid.',
  closing: 'The order is being closed; the channel has not confirmed it yet.',
  paid: 'The payer has paid and nothing was refunded.',
  partially_refunded: 'The payer has paid, and a part was refunded.',
  refunded: 'The payer has paid, and everything was refunded.',
  failed: 'The channel did not accept the order; nobody can pay it.',
};

const CLOSED_BY: Readonly<Record<string, string>> = {
  merchant: 'The merchant closed the order before it was paid.',
  admin: 'An administrator closed the order before it was paid.',
  expired: 'The order expired before it was paid.',
  payer: 'The payer chose another channel, which has an order of its own.',
  channel: 'The channel closed the order before it was paid.',
};

/** Why an order is as it is, from what an application may read of it. */
export const explainTool: Tool = tool({
  name: 'explain_order',
  title: 'Explain an order',
  description:
    'Says why an order is in its state, what is open about it (refunds, disputes), and what can be done next.',
  annotations: READS,
  input: z.strictObject({ orderNo: OrderNo }),
  run: async ({ orderNo }, { api }) => {
    const [order, disputes] = await Promise.all([
      api.get(`/api/v2/payment/query/${segment(orderNo)}`),
      api.page('/api/v2/payment/disputes', { orderNo }),
    ]);
    return toolAnswer(sentences(order, disputes.rows).join(' '), { order, disputes: disputes.rows });
  },
});

/** Only our own sentences: what others wrote stands among the untrusted texts. */
function sentences(order: Row, disputes: readonly Row[]): string[] {
  const status = String(order['status']);
  const why = status === 'closed' ? CLOSED_BY[String(order['closeReason'])] : WHY[status];
  const open = refundsOf(order).filter((one) => !['succeeded', 'failed'].includes(String(one['status'])));
  return [
    why ?? 'The order is in the state that `status` names.',
    ...(order['exception'] == null ? [] : ['A person has to look at it: `exception` names the case.']),
    ...(order['failure'] == null ? [] : ['What the channel said about it is in `failure`.']),
    ...(open.length === 0 ? [] : [`Refunds under way: ${open.length}. The service completes them on its own.`]),
    ...(disputes.length === 0 ? [] : [`Disputes of the payer: ${disputes.length}. Administrators answer them.`]),
    ...(order['stale'] === true ? ['The channel could not be asked just now; this is the stored state.'] : []),
    ...(Number(order['refundableAmount']) > 0 ? ['refundableAmount can still be refunded.'] : []),
  ];
}

function refundsOf(order: Row): Row[] {
  return Array.isArray(order['refunds']) ? (order['refunds'] as Row[]) : [];
}
