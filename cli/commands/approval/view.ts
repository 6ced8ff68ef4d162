import type { View } from '../../values.ts';

/** The console's path of approvals. */
export const APPROVALS = '/api/v1/approvals';

/** The number of a refund for examples. */
export const REFUND_NO = 'R20261121060100D4N8ZR3VHC';

/** How approvals are shown. */
export const VIEW: View = {
  noun: 'approval',
  id: 'refundNo',
  columns: [
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'refundAmount', title: 'AMOUNT', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'askedBy', title: 'ASKED BY' },
    { field: 'createdAt', kind: 'time' },
    { field: 'decidedBy', title: 'DECIDED BY' },
    { field: 'reason' },
  ],
};
