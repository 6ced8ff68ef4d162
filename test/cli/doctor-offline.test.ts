import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { emptiedAtBoot } from '../../cli/commands/doctor/offline.ts';
import { FakeFailure, fakeOffline } from './fakes/offline.ts';
import { runPayctl, type RunOptions } from './payctl.ts';
import { createDatabase } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { operatorAt } from './operator.ts';
import { placeOrder } from '../support/orders.ts';
import { startService, testEnvironment } from '../support/service.ts';

interface Finding {
  check: string;
  status: string;
  detail: string;
  fix: string | null;
}

async function examine(
  folder: string,
  env: Record<string, string>,
  options: RunOptions = {},
): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout } = await runPayctl(['doctor', '--offline', '--json'], {
    cwd: folder,
    now: () => new Date(),
    ...options,
    env: { PAYCTL_CONFIG_DIR: join(folder, 'payctl'), ...env },
  });
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

function sick(findings: readonly Finding[]): Finding[] {
  return findings.filter(({ status }) => status !== 'ok');
}

interface Planted {
  name: string;
  /** Overrides of the server's environment. */
  env?: Record<string, string>;
  /** SQL that plants the fault in the database. */
  sql?: string;
  found: { check: string; status: string; detail: RegExp; fix: RegExp };
}

const OTHER_KEY = Buffer.alloc(32, 9).toString('base64');
const KEY = Buffer.alloc(32, 7).toString('base64');

/** The settings that production requires, plus the explorer. */
const PRODUCTION = {
  NODE_ENV: 'production',
  PAY_DEBUG: 'false',
  PAY_JWT_SECRET_KEY: randomBytes(32).toString('base64'),
  PAY_SECURITY_MASTER_KEY: randomBytes(32).toString('base64'),
  PAY_SERVER_PUBLIC_URL: 'https://pay.example.com',
  PAY_EXPLORER_ENABLED: 'true',
  PAY_ADMIN_REQUIRE_SECOND_FACTOR: 'true',
};

/** Settings without a finding in production. */
const CLOSED = { PAY_EXPLORER_ENABLED: 'false', PAY_SERVER_ADMIN_NETWORKS: '10.0.0.0/8' };

