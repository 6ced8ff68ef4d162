import { emitCredentialChange } from '../../../server/events/record.ts';
import { identityQueries } from '../../../server/db/queries/identity.ts';
import { createRateLimits } from '../../../server/db/rate-limits.ts';
import { seed } from '../../../server/db/migrate.ts';
import { createStore } from '../../../server/db/store.ts';
import { consoleAppRow, testAppRows } from '../../../server/identity/api-app-rows.ts';
import { NEW_TIP, type NewTip, createKnownTip } from '../../../server/identity/audit.ts';
import { createIdentity } from '../../../server/identity/identity.ts';
import * as offline from '../../../server/identity/offline.ts';
import { createPasswords } from '../../../server/identity/passwords.ts';
import { createEncryption, type MasterKey } from '../../../server/db/encryption.ts';
import { auditKeysOf, auditMaster } from '../../support/audit-keys.ts';
import type { TestDatabase } from '../../support/database.ts';

/** The actor of offline commands in tests. */
export const actor = offline.offlineActor('tester', 'test');
/** The first administrator. */
export const account = { username: 'Alice', password: 'seven-quiet-otters-swim' };
/** The origin of requests. */
export const from = { ip: '127.0.0.1', requestId: 'r' };

/** Creates the identity services over a database, without HTTP. */
export async function world(
  { database }: Pick<TestDatabase, 'database'>,
  { masterKeys = [auditMaster], now = () => new Date() }: { masterKeys?: MasterKey[]; now?: () => Date } = {},
) {
  const auditTip = createKnownTip();
  const store = createStore(database, async (by, row) => {
    if (by === NEW_TIP) auditTip.note(row as NewTip);
  });
  await seed(store, { consoleApp: consoleAppRow, testApps: testAppRows }, { debug: false, now });
  const passwords = createPasswords();
  const tell = emitCredentialChange(now, consoleAppRow);
  const identity = createIdentity({
    config: {
      debug: false,
      environment: 'development',
      server: { publicUrl: 'http://127.0.0.1' },
      admin: { requireSecondFactor: false },
      jwt: { secretKey: 'a-test-secret-of-more-than-32-bytes!', expirationHours: 1, idleMinutes: 0 },
      oauth: { issuer: 'http://127.0.0.1', tokenTtlSeconds: 60 },
      rateLimit: { loginFailures: 3, badCredentialsPerMinute: 30 },
    },
    store,
    queries: identityQueries,
    counts: createRateLimits(database),
    auditKeys: auditKeysOf(store, masterKeys),
    auditTip,
    encryption: createEncryption(masterKeys),
    now,
    passwords,
    emitCredentialChange: tell,
  });
  const ports = { store, passwords, audit: identity.audit, now };
  return { store, database, identity, ports };
}
