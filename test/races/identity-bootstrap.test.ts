import test from 'ava';
import { consoleAppRow, testAppRows } from '../../server/identity/api-app-rows.ts';
import { createAudit } from '../../server/identity/audit.ts';
import { auditKey } from '../support/audit-keys.ts';
import { AlreadyBootstrapped, applyBootstrap, createFirstAdmin, offlineActor } from '../../server/identity/offline.ts';
import { createPasswords } from '../../server/identity/passwords.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { seed } from '../../server/db/migrate.ts';
import { createStore } from '../../server/db/store.ts';
import { PATIENT, postgresDatabase } from '../support/database.ts';

const now = () => new Date();
const actor = offlineActor('tester', 'test');
const rows = { consoleApp: consoleAppRow, testApps: testAppRows };

test('one of several concurrent bootstraps in their own processes wins, and the rest are refused', async (t) => {
  const { url, store } = await postgresDatabase(t);
  const stores = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const database = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: PATIENT });
      t.teardown(() => database.close());
      return createStore(database, async () => {});
    }),
  );
  const results = await Promise.allSettled(
    stores.map((each, index) => {
      const ports = { store: each, passwords: createPasswords(), audit: createAudit({ now, key: auditKey }), now };
      return createFirstAdmin(ports, actor, { username: `first${index}`, password: 'seven-quiet-otters-swim' });
    }),
  );
  const lost = results.filter((result) => result.status === 'rejected');
  t.is(lost.length, 3);
  t.true(lost.every(({ reason }) => reason instanceof AlreadyBootstrapped));
  t.is(await store.read((tx) => tx.admins.count({})), 1);
  t.is(await store.read((tx) => tx.audit.count({ action: 'bootstrap.admin' })), 1);
});

test('the same document applied concurrently creates everything once', async (t) => {
  const { store } = await postgresDatabase(t);
  await seed(store, rows, { debug: false, now });
  const ports = { store, passwords: createPasswords(), audit: createAudit({ now, key: auditKey }), now };
  const document = {
    admins: [{ username: 'alice', password: 'seven-quiet-otters-swim' }],
    projects: [{ code: 'books', name: 'Books' }],
    apps: [{ name: 'shop', project: 'books', scopes: ['payment:read'] }],
  };
  const results = await Promise.all([1, 2, 3].map(() => applyBootstrap(ports, actor, document)));
  t.is(results.filter(({ changed }) => changed).length, 1);
  t.is(await store.read((tx) => tx.apps.count({ project: 'books', kind: 'merchant' })), 1);
  t.is(await store.read((tx) => tx.apps.count({ project: 'books', kind: 'console' })), 1);
});

test('replicas that start concurrently seed once', async (t) => {
  const { store } = await postgresDatabase(t);
  await Promise.all([1, 2, 3, 4].map(() => seed(store, rows, { debug: true, now })));
  const apps = await store.read((tx) => tx.apps.list({}, { orderBy: { clientId: 'asc' } }));
  t.deepEqual(
    apps.map(({ clientId, kind }) => `${clientId} ${kind}`),
    ['console console', 'test-admin test', 'test-app test'],
  );
});
