import type { View } from '../values.ts';

/** An event id for examples. */
export const EVENT_ID = 'evt_5f0c2b6e8a179d3f01935b2e';

/** The console's path of events. */
export const EVENTS = '/api/v1/events';

/** How events are shown. */
export const EVENT_VIEW: View = {
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

/** How events are shown to a person as they come: what is looked at first, as wide as most are, so that columns stay where they are. */
export const FOLLOWED: View = {
  ...EVENT_VIEW,
  columns: [
    { field: 'createdAt', kind: 'time', width: '59s ago'.length },
    { field: 'type', kind: 'id', width: 'skillpay.fulfilled'.length },
    { field: 'data.object.orderNo', title: 'ORDER', kind: 'id', width: 'P202611210558007K2MQX9WBT'.length },
    { field: 'id', kind: 'id' },
  ],
};

/** How the delivery of an event is shown. */
export const DELIVERY: View = {
  noun: 'delivery',
  id: 'id',
  columns: [
    { field: 'eventId', title: 'EVENT', kind: 'id' },
    { field: 'type', kind: 'id' },
    { field: 'state', kind: 'status' },
    { field: 'createdAt', kind: 'time' },
    { field: 'lastStatus', title: 'HTTP' },
    { field: 'attempts', title: 'TRIES' },
    { field: 'nextAttemptAt', title: 'NEXT', kind: 'time' },
    { field: 'lastError', title: 'ERROR' },
    { field: 'url' },
    { field: 'id', kind: 'id' },
  ],
};
