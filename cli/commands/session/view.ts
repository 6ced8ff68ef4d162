import type { View } from '../../values.ts';

/** Where the own sessions are. */
export const SESSIONS = '/api/v1/me/sessions';

/** How a session is shown. */
export const VIEW: View = {
  noun: 'session',
  id: 'id',
  columns: [
    { field: 'id', kind: 'id' },
    { field: 'current', kind: 'yesno' },
    { field: 'lastUsedAt', kind: 'time' },
    { field: 'ip' },
    { field: 'userAgent' },
    { field: 'createdAt', kind: 'time' },
    { field: 'expiresAt', kind: 'time' },
  ],
};
