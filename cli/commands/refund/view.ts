import { instant } from '../../options.ts';
import type { Field } from '../../resource.ts';
import type { View } from '../../values.ts';

/** The console's path of refunds. */
export const REFUNDS = '/api/v1/refunds';

/** How refunds are shown. */
export const VIEW: View = {
  noun: 'refund',
  id: 'refundNo',
  columns: [
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'refundAmount', title: 'AMOUNT', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'nextCheckAt', kind: 'time' },
    { field: 'reason' },
  ],
};

/** The states of a refund. */
export const STATUSES = ['pending', 'processing', 'waiting_for_approval', 'succeeded', 'failed', 'abnormal'] as const;

/** What refunds can be found by. */
export const FILTERS: readonly Field[] = [
  { name: 'status', value: 'status', help: 'filter by status', choices: STATUSES },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'merchantRefundNo', value: 'no', help: 'filter by the refund number of the merchant' },
  { name: 'project', value: 'code', help: 'filter by project' },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'requested after this time, e.g. 2026-01-31, or 2h for two hours ago',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'requested before this time', read: instant },
];