const FAULTS: readonly Planted[] = [
  {
    name: 'a short secret',
    env: { PAY_JWT_SECRET_KEY: 'too-short' },
    found: {
      check: 'configuration',
      status: 'failed',
      detail: /^JWT\.SecretKey must be a string of at least 32 bytes$/,
      fix: /PAY_JWT_SECRET_KEY/,
    },
  },
  {
    name: 'Debug in production',
    env: { NODE_ENV: 'production' },
    found: {
      check: 'configuration',
      status: 'failed',
      detail: /^Debug must be false in production$/,
      fix: /^set Debug$/,
    },
  },
  {
    name: 'Debug on a public address',
    env: { PAY_SERVER_PUBLIC_URL: 'https://pay.example.com' },
    found: { check: 'debug', status: 'failed', detail: /publicly known secrets/, fix: /^set Debug = false$/ },
  },
  {
    name: 'an unreachable database',
    env: { PAY_DATABASE_URL: 'postgres://nobody@127.0.0.1:9/pay' },
    found: { check: 'database', status: 'failed', detail: /./, fix: /./ },
  },
  {
    name: 'a missing master key',
    env: { PAY_SECURITY_MASTER_KEY: OTHER_KEY },
    found: {
      check: 'master key',
      status: 'failed',
      detail: /^the wrong key: it decrypts 0 of [1-9]\d* encrypted records of this database$/,
      fix: /Security\.MasterKey/,
    },
  },
  {
    name: 'records under an older master key',
    env: { PAY_SECURITY_MASTER_KEY: `${OTHER_KEY},${KEY}` },
    found: { check: 'master key', status: 'degraded', detail: /older key$/, fix: /^payctl keys rotate$/ },
  },
  {
    name: 'a changed encrypted record',
    sql: `update certs set encrypted = regexp_replace(encrypted, '^(s1\\.[0-9a-f]{8})\\.....', '\\1.AAAA') where id = (select id from certs where encrypted is not null order by id limit 1)`,
    found: {
      check: 'sealed records',
      status: 'failed',
      detail: /^certs \S+ is damaged or was tampered with$/,
      fix: /payctl cert upload/,
    },
  },
  {
    name: 'a skill whose handler is never called',
    sql: `update products set resource = '{"handler":"http","url":"https://10.0.0.7/weather"}' where kind = 'skill'`,
    found: {
      check: 'skill demo',
      status: 'failed',
      detail: /private address/,
      fix: /^payctl product update demo/,
    },
  },
  {
    name: 'notifications that cannot arrive',
    sql: `update channel_configs set mode = 'sandbox' where pay_way = 'paypal'`,
    found: {
      check: 'notices',
      status: 'failed',
      detail: /^paypal cannot reach http:\/\/127\.0\.0\.1/,
      fix: /Server\.PublicUrl/,
    },
  },
  {
    name: 'the simulator without Debug',
    env: { PAY_DEBUG: 'false' },
    found: {
      check: 'alipay',
      status: 'degraded',
      detail: /^accepts no orders: mode is simulator/,
      fix: /^payctl channel set alipay$/,
    },
  },
  {
    name: 'a channel with an incomplete configuration',
    sql: `update channel_configs set missing = '{wechat_merchant_key}' where pay_way = 'wechat'`,
    found: {
      check: 'wechat',
      status: 'failed',
      detail: /^missing: wechat_merchant_key$/,
      fix: /^payctl cert upload FILE --kind wechat_merchant_key$/,
    },
  },
  {
    name: 'an expired certificate',
    sql: `update certs set not_after = now() - interval '2 days' where kind = 'wechat_merchant_cert'`,
    found: { check: 'wechat_merchant_cert', status: 'failed', detail: /has expired/, fix: /payctl cert upload/ },
  },
  {
    name: 'an overdue order',
    sql: `update orders set expires_at = now() - interval '2 hours'`,
    found: {
      check: 'orders',
      status: 'degraded',
      detail: /^1 open for more than an hour/,
      fix: /^payctl server start$/,
    },
  },
  {
    name: 'no enabled channel',
    sql: 'update channel_states set enabled = false',
    found: { check: 'channels', status: 'failed', detail: /no payment is possible/, fix: /^payctl channel set alipay/ },
  },
  {
    name: 'a public URL at another port of this machine',
    env: { PAY_SERVER_LISTEN: '127.0.0.1:9090', PAY_SERVER_PUBLIC_URL: 'http://127.0.0.1:8080' },
    found: {
      check: 'public url',
      status: 'degraded',
      detail: /listens on 127\.0\.0\.1:9090/,
      fix: /Server\.PublicUrl/,
    },
  },
  {
    name: 'a production console without network limits',
    env: { ...PRODUCTION, PAY_EXPLORER_ENABLED: 'false' },
    found: { check: 'console', status: 'degraded', detail: /every address/, fix: /Server\.AdminNetworks/ },
  },
  {
    name: 'the explorer in production',
    env: { ...PRODUCTION, PAY_SERVER_ADMIN_NETWORKS: '10.0.0.0/8' },
    found: { check: 'explorer', status: 'degraded', detail: /is on/, fix: /Explorer\.Enabled = false/ },
  },
  {
    name: 'administrators without a second factor in production',
    env: { ...PRODUCTION, ...CLOSED, PAY_ADMIN_REQUIRE_SECOND_FACTOR: 'false' },
    found: {
      check: 'second factors',
      status: 'degraded',
      detail: /^1 of 1 administrators has none, and none is required$/,
      fix: /^payctl second-factor enable\nThen set Admin\.RequireSecondFactor = true\.$/,
    },
  },
  {
    name: 'webhooks that do not arrive',
    sql: `insert into deliveries (id, event_id, client_id, target, url, state, attempts, last_status, created_at)
          values (gen_random_uuid(), 'evt_1', 'app_1', 'webhook', 'https://shop.example', 'pending', 3, 502, now())`,
    found: {
      check: 'webhooks',
      status: 'degraded',
      detail: /^app_1: 1 deliveries failed and are retried, 0 .* \(HTTP 502\)$/,
      fix: /^payctl app webhook deliveries app_1$/,
    },
  },
  {
    name: 'no administrator',
    sql: 'delete from admins',
    found: {
      check: 'administrators',
      status: 'failed',
      detail: /none/,
      fix: /^payctl bootstrap admin --username NAME$/,
    },
  },
];

