import type { ApiAppRow } from '../db/entities/identity.ts';
import { newAppRow } from './api-app-row.ts';
import { defaultLatePayment } from './api-app-rules.ts';
import { merchantScopes } from './scopes.ts';

/** The secrets of the applications that exist only while Debug is on; they are no secrets at all. */
export const testSecrets = {
  'test-app': 'pays_test-app-secret-for-debug-only',
  'test-admin': 'pays_test-admin-secret-for-debug-only',
} as const;

/** The rows of the test applications: `test-app` with every merchant scope, `test-admin` with `admin`. */
export function testAppRows(at: Date): ApiAppRow[] {
  return [row('test-app', merchantScopes, false, at), row('test-admin', ['admin'], true, at)];
}

function row(clientId: keyof typeof testSecrets, scopes: readonly string[], trusted: boolean, at: Date): ApiAppRow {
  const columns = {
    name: clientId,
    scopes: [...scopes],
    trusted,
    allowedIps: [],
    rateLimit: null,
    latePayment: defaultLatePayment,
    remark: 'Exists only while Debug is on.',
  };
  return newAppRow(columns, { project: 'default', at, kind: 'test', clientId, secret: testSecrets[clientId] }).app;
}
