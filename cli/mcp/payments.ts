import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { ONLY_CURRENCIES } from '../../server/domain.ts';
import type { Answer, ApiClient, Call } from '../api-client.ts';
import { ignoreUnreachable } from '../errors.ts';
import { segment } from '../resource.ts';
import type { Row } from '../values.ts';
import { ToolRefusal, toolAnswer } from './answers.ts';
import { Amount, Key, OrderNo, PayWay, READS, type Tool, type ToolRun, WRITES, tool } from './tool.ts';

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

const explainTool: Tool = tool({
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

/** The sentences contain no texts of other parties, because a tool result returns those only in `untrusted`. */
function sentences(order: Row, disputes: readonly Row[]): string[] {
  const status = String(order['status']);
  const why = status === 'closed' ? CLOSED_BY[String(order['closeReason'])] : WHY[status];
  const open = refundsOf(order).filter((one) => !['succeeded', 'failed'].includes(String(one['status'])));
  return [
    why ?? 'The order is in the state that `status` names.',
    ...(order['exception'] == null ? [] : ['An operator must review the order: `exception` names the case.']),
    ...(order['failure'] == null ? [] : ['`failure` has the message of the channel.']),
    ...(open.length === 0 ? [] : [`Refunds under way: ${open.length}. The service completes them on its own.`]),
    ...(disputes.length === 0 ? [] : [`Disputes of the payer: ${disputes.length}. Administrators answer them.`]),
    ...(order['stale'] === true ? ['The channel did not respond; this is the stored state.'] : []),
    ...(Number(order['refundableAmount']) > 0 ? ['refundableAmount can still be refunded.'] : []),
  ];
}

function refundsOf(order: Row): Row[] {
  return Array.isArray(order['refunds']) ? (order['refunds'] as Row[]) : [];
}

const BASE = '/api/v2/payment';

const STATUSES = ['created', 'pending', 'closing', 'paid', 'closed', 'failed'] as const;

const place = tool({
  name: 'place_payment',
  title: 'Place a payment',
  description:
    'Creates an order and returns payUrl or qrCode, which a person opens to pay. No money moves until that person pays.',
  annotations: WRITES,
  input: z.strictObject({
    idempotencyKey: Key,
    subject: z.string().min(1).max(127).describe('Order title, shown to the payer.'),
    amount: Amount,
    payWay: PayWay,
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/)
      .optional()
      .describe(`ISO 4217 code; ${ONLY_CURRENCIES}.`),
    merchantOrderNo: z.string().min(1).max(64).optional().describe('Own order number of the merchant.'),
    userId: z.string().min(1).max(64).optional().describe('Paying user.'),
    orderType: z.string().min(1).max(64).optional().describe('Business category.'),
    product: z.string().min(1).max(64).optional().describe('Product code.'),
    extra: z.string().max(4096).optional().describe('Custom text, returned unchanged.'),
    expireSeconds: z.int().min(60).max(604_800).optional().describe('Seconds until the order expires.'),
  }),
  run: async ({ idempotencyKey: key, ...body }, { api, keys }) => {
    const idempotencyKey = keys.bind('place_payment', key, body);
    const order = await api.data({ method: 'POST', path: `${BASE}/pay`, body, idempotencyKey });
    return toolAnswer('The order was placed. Show payUrl or qrCode to the person who pays.', order);
  },
});

const query = tool({
  name: 'query_payment',
  title: 'Query a payment',
  description: 'Returns an order with its status and refunds; an open order is refreshed from its channel.',
  annotations: READS,
  input: z.strictObject({ orderNo: OrderNo }),
  run: async ({ orderNo }, { api }) => toolAnswer('The order.', await api.get(`${BASE}/query/${segment(orderNo)}`)),
});

const close = tool({
  name: 'close_payment',
  title: 'Close a payment',
  description: 'Closes an unpaid order, so that it cannot be paid any more. A paid order is refused.',
  annotations: WRITES,
  input: z.strictObject({ idempotencyKey: Key, orderNo: OrderNo }),
  run: async ({ idempotencyKey: key, orderNo }, { api, keys }) => {
    const idempotencyKey = keys.bind('close_payment', key, { orderNo });
    const path = `${BASE}/close/${segment(orderNo)}`;
    return toolAnswer('The order after the close.', await api.data({ method: 'POST', path, idempotencyKey }));
  },
});

const refund = tool({
  name: 'refund_payment',
  title: 'Refund a payment',
  description: 'Gives back a paid order, in part or in full. Money moves to the payer; it cannot be undone.',
  annotations: WRITES,
  input: z.strictObject({
    idempotencyKey: Key,
    orderNo: OrderNo,
    refundAmount: Amount,
    reason: z.string().min(1).max(80).optional().describe('Some channels show the reason to the payer.'),
  }),
  run: async ({ idempotencyKey: key, ...body }, { api, keys }) => {
    const idempotencyKey = keys.bind('refund_payment', key, body);
    const made = await api.data({ method: 'POST', path: `${BASE}/refund`, body, idempotencyKey });
    return toolAnswer('The service accepted the refund; `status` has its state.', made);
  },
});

const list = tool({
  name: 'list_orders',
  title: 'List orders',
  description: "Lists the application's own orders, newest first, one page at a time.",
  annotations: READS,
  input: z.strictObject({
    status: z.enum([...STATUSES, 'partially_refunded', 'refunded']).optional(),
    merchantOrderNo: z.string().min(1).max(64).optional(),
    userId: z.string().min(1).max(64).optional(),
    limit: z.int().min(1).max(50).default(20).describe('Orders per page.'),
    cursor: z.string().max(1024).optional().describe('nextCursor of the page before.'),
  }),
  run: async (filter, { api }) => {
    const { rows, nextCursor } = await api.page(`${BASE}/orders`, filter);
    return toolAnswer(`${rows.length} orders.`, { orders: rows, nextCursor });
  },
});

/** All tools for payments except `call_paid_resource`, which is `paidResourceTool`. */
export const paymentTools: readonly Tool[] = [place, query, close, refund, explainTool, list];

const CALL = { method: 'POST', path: '/api/v2/skillpay/resource', accept: [402] } as const;

/** The service first responds with a payment link. The tool then waits for the payment and fetches the content. */
export const paidResourceTool: Tool = tool({
  name: 'call_paid_resource',
  title: 'Call a paid resource',
  description:
    'Calls a resource that costs money. The first call (idempotencyKey, resource, input) makes one order and waits waitSeconds for a person to pay at payUrl or qrCode. If nobody has paid by then, show these to the person and call again with outTradeNo. A paid call returns the content once and again.',
  annotations: WRITES,
  input: z.strictObject({
    idempotencyKey: Key.optional().describe('For the first call. The same key never makes a second order.'),
    resource: z.string().min(1).max(64).optional().describe('Code of the resource, see service://paid-resources.'),
    input: z.unknown().optional().describe('Input of the resource.'),
    payWay: PayWay.optional(),
    outTradeNo: OrderNo.optional().describe('To go on with an order instead of making one.'),
    waitSeconds: z.int().min(0).max(50).default(20).describe('Longest wait for the payment in this call.'),
  }),
  async run({ idempotencyKey: key, outTradeNo: known, waitSeconds, ...body }, run) {
    if ((key === undefined) === (known === undefined))
      throw new ToolRefusal('invalid_arguments', 'Give either idempotencyKey (new order) or outTradeNo (known order).');
    if (known !== undefined && Object.values(body).some((value) => value !== undefined))
      throw new ToolRefusal('invalid_arguments', 'resource, input and payWay cannot be combined with outTradeNo.');
    const first = await run.api.call(known === undefined ? firstCall(key ?? '', body, run) : repeat(known));
    return first.status === 402 ? waitForPayer(first, waitSeconds, run) : delivered(first);
  },
});

function firstCall(key: string, body: Row, { keys }: ToolRun): Call {
  return { ...CALL, body, idempotencyKey: keys.bind('call_paid_resource', key, body) };
}

function repeat(outTradeNo: string): Call {
  return { ...CALL, headers: { 'x-out-trade-no': outTradeNo } };
}

async function waitForPayer(offer: Answer, seconds: number, run: ToolRun): Promise<CallToolResult> {
  const asked = dataOf(offer);
  const outTradeNo = OrderNo.parse(asked['outTradeNo']);
  const begun = run.now();
  for (;;) {
    const waited = Math.min((run.now() - begun) / 1000, seconds);
    if (run.leave.aborted || waited >= seconds) return stillUnpaid(asked);
    await run.progress(waited, seconds, progressText(asked));
    const pause = Math.min(run.interval, seconds - waited) * 1000;
    await wait(pause, undefined, { signal: run.leave }).catch(() => undefined);
    if (run.leave.aborted) return stillUnpaid(asked);
    const answer = await requestOffer(run.api, outTradeNo);
    if (answer && answer.status !== 402) return delivered(answer);
  }
}

/** Undefined if the service is unreachable, so that the tool continues to wait for the payer. */
function requestOffer(api: ApiClient, outTradeNo: string): Promise<Answer | undefined> {
  return api.call(repeat(outTradeNo)).catch(ignoreUnreachable);
}

function stillUnpaid(asked: Row): CallToolResult {
  const summary =
    'Payment required: nothing was paid yet. Show payUrl or qrCode to the person who pays, then call this tool again with outTradeNo.';
  return toolAnswer(summary, { ...asked, paid: false });
}

function delivered(answer: Answer): CallToolResult {
  const { receipt: _receipt, ...data } = dataOf(answer);
  const isRefunded = data['status'] === 'refunded';
  const summary = isRefunded
    ? 'The resource failed permanently, and the payment was refunded.'
    : 'The resource was paid and delivered; its content is among the untrusted texts.';
  return toolAnswer(summary, { ...data, paid: !isRefunded });
}

function progressText(asked: Row): string {
  const url = asked['payUrl'];
  return typeof url === 'string' && /^https?:\/\/[!-~]{1,500}$/.test(url)
    ? `Waiting for the payment at ${url}`
    : 'Waiting for the payment';
}

function dataOf({ body }: Answer): Row {
  const data = (body as Row | undefined)?.['data'];
  return typeof data === 'object' && data !== null ? (data as Row) : {};
}
