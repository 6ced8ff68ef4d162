import type { Field } from '../../resource.ts';
import type { View } from '../../values.ts';
import { amount, instant } from '../../options.ts';

/** The console's path of orders. */
export const ORDERS = '/api/v1/orders';

/** How orders are shown. */
export const VIEW: View = {
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

/** The words of a status on the wire. */
export const STATUSES = [
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
export const FILTERS: readonly Field[] = [
  { name: 'status', value: 'status', help: 'only in this state', choices: STATUSES },
  { name: 'payWay', value: 'channel', help: 'only of this channel', choices: ['alipay', 'wechat', 'paypal'] },
  { name: 'mode', value: 'mode', help: 'only of this mode', choices: ['simulator', 'sandbox', 'live'] },
  { name: 'orderNo', value: 'no', help: 'order number' },
  { name: 'merchantOrderNo', value: 'no', help: "the merchant's number" },
  { name: 'channelTradeNo', value: 'no', help: "the channel's number, as on the payer's receipt" },
  { name: 'exception', value: 'kind', help: 'only with this open exception, or "any"' },
  { name: 'orderType', value: 'text', help: 'business category' },
  { name: 'userId', value: 'id', help: 'payer' },
  { name: 'project', value: 'code', help: 'only of this project' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'only of this application' },
  { name: 'amountMin', value: 'amount', help: 'at least', read: amount },
  { name: 'amountMax', value: 'amount', help: 'at most', read: amount },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'created after (2026-01-31, or 2h for two hours ago)',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'created before', read: instant },
];
