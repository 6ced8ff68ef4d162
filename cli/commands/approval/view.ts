import type { Context } from '../../context.ts';
import { plain, type Row, type View } from '../../values.ts';

/** The console's path of approvals. */
export const APPROVALS = '/api/v1/approvals';

/** The number of a refund for examples. */
export const REFUND_NO = 'R20261121060100D4N8ZR3VHC';

/** Tells that a deed waits for another administrator: nothing was done yet. */
export async function tellWaiting({ print }: Pick<Context, 'print'>, row: Row): Promise<void> {
  await print.item(row, VIEW);
  await print.done(
    `Nothing was done yet: another administrator has to approve it. Next: payctl approval approve ${plain(row['refundNo'])}`,
  );
}

/** How approvals are shown. */
export const VIEW: View = {
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
