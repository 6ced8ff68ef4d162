import { randomBytes } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { openDatabase } from '../../server/db/orm.ts';
import { firstAdmin } from '../support/admin.ts';
import { runPayctl } from './payctl.ts';
import { giveCoins } from '../support/coins.ts';
import { copyOf, createDatabase, layMigrated, PATIENT } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { enrol } from '../support/second-factor.ts';
import { startService, testEnvironment, until, type Service } from '../support/service.ts';
import { addSkill, offerSkill } from '../support/skillpay.ts';

interface Finding {
  check: string;
  status: string;
  detail: string;
  fix: string | null;
}

interface Checked {
  code: number;
  findings: Finding[];
  stderr: string;
}

async function check(t: ExecutionContext, env: Record<string, string>, ...args: string[]): Promise<Checked> {
  const cwd = temporaryFolder(t);
  const { code, stdout, stderr } = await runPayctl(['server', 'restore-check', ...args, '--json'], {
    cwd,
    now: () => new Date(),
    env: { PAYCTL_CONFIG_DIR: join(cwd, 'payctl'), ...env },
  });
  return { code, findings: stdout === '' ? [] : (JSON.parse(stdout) as Finding[]), stderr };
}

function sick({ findings }: Checked): Finding[] {
  return findings.filter(({ status }) => status !== 'ok');
}

/** A stopped service with rows in every table that has encrypted, counted or chained data. */
async function usedService(t: ExecutionContext): Promise<Service & { tip: string }> {
  const { url, drop } = await createDatabase({ direct: true });
  const service = await startService(t, { url });
  t.teardown(drop);
  await service.app.prepare();
  const shop = await service.merchant({ trusted: true });
  const admin = await firstAdmin(service);
  const webhook = `/api/v1/api-apps/${shop.clientId}/webhook`;
  await admin.call('PUT', webhook, { url: 'https://shop.example/hook' });
  await admin.call('POST', `${webhook}/rotate-secret`);
  await addSkill(service);
  await offerSkill(shop);
  await admin.call('POST', '/api/v1/coins', { code: 'gold', name: 'Gold' });
  await giveCoins(service, 'gold', 'u1', 5);
  const orders: string[] = [];
  for (const payWay of ['alipay', 'wechat', 'alipay']) {
    const order = { subject: 'Tea', amount: 3, payWay };
    orders.push((await shop.call('POST', '/api/v2/payment/pay', order)).body.data.orderNo);
  }
  for (const orderNo of orders) await service.sim('/sim/pay', { orderNo });
  await until('all are paid', async () => {
    const paid = await service.app.store.read((tx) => tx.orders.count({ state: 'paid' }));
    return paid === orders.length;
  });
  await shop.call('POST', '/api/v2/payment/refund', { orderNo: orders[0], refundAmount: 1 });
  const made = await service.sim('/sim/agent/developer', { account: 'default', skills: ['weather-report'] });
  const { developerId, keyId, privateKey } = made;
  await admin.call('PUT', '/api/v1/skillpay/agent-pay?project=default', { developerId, keyId, privateKey });
  const { recoveryCodes } = await enrol(admin.call, () => new Date());
  const [code] = recoveryCodes;
  t.is((await admin.call('POST', '/api/v1/me/second-factor/start', { code })).status, 201);
  await service.stop();
  // The audit log then has lines under both master keys.
  const newer = randomBytes(32).toString('base64');
  const environment = { ...service.environment, PAY_SECURITY_MASTER_KEY: newer };
  const both = {
    ...environment,
    PAY_SECURITY_MASTER_KEY: `${newer},${service.environment['PAY_SECURITY_MASTER_KEY']}`,
  };
  t.is((await runPayctl(['keys', 'rotate', '-y'], { cwd: temporaryFolder(t), env: both })).code, 0);
  const [last] = await execute<{ hash: string }>(url, 'select hash from audit_log order by id desc limit 1');
  return { ...service, environment, tip: last!.hash };
}

interface Step {
  name: string;
  sql?: string;
  env?: Record<string, string>;
  args?: string[];
  /** Expected findings: check, detail and fix. */
  found: [check: string, detail: RegExp, fix: RegExp][];
}