test('doctor --offline finds each planted fault in a real database and its configuration', async (t) => {
  const service = await startService(t);
  await service.app.prepare();
  const { folder } = await operatorAt(t, service);
  await placeOrder(await service.merchant(), {});
  const database = service.app.database.em.fork();
  const run = (statement: string): Promise<unknown> => database.execute(statement);
  const healthy = await examine(folder, service.environment);
  t.deepEqual(sick(healthy.findings), []);
  t.is(healthy.code, 0);
  for (const { name, env = {}, sql, found } of FAULTS) {
    const undo = sql ? await plant(run, sql) : async () => {};
    const { code, findings } = await examine(folder, { ...service.environment, ...env });
    const finding = findings.find(({ check, status }) => check === found.check && status === found.status);
    t.regex(finding?.detail ?? '', found.detail, `${name}: ${JSON.stringify(findings)}`);
    t.regex(finding?.fix ?? '', found.fix, name);
    t.is(code, findings.some(({ status }) => status === 'failed') ? 1 : 0, name);
    t.false(JSON.stringify(findings).includes('too-short'), 'no secret value is printed');
    await undo();
  }
  t.deepEqual(sick((await examine(folder, service.environment)).findings), []);
  t.log(`${FAULTS.length} planted faults, each found with its fix`);
});

/** Changes the tables and returns a function that undoes the change. */
async function plant(run: (statement: string) => Promise<unknown>, sql: string): Promise<() => Promise<void>> {
  const tables = ['certs', 'channel_configs', 'channel_states', 'deliveries', 'orders', 'admins', 'products'];
  for (const table of tables) await run(`create table honest_${table} as table ${table}`);
  await run(sql);
  return async () => {
    for (const table of tables) {
      await run(`delete from ${table}`);
      await run(`insert into ${table} select * from honest_${table}`);
      await run(`drop table honest_${table}`);
    }
  };
}

test('doctor --offline reports pending migrations of an empty database', async (t) => {
  const { url, drop } = await createDatabase({ empty: true });
  t.teardown(drop);
  const { code, findings } = await examine(temporaryFolder(t), testEnvironment(url));
  t.is(code, 1);
  t.like(
    findings.find(({ check }) => check === 'schema'),
    { status: 'failed', detail: 'the database is empty', fix: 'payctl server migrate' },
  );
});

test('doctor --offline reports a missing database and does not create it', async (t) => {
  const folder = temporaryFolder(t);
  const { code, findings } = await examine(folder, {});
  t.is(code, 1);
  t.like(
    findings.find(({ check }) => check === 'database'),
    { status: 'failed', fix: 'payctl server migrate' },
  );
  t.deepEqual(await readdir(folder), []);
});

const CLOSED_FILE = /^chgrp [\w-]+ (\S+) && chmod g\+r \1$/;

test('a secret file that is missing or closed is named, with the command that gives it back', async (t) => {
  const folder = temporaryFolder(t, { 'secrets/master': 'x' });
  const env = { PAY_DATABASE_URL: 'postgres://pay@127.0.0.1:9/pay', PAY_SECURITY_MASTER_KEY_FILE: 'secrets/gone' };
  const gone = join(folder, 'secrets/gone');
  const jwt = { PAY_JWT_SECRET_KEY_FILE: join(folder, 'secrets/jwt') };
  const { findings } = await examine(folder, { ...env, ...jwt });
  const faults = findings.filter(({ check }) => check === 'configuration');
  t.deepEqual(faults.map(({ detail }) => detail).toSorted(), [
    `JWT.SecretKey names ${jwt.PAY_JWT_SECRET_KEY_FILE}, which does not exist`,
    `Security.MasterKey names ${gone}, which does not exist`,
  ]);
  const [ofJwt = '', ofMaster = ''] = faults.map(({ fix }) => fix ?? '').toSorted();
  t.regex(ofJwt, /^install -o root -g [\w-]+ -m 640 COPY \S+secrets\/(gone|jwt)\nThe file is missing\. COPY is/);
  t.true([ofJwt, ofMaster].some((fix) => fix.includes('a new key makes the stored channel secrets unreadable')));
  t.true([ofJwt, ofMaster].some((fix) => fix.includes('a new secret ends all logins')));
  const { code, stderr } = await runPayctl(['bootstrap', 'status'], { cwd: folder, env: { ...env, ...jwt } });
  t.is(code, 2);
  t.regex(stderr, /^ {2}next: install -o root -g [\w-]+ -m 640 COPY \S+$/m);

  const closed = join(folder, 'secrets/master');
  const fault = { key: 'Security.MasterKey', source: 'PAY_SECURITY_MASTER_KEY_FILE', message: 'is closed' };
  const broken = Object.assign(new Error('The configuration is invalid.'), {
    name: 'ConfigFaults',
    faults: [{ ...fault, file: { path: closed, code: 'EACCES' } }],
  });
  const openOffline = () => Promise.reject(broken);
  const [found] = sick((await examine(folder, {}, { openOffline })).findings);
  t.is(CLOSED_FILE.exec(found?.fix ?? '')?.[1], closed);
  const refused = await runPayctl(['bootstrap', 'status', '--json'], { openOffline });
  t.regex((JSON.parse(refused.stderr) as { error: { hint: string } }).error.hint, CLOSED_FILE);

  const unit = join(temporaryFolder(t, { 'pay.service': '[Service]\nUser=pay-of-the-service\n' }), 'pay.service');
  const installation = { config: join(folder, 'pay.toml'), unit, wrapper: join(folder, 'as-pay') };
  const stranger = await runPayctl(['bootstrap', 'status', '--json'], { openOffline, installation });
  t.is(
    (JSON.parse(stranger.stderr) as { error: { hint: string } }).error.hint,
    'cd / && runuser -u pay -- env $(systemctl show pay --property=Environment --value) payctl bootstrap status --json',
    'another user than that of the service gets no access to its secrets',
  );
  const mounted = { faults: [{ ...fault, file: { path: '/run/credentials/pay.service/master', code: 'ENOENT' } }] };
  const fails = () => Promise.reject(Object.assign(new Error('Invalid.'), { name: 'ConfigFaults', ...mounted }));
  const [lost] = sick((await examine(folder, {}, { openOffline: fails })).findings);
  t.regex(lost?.fix ?? '', /^check what mounts \/run\/credentials\/pay\.service\/master,/);
});

