import test from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';
import { firstAdmin } from '../support/admin.ts';
import { appendAudit, auditRows } from '../support/audit-forger.ts';
import { createDatabase, PATIENT } from '../support/database.ts';
import { startService } from '../support/service.ts';

test('of replicas that start at once on the database of the release before, one vouches for the audit log, once', async (t) => {
  const { url, drop } = await createDatabase();
  const before = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: PATIENT });
  t.teardown(async () => {
    await before.close();
    await drop();
  });
  const store = createStore(before, () => {});
  for (let line = 0; line < 3; line += 1) await appendAudit(store, new Date());
  const run = (sql: string) => before.em.fork().execute(sql);
  await run('alter table audit_log drop column key_id');
  await run('drop table audit_keys');
  await run(`delete from schema_migrations where name = '0009-keyed-audit'`);

  const [one, two] = await Promise.all([startService(t, { url }), startService(t, { url })]);
  const admin = await firstAdmin(one);
  // A replica of the release before is still there; the jobs of a new one look after its line.
  await appendAudit(store, new Date());
  await two.app.identity.anchorAudit();
  const rows = await auditRows(store);
  t.deepEqual(
    rows.map(({ action, keyId }) => [action, keyId !== null]),
    [
      ...Array.from({ length: 3 }, () => ['app.update', false]),
      ['audit.keyed', true],
      ['bootstrap.admin', true],
      ['admin.login', true],
      ['app.update', false],
      ['audit.anchor', true],
    ],
  );
  const { body } = await admin.call('GET', `/api/v1/books?tip=${rows[1]?.hash}`);
  t.deepEqual(body.data.auditLog, { lines: 8, unkeyed: 4, tip: rows.at(-1)?.hash });
  t.true(body.data.ok, JSON.stringify(body.data.proofs));
});
