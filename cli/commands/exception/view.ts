import type { View } from '../../values.ts';

/** An exception id for examples. */
export const EXCEPTION_ID = '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52';

/** The console's path of exceptions. */
export const EXCEPTIONS = '/api/v1/exceptions';

/** How exceptions are shown. */
export const VIEW: View = {
  noun: 'exception',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'kind', kind: 'status' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'createdAt', kind: 'time' },
    { field: 'detail' },
  ],
};