test('a secret in place of the path of its file is not printed', async (t) => {
  const folder = temporaryFolder(t);
  const secret = `/${randomBytes(32).toString('base64')}`;
  for (const value of [secret, secret.slice(1), `/${secret.replaceAll('/', '').slice(1)}`]) {
    const env = { PAY_DATABASE_URL: 'postgres://pay@127.0.0.1:9/pay', PAY_JWT_SECRET_KEY_FILE: value };
    const { stderr } = await runPayctl(['bootstrap', 'status'], { cwd: folder, env });
    t.regex(stderr, /JWT\.SecretKey: names a file that/);
    t.false(stderr.includes(value.slice(1, 12)), value);
  }
});

test('faults of the configuration file and of unknown variables have a fix that fits', async (t) => {
  const folder = temporaryFolder(t);
  const fixesOf = async (env: Record<string, string>) =>
    (await examine(folder, env)).findings.filter(({ check }) => check === 'configuration');
  t.like(await fixesOf({ PAY_CONFIG: '/nonexistent/pay.toml' }), [
    { detail: '/nonexistent/pay.toml does not exist', fix: 'correct --config or PAY_CONFIG' },
  ]);
  t.like(await fixesOf({ PAY_DATABSE_URL: 'x' }), [{ fix: 'remove PAY_DATABSE_URL from the environment' }]);
});

test('without saved logins doctor does not call their folder private', async (t) => {
  const folder = temporaryFolder(t);
  const { findings } = await examine(folder, {});
  const files = findings.find(({ check }) => check === 'files');
  t.like(files, { status: 'ok', detail: `none: ${join(folder, 'payctl')} does not exist` });
});

test('doctor --offline reports an embedded database that a running server has locked', async (t) => {
  const held = new FakeFailure('database_in_use', 409, 'It is in use by process 4711.', { pid: 4711 });
  const { code, findings } = await examine(temporaryFolder(t), {}, { openOffline: () => Promise.reject(held) });
  t.is(code, 1);
  t.regex(findings.find(({ check }) => check === 'database')?.detail ?? '', /in use by process 4711/);
});

for (const [name, variable] of [
  ['pay.toml', 'PAY_CONFIG'],
  ['jwt.secret', 'PAY_JWT_SECRET_KEY_FILE'],
] as const) {
  test(`doctor --offline reports a world-readable secret in ${name}`, async (t) => {
    const folder = temporaryFolder(t);
    const file = join(folder, name);
    await writeFile(file, '[JWT]\nSecretKey = "0123456789abcdef0123456789abcdef"\n');
    await chmod(file, 0o644);
    const look = (): Promise<Finding | undefined> => secretFiles(t, folder, { [variable]: name });
    t.like(await look(), { status: 'failed', fix: `chmod o= ${file}` });
    await chmod(file, 0o640);
    t.like(await look(), { status: 'ok', fix: null });
  });
}

