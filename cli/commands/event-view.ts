import type { Context } from '../context.ts';
import { segment } from '../resource.ts';
import type { Change, ChangeFlags } from '../safety.ts';
import type { Row, View } from '../values.ts';

/** An event id for examples. */
export const EVENT_ID = 'evt_5f0c2b6e8a179d3f01935b2e';

/** The console's path of events. */
export const EVENTS = '/api/v1/events';

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

/** Queues the delivery of one event, and gives it; undefined after --dry-run. */
export function resendEvent(
  { change }: Context,
  id: string,
  flags: ChangeFlags,
  asked: Pick<Change, 'what' | 'name' | 'risk' | 'isPart'>,
): Promise<Row | undefined> {
  return change({ ...asked, method: 'POST', path: `${EVENTS}/${segment(id)}/resend` }, flags);
}
