import type { Context } from '../context.ts';
import { amount, instant } from '../options.ts';
import type { Field } from '../resource.ts';
import { type Row, type View, plain } from '../values.ts';

/** The console's path of orders. */
export const ORDERS = '/api/v1/orders';

/** How orders are shown. */
export const ORDER_VIEW: View = {
  noun: 'order',
  id: 'orderNo',
  columns: [
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'payWay', title: 'CHANNEL', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'subject' },
    { field: 'refundedAmount', title: 'REFUNDED', kind: 'money' },
    { field: 'exception', kind: 'text' },
    { field: 'paidAt', kind: 'time' },
    { field: 'merchantOrderNo' },
    { field: 'clientId', title: 'APP' },
  ],
};

/** How the steps of an order are shown. */
export const TIMELINE: View = {
  noun: 'step',
  id: 'at',
  columns: [{ field: 'at', kind: 'time' }, { field: 'kind', kind: 'id' }, { field: 'summary' }],
};

/** The statuses of an order in the API. */
export const ORDER_STATUSES = [
  'created',
  'pending',
  'closing',
  'closed',
  'failed',
  'paid',
  'partially_refunded',
  'refunded',
] as const;

/** What orders can be found by. */
export const ORDER_FILTERS: readonly Field[] = [
  { name: 'status', value: 'status', help: 'filter by status', choices: ORDER_STATUSES },
  { name: 'payWay', value: 'channel', help: 'filter by channel', choices: ['alipay', 'wechat', 'paypal'] },
  { name: 'mode', value: 'mode', help: 'filter by mode', choices: ['simulator', 'sandbox', 'live'] },
  { name: 'orderNo', value: 'no', help: 'filter by order number' },
  { name: 'merchantOrderNo', value: 'no', help: 'filter by the order number of the merchant' },
  {
    name: 'channelTradeNo',
    value: 'no',
    help: "filter by the channel's transaction number, as on the payer's receipt",
  },
  { name: 'exception', value: 'kind', help: 'filter by kind of open exception, or "any"' },
  { name: 'orderType', value: 'text', help: 'filter by business category' },
  { name: 'userId', value: 'id', help: 'filter by user' },
  { name: 'project', value: 'code', help: 'filter by project' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'amountMin', value: 'amount', help: "minimum amount, in major units of the order's currency", read: amount },
  { name: 'amountMax', value: 'amount', help: "maximum amount, in major units of the order's currency", read: amount },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'created after this time, e.g. 2026-01-31, or 2h for two hours ago',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'created before this time', read: instant },
];

/** The console's path of approvals. */
export const APPROVALS = '/api/v1/approvals';

/** The number of a refund for examples. */
export const REFUND_NO = 'R20261121060100D4N8ZR3VHC';

/** Tells that a deed waits for another administrator: nothing was done yet. */
export async function tellWaiting({ print }: Pick<Context, 'print'>, row: Row): Promise<void> {
  await print.item(row, APPROVAL_VIEW);
  await print.done(
    `Nothing was done yet: another administrator has to approve it. Next: payctl approval approve ${plain(row['refundNo'])}`,
  );
}

/** How approvals are shown. */
export const APPROVAL_VIEW: View = {
  noun: 'approval',
  id: 'refundNo',
  columns: [
    { field: 'refundNo', title: 'NUMBER', kind: 'id' },
    { field: 'kind' },
    { field: 'state', kind: 'status' },
    { field: 'refundAmount', title: 'AMOUNT', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'askedBy', title: 'ASKED BY' },
    { field: 'createdAt', kind: 'time' },
    { field: 'decidedBy', title: 'DECIDED BY' },
    { field: 'reason' },
  ],
};
