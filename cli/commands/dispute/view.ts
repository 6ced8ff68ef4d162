import type { Field } from '../../resource.ts';
import type { View } from '../../values.ts';

/** A dispute number for examples. */
export const DISPUTE_NO = 'D20261121060100D4N8ZR3VHC';

/** The console's path of disputes. */
export const DISPUTES = '/api/v1/disputes';

/** How disputes are shown. */
export const VIEW: View = {
  noun: 'dispute',
  id: 'disputeNo',
  columns: [
    { field: 'disputeNo', title: 'DISPUTE', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'dueAt', title: 'DUE', kind: 'time' },
    { field: 'payWay', title: 'CHANNEL', kind: 'id' },
    { field: 'openedAt', kind: 'time' },
    { field: 'reason' },
  ],
};

/** What disputes can be found by. */
export const FILTERS: readonly Field[] = [
  {
    name: 'status',
    value: 'status',
    help: 'filter by status',
    choices: ['open', 'needs_answer', 'under_review', 'won', 'lost'],
  },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'payWay', value: 'channel', help: 'filter by channel', choices: ['alipay', 'wechat', 'paypal'] },
  { name: 'channelDisputeNo', value: 'no', help: 'filter by the number of the channel' },
  { name: 'project', value: 'code', help: 'filter by project' },
];
