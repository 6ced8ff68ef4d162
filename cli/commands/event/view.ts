import type { View } from '../../values.ts';

/** The console's path of events. */
export const EVENTS = '/api/v1/events';

/** How events are shown. */
export const VIEW: View = {
  noun: 'event',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'type', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'data.object.orderNo', title: 'ORDER', kind: 'id' },
    { field: 'sequence' },
  ],
};
