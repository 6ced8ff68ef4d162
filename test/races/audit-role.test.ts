import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import test from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import { firstAdmin } from '../support/admin.ts';
import { createDatabase, PATIENT } from '../support/database.ts';
import { payOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

/** The documented SQL statements, with these roles. */
function statements(owner: string, service: string): string[] {
  const readme = readFileSync(new URL('../../config/README.md', import.meta.url), 'utf8');
  const [, sql = ''] = /```sql\n(grant[\s\S]*?)```/.exec(readme) ?? [];
  const named = sql.replaceAll(/\bpay_owner\b/g, `"${owner}"`).replaceAll(/\bpay\b/g, `"${service}"`);
  return named.split(';\n').filter((statement) => statement.trim() !== '');
}

test('the service works with a role that can only insert and read lines of the audit log', async (t) => {
  const { url, drop } = await createDatabase({ direct: true });
  const owner = await openDatabase({ kind: 'postgres', url, poolSize: 2, timeouts: PATIENT });
  const run = (sql: string) => owner.em.fork().execute(sql);
  const role = `pay_${randomBytes(6).toString('hex')}`;
  const password = randomBytes(12).toString('hex');
  await run(`create role "${role}" login password '${password}'`);
  t.teardown(async () => {
    await run(`drop owned by "${role}"`);
    await run(`drop role "${role}"`);
    await owner.close();
    await drop();
  });
  const [{ name }] = (await run('select current_user as name')) as [{ name: string }];
  const asked = statements(name, role);
  t.true(asked.length >= 6);
  for (const statement of asked) await run(statement);

  const own = new URL(url);
  own.username = role;
  own.password = password;
  const service = await startService(t, { url: own.href, env: { PAY_DATABASE_MIGRATE: 'false' } });
  const admin = await firstAdmin(service);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { amount: 20 });
  const refund = await admin.call('POST', '/api/v1/console/payment/refund', { orderNo, refundAmount: 5 });
  t.is(refund.status, 200, JSON.stringify(refund.body));
  await service.app.identity.anchorAudit();
  const { body } = await admin.call('GET', '/api/v1/books');
  t.true(body.data.ok, JSON.stringify(body.data.proofs));
  t.true(body.data.auditLog.lines > 2);

  const refused = (sql: string) =>
    t.throwsAsync(service.app.database.em.fork().execute(sql), { message: /permission denied/ }, sql);
  await refused(`update audit_log set actor = 'somebody else'`);
  await refused('delete from audit_log');
  await refused('truncate audit_log');
  await run('create table later (id bigserial primary key)');
  await service.app.database.em.fork().execute('insert into later default values');
});
