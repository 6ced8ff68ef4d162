import { z } from 'zod';
import { segment } from '../resource.ts';
import { toolAnswer } from './answers.ts';
import { explainTool } from './explain.ts';
import { Amount, Key, OrderNo, PayWay, READS, tool, WRITES, type Tool } from './tool.ts';

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
      .describe('ISO 4217 code; CNY for alipay and wechat.'),
    merchantOrderNo: z.string().min(1).max(64).optional().describe('Own order number of the merchant.'),
    userId: z.string().min(1).max(64).optional().describe('User who pays.'),
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
    reason: z.string().min(1).max(80).optional().describe('Shown to the payer by some channels.'),
  }),
  run: async ({ idempotencyKey: key, ...body }, { api, keys }) => {
    const idempotencyKey = keys.bind('refund_payment', key, body);
    const made = await api.data({ method: 'POST', path: `${BASE}/refund`, body, idempotencyKey });
    return toolAnswer('The refund was accepted; its status says how far it is.', made);
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

/** The tools for payments. */
export const paymentTools: readonly Tool[] = [place, query, close, refund, explainTool, list];