test("doctor --offline reports a world-readable key of the database's client", async (t) => {
  const folder = temporaryFolder(t, { 'client.key': 'x' });
  const file = join(folder, 'client.key');
  await chmod(file, 0o644);
  const env = { PAY_DATABASE_URL: 'postgres://pay@db/pay?sslmode=verify-full&sslkey=client.key' };
  t.like(await secretFiles(t, folder, env), { status: 'failed', fix: `chmod o= ${file}` });
  await chmod(file, 0o600);
  t.like(await secretFiles(t, folder, env), { status: 'ok', fix: null });
});

test('doctor --offline warns of a secret in memory that no credential store put there', async (t) => {
  const folder = temporaryFolder(t, { master: 'x' });
  const file = join(folder, 'master');
  await chmod(file, 0o600);
  const env = { PAY_SECURITY_MASTER_KEY_FILE: 'master' };
  const inMemory = `/dev/sda1 / ext4 rw 0 0\ntmpfs ${folder} tmpfs rw 0 0\n`;
  t.like(
    await secretFiles(t, folder, env, inMemory),
    { status: 'ok' },
    'a mount of its own, as credential stores make',
  );
  const run = (path: string, mounts: string) => emptiedAtBoot(path, `/dev/sda1 / ext4 rw 0 0\n${mounts}`);
  const tmpfs = 'tmpfs /run tmpfs rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n';
  t.is(run('/run/secrets/master', tmpfs), '/run');
  t.is(run('/dev/shm/master', tmpfs), '/dev/shm');
  t.is(run('/run/user/1000/master', `${tmpfs}tmpfs /run/user/1000 tmpfs rw 0 0\n`), '/run/user/1000');
  t.is(run('/tmp/master', 'tmpfs /tmp tmpfs rw 0 0\n'), '/tmp');
  t.is(run('/tmp/master', ''), undefined, 'a /tmp on the disk');
  t.is(run('/etc/pay/secrets/master', tmpfs), undefined);
  t.is(run('/running/master', tmpfs), undefined);
  for (const mounted of ['/run/secrets', '/run/secrets/master', '/run/credentials/pay.service'])
    t.is(run(`${mounted}/master`, `${tmpfs}ramfs ${mounted} ramfs ro 0 0\n`), undefined, mounted);
  const shared = '/dev/shm';
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  if (!/^\S+ \/dev\/shm tmpfs /m.test(mounts)) return t.log('Not run: /dev/shm is no tmpfs here');
  const place = await mkdtemp(join(shared, 'pay-test-'));
  t.teardown(() => rm(place, { recursive: true }));
  const lost = join(place, 'master');
  await writeFile(lost, 'x', { mode: 0o600 });
  const where = { PAY_SECURITY_MASTER_KEY_FILE: lost };
  const found = await secretFiles(t, folder, where, mounts);
  t.like(found, { status: 'degraded' });
  t.regex(
    found?.detail ?? '',
    /is in memory \(\/dev\/shm\), which .* boot; without the master key every channel secret is lost$/,
  );
  const other = await secretFiles(t, folder, { PAY_JWT_SECRET_KEY_FILE: lost }, mounts);
  t.regex(other?.detail ?? '', /is in memory \(\/dev\/shm\), which is emptied at every boot$/);
  t.regex(found?.fix ?? '', /^move it to a disk, for example to \/etc\/pay\/secrets\/master\b/);
  const given = { ...where, CREDENTIALS_DIRECTORY: place };
  t.like(await secretFiles(t, folder, given, mounts), { status: 'ok' }, 'systemd without a mount of its own');
});

async function secretFiles(
  t: ExecutionContext,
  folder: string,
  env: Record<string, string>,
  mounts = '',
): Promise<Finding | undefined> {
  const { code, findings } = await examine(folder, env, {
    openOffline: async () => fakeOffline({ admins: ['alice'] }),
    readMounts: async () => mounts,
  });
  t.is(code, findings.some(({ status }) => status === 'failed') ? 1 : 0);
  return findings.find(({ check }) => check === 'secret files');
}

test('doctor --offline reports live channels without production safeguards or without HTTPS', async (t) => {
  const facts = { production: false, publicUrl: 'http://pay.example.com' };
  const { findings } = await examine(
    temporaryFolder(t),
    {},
    { openOffline: async () => fakeOffline({ admins: ['alice'], facts }) },
  );
  t.deepEqual(
    sick(findings).map(({ check, status }) => [check, status]),
    [
      ['production', 'degraded'],
      ['encryption', 'failed'],
    ],
  );
});