/** Each step continues with the copy as the previous step left it. */
const stepsWith = (tip: string): Step[] => [
  {
    name: 'a master key that is not configured',
    env: { PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64') },
    found: [
      [
        'master key',
        /^the wrong key: it decrypts 0 of [1-9]\d* encrypted records/,
        /the key of this database, which is [0-9a-f]{8}$/,
      ],
      [
        'audit log',
        /^the hash chain of the audit log breaks at line [0-9a-f]+: key_unknown$/,
        /followed by its former keys/,
      ],
    ],
  },
  {
    name: 'a newer release',
    sql: `insert into schema_migrations (name, executed_at) values ('9999-later', now())`,
    found: [['schema', /^written by a newer release \(9999-later\)/, /^check the copy with the newer release$/]],
  },
  {
    name: 'a truncated audit log',
    sql: `delete from schema_migrations where name = '9999-later'; delete from audit_log where id = (select max(id) from audit_log)`,
    args: ['--tip', tip],
    found: [['audit log', /^the hash given with --tip is not in the audit log/, /^use a newer backup$/]],
  },
  {
    name: 'all other faults together',
    sql: `
      update certs c set encrypted = o.encrypted from certs o where o.encrypted is not null and c.encrypted is not null and o.id <> c.id;
      delete from audit_log where id = (select min(id) + 2 from audit_log);
      delete from refunds;
      update coin_accounts set balance = balance + 1;
      select setval('events_sequence_seq', 1);
      update orders set created_at = now() + interval '1 day' where order_no = (select min(order_no) from orders)`,
    found: [
      ['sealed records', /^certs \S+ is damaged or was tampered with$/, /payctl cert upload/],
      ['audit log', /^the hash chain of the audit log breaks at line \d+: line_missing$/, /payctl audit/],
      ['ledger refunded', /: 1 violations, first P\d{14}\w{10}: order 100, refunds 0$/, /payctl audit/],
      ['ledger coins', /1 violations, first gold\/u1/, /payctl audit/],
      [
        'sequences',
        /^the sequence public\.events_sequence_seq is at 1, but the table events already has the number \d+/,
        /^psql -c "select setval\(.*, \d+\)"$/,
      ],
      [
        'event log',
        /^readers of the event log get only the events up to number 1, but the newest event has number \d+$/,
        /repair the sequence/,
      ],
      ['clock', /^1 rows of orders have a created_at in the future, up to \S+$/, /timedatectl/],
    ],
  },
  {
    name: 'a backup of an unreleased build',
    sql: `update schema_origin set first_migration = 'another'`,
    found: [['schema', /^This database was created by an unreleased build/, /^Delete the folder .* or dump the rows/]],
  },
  {
    name: 'an empty database',
    sql: 'drop schema public cascade; create schema public',
    found: [['schema', /^the database is empty$/, /restore the backup/]],
  },
];

test.serial('restore-check accepts a good copy, and reports each planted fault with its fix', async (t) => {
  const { environment, databaseUrl, tip } = await usedService(t);
  const url = await copyOf(t, databaseUrl);
  const file = join(temporaryFolder(t, { url: `${url}\n` }), 'url');
  const good = await check(t, environment, '--url-file', file, '--tip', tip);
  const all = ['schema', 'master key', 'audit log', 'ledger', 'sequences', 'gaps', 'event log', 'clock', 'age'];
  t.deepEqual(
    good.findings.map((one) => [one.check, one.status]),
    all.map((name) => [name, 'ok']),
  );
  t.is(good.code, 0);
  await everySealedColumnIsOpened(t, url, good.findings);
  for (const { name, sql, env, args = [], found } of stepsWith(tip)) {
    if (sql) await execute(url, sql);
    const broken = await check(t, { ...environment, ...env }, '--url-file', file, ...args);
    for (const [which, detail, fix] of found) {
      const finding = sick(broken).find((one) => one.check === which);
      t.regex(finding?.detail ?? '', detail, `${name}: ${JSON.stringify(broken.findings)}${broken.stderr}`);
      t.regex(finding?.fix ?? '', fix, name);
    }
    const isBroken = sick(broken).some(({ status }) => status === 'failed');
    t.is(broken.code, isBroken ? 1 : 0, name);
    if (isBroken) t.regex(broken.stderr, /"code": ?"backup_unusable"/, name);
  }
});

/** Fails if an encrypted column is missing from the list that the check decrypts. */
async function everySealedColumnIsOpened(
  t: ExecutionContext,
  url: string,
  findings: readonly Finding[],
): Promise<void> {
  const columns = await execute<{ table: string; column: string }>(
    url,
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and a.attnum > 0 and a.atttypid in ('text'::regtype, 'varchar'::regtype)`,
  );
  const counts = columns.map(
    ({ table, column }) =>
      `select '${table}' as name, count(*)::int as n from "${table}" where "${column}" like 's1.%'`,
  );
  const found = (await execute<{ name: string; n: number }>(url, counts.join(' union all '))).filter(({ n }) => n > 0);
  t.deepEqual([...new Set(found.map(({ name }) => name))].toSorted(), SEALED_TABLES);
  const sealed = found.reduce((sum, { n }) => sum + n, 0);
  t.is(findings.find((one) => one.check === 'master key')?.detail, `decrypts all ${sealed} records`);
}

const SEALED_TABLES = [
  'agent_pays',
  'audit_keys',
  'certs',
  'channel_configs',
  'second_factors',
  'signing_keys',
  'webhooks',
];

async function execute<R>(url: string, sql: string): Promise<R[]> {
  const { em, close } = await openDatabase({ kind: 'postgres', url, poolSize: 1, timeouts: PATIENT });
  try {
    return (await em.fork().execute(sql)) as R[];
  } finally {
    await close();
  }
}

test.serial(
  'restore-check refuses the live database under each of its host names, and reads it with --live',
  async (t) => {
    const { url, drop } = await createDatabase({ direct: true });
    t.teardown(drop);
    const environment = { ...testEnvironment(url), PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64') };
    const other = url.replace('127.0.0.1', 'localhost');
    for (const name of [url, other]) {
      const file = join(temporaryFolder(t, { url: name }), 'url');
      const { code, stderr } = await check(t, environment, '--url-file', file);
      t.is(code, 6, name);
      t.regex(stderr, /copy_is_live/, name);
    }
    const live = await check(t, environment, '--live');
    t.deepEqual(sick(live), [
      {
        check: 'age',
        status: 'degraded',
        detail: 'the copy has no rows',
        fix: 'check that it is the right backup',
      },
    ]);
  },
);

test.serial(
  'restore-check unpacks a backup of the embedded database, checks it and removes the copy; a folder works, too',
  async (t) => {
    const home = temporaryFolder(t, { password: 'nine-slow-herons-wade\n' });
    const run = (line: string) =>
      runPayctl(line.split(' '), {
        cwd: home,
        now: () => new Date(),
        env: { PAYCTL_CONFIG_DIR: join(home, 'payctl') },
      });
    const done = async (line: string) => {
      const { code, stdout, stderr } = await run(line);
      t.is(code, 0, `${line}\n${stderr}`);
      return stdout;
    };
    mkdirSync(join(home, 'data'));
    await layMigrated(join(home, 'data/pglite'));
    await done('bootstrap admin --username alice --password-file password --migrate');
    await done('server backup pay.tar.gz');
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('pay-restore-'));
    const table = await run('server restore-check pay.tar.gz -o table');
    t.is(table.code, 0, table.stderr);
    t.regex(
      table.stdout,
      /^ok +schema +\S+\nok +master key +decrypts all 0 records\nok +audit log +1 line, tip\n +[0-9a-f]{64}\n/,
    );
    t.regex(table.stderr, /This backup can be used: all 9 checks passed\./);
    t.deepEqual(
      readdirSync(tmpdir()).filter((name) => name.startsWith('pay-restore-') && !before.includes(name)),
      [],
    );

    const wrong = await check(
      t,
      { PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64') },
      join(home, 'pay.tar.gz'),
      '--secrets',
      join(home, 'data/pglite-secrets'),
    );
    t.is(wrong.code, 1);
    t.deepEqual(
      sick(wrong)
        .slice(0, 2)
        .map(({ check: name, detail, fix }) => [name, detail, fix]),
      [
        [
          'master key',
          'the wrong key: the audit log of this database was written under another one',
          'set Security.MasterKey to the key of this database',
        ],
        [
          'audit log',
          'the hash chain of the audit log breaks at line 1: key_unknown',
          'set Security.MasterKey to the key of this database, followed by its former keys',
        ],
      ],
    );

    // As on a drill machine, where the secrets come from their own backup.
    renameSync(join(home, 'data/pglite-secrets'), join(home, 'kept'));
    const lost = await run('server restore-check pay.tar.gz --json');
    t.is(lost.code, 2);
    t.regex(lost.stderr, /Security\.MasterKey/);
    t.false(existsSync(join(home, 'data/pglite-secrets')), 'no secrets are created');
    const other = await run('server restore-check pay.tar.gz --secrets . --json');
    t.is(other.code, 2);

    // As documented, the backup is unpacked into an empty folder.
    mkdirSync(join(home, 'restored'), { mode: 0o700 });
    execFileSync('tar', ['-xzf', 'pay.tar.gz', '-C', 'restored'], { cwd: home });
    await done('server restore-check restored --secrets kept');
    const same = await run('server restore-check data/pglite --secrets kept');
    t.is(same.code, 6, same.stderr);
  },
);

test.serial('restore-check rejects a source that is not a copy, and a password on the command line', async (t) => {
  const home = temporaryFolder(t, { 'junk.tar.gz': 'no archive', 'folder/x': '' });
  const env = { PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64') };
  const run = async (...args: string[]) => {
    const { code, stderr } = await runPayctl(['server', 'restore-check', ...args, '--json'], { cwd: home, env });
    return [code, (JSON.parse(stderr.trim().split('\n').at(-1) ?? '{}') as { error: { code: string } }).error.code];
  };
  t.deepEqual(await run(), [2, 'usage']);
  t.deepEqual(await run('folder', '--live'), [2, 'usage']);
  t.deepEqual(await run('--live', '--migrate'), [2, 'usage']);
  t.deepEqual(await run('postgres://pay:hunter2@db/pay'), [2, 'secret_in_argument']);
  t.deepEqual(await run('postgres://pay:hun/ter2@db/pay'), [2, 'secret_in_argument']);
  t.deepEqual(await run('missing.tar.gz'), [1, 'copy_unreadable']);
  t.deepEqual(await run('folder'), [1, 'copy_unreadable']);
  t.deepEqual(await run('junk.tar.gz'), [1, 'copy_unreadable']);
  t.deepEqual(await run('postgres://db'), [1, 'copy_unreadable']);
  t.deepEqual(await run('postgres://nobody@127.0.0.1:9/pay'), [7, 'database_unavailable']);
});
