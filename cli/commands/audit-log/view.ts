import { instant } from '../../options.ts';
import type { Field } from '../../resource.ts';
import type { View } from '../../values.ts';

/** The console's path of the audit log. */
export const AUDIT_LOG = '/api/v1/audit-log';

/** How lines of the audit log are shown. */
export const VIEW: View = {
  noun: 'line',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'at', title: 'WHEN', kind: 'time' },
    { field: 'actor' },
    { field: 'action', kind: 'id' },
    { field: 'target' },
    { field: 'ip' },
    { field: 'actorKind', title: 'KIND' },
    { field: 'requestId', title: 'REQUEST', kind: 'id' },
  ],
};

/** What lines can be found by. */
export const FILTERS: readonly Field[] = [
  { name: 'actor', value: 'name', help: 'filter by who did it: a username or client_id' },
  { name: 'action', value: 'action', help: 'filter by action, e.g. app.create' },
  { name: 'target', value: 'target', help: 'filter by what it was done to, e.g. a client_id or order number' },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'since this time, e.g. 2026-01-31, or 2h for two hours ago',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'before this time', read: instant },
];
