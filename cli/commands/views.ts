import type { Context } from '../context.ts';
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

/** The console's path of refunds. */
export const REFUNDS = '/api/v1/refunds';

/** The console's path of exceptions. */
export const EXCEPTIONS = '/api/v1/exceptions';

/** The console's path of approvals. */
export const APPROVALS = '/api/v1/approvals';

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
