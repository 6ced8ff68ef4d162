import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { Installation } from '../../cli/installation.ts';
import { fakeOffline } from './fakes/offline.ts';
import { type Result, type RunOptions, runPayctl } from './payctl.ts';
import { temporaryFolder } from '../support/folder.ts';

const FILES = { config: 'etc/pay.toml', unit: 'systemd/pay.service', wrapper: 'sbin/as-pay' } as const;
const TOML = '[Server]\nPublicUrl = "https://pay.shop.example"\n';

/** A machine with these files of an installed service, and an empty folder in which an operator runs commands. */
function machine(t: ExecutionContext, ...names: (keyof typeof FILES)[]) {
  const root = temporaryFolder(t, Object.fromEntries(names.map((name) => [FILES[name], TOML])));
  const cwd = temporaryFolder(t);
  const installation: Installation = {
    config: join(root, FILES.config),
    unit: join(root, FILES.unit),
    wrapper: join(root, FILES.wrapper),
  };
  const payctl = (line: string | string[], options: RunOptions = {}): Promise<Result> =>
    runPayctl(typeof line === 'string' ? line.split(' ') : line, {
      cwd,
      installation,
      ...options,
      env: { PAYCTL_CONFIG_DIR: join(root, 'payctl'), ...options.env },
    });
  return { cwd, installation, payctl };
}

function errorOf({ stderr }: Result): { code: string; hint: string; message: string } {
  return (JSON.parse(stderr.slice(stderr.indexOf('{'))) as { error: { code: string; hint: string; message: string } })
    .error;
}

const PASSWORD = { stdin: 'correct horse battery\n' };

const STRAY: readonly [line: string, next: string][] = [
  [
    'bootstrap admin -u root2 --password-file /root/other --migrate',
    'as-pay payctl bootstrap admin -u root2 --password-stdin --migrate --json < /root/other',
  ],
  ['bootstrap admin -u root2 --password-stdin', 'as-pay payctl bootstrap admin -u root2 --password-stdin --json'],
  ['bootstrap status', 'as-pay payctl bootstrap status --json'],
  ['server migrate', 'as-pay payctl server migrate --json'],
  ['server backup a.tar.gz', 'as-pay payctl server backup a.tar.gz --json'],
  ['server start', 'systemctl start pay'],
  ['server restore-check --live', 'as-pay payctl server restore-check --live --json'],
  ['server restore-check postgres://pay@%2Frun/x', 'as-pay payctl server restore-check postgres://pay@%2Frun/x --json'],
  ['keys rotate -y', 'as-pay payctl keys rotate -y --json'],
  ['doctor --offline', 'as-pay payctl doctor --offline --json'],
  ['cert distrust --offline -y', 'as-pay payctl cert distrust --offline -y --json'],
  [
    'admin reset-password admin --offline --password-stdin -y',
    'as-pay payctl admin reset-password admin --offline --password-stdin -y --json',
  ],
];

for (const [line, next] of STRAY)
  test(`beside an installed service, no other database is used: payctl ${line}`, async (t) => {
    for (const names of [
      ['unit', 'wrapper'],
      ['config', 'unit', 'wrapper'],
    ] as const) {
      const { cwd, installation, payctl } = machine(t, ...names);
      const result = await payctl(`${line} --json`, PASSWORD);
      t.is(result.code, 2, result.stderr);
      const { code, hint, message } = errorOf(result);
      t.is(code, 'database_not_named');
      t.is(hint.split('\n')[0], next);
      t.true(message.startsWith(names.length === 3 ? installation.config : installation.unit), message);
      t.true(message.includes(join(cwd, 'data/pglite')), message);
      t.deepEqual([result.stdout, readdirSync(cwd)], ['', []]);
    }
  });

test('a hint of an installed service can be pasted: paths, files and flags before the command', async (t) => {
  const { cwd, payctl } = machine(t, 'unit', 'wrapper');
  const hintOf = async (argv: string[]) => errorOf(await payctl([...argv, '--json'])).hint.split('\n');
  const [line, note] = await hintOf(['bootstrap', 'admin', '-u', 'a', '--password-file', "/root/my 'pw'", '-q']);
  t.is(line, `as-pay payctl bootstrap admin -u a --password-stdin -q --json < '/root/my '\\''pw'\\'''`);
  t.regex(note ?? '', /^PAY_DATABASE_URL=/);
  t.regex(
    (await hintOf(['bootstrap', 'admin', '-u', 'a', '--password-file', 'pw']))[0] ?? '',
    new RegExp(`< ${cwd}/pw$`),
  );
  t.is((await hintOf(['-C', 'main', 'server', 'start']))[0], 'systemctl start pay');
  const files = await hintOf(['server', 'backup', 'a.tar.gz']);
  t.regex(files[1] ?? '', /^The command runs in \/ as the user of the service/);
});

test('a run that names another configuration or database is not about the installed service', async (t) => {
  const { installation, payctl } = machine(t, 'config', 'unit', 'wrapper');
  const status = async (line: string, env: Record<string, string> = {}) =>
    (await payctl(`bootstrap status${line}`, { env, openOffline: async () => fakeOffline({ admins: [] }) })).stderr;
  const other = 'Next: payctl bootstrap admin --username NAME';
  const installed = 'Next: as-pay payctl bootstrap admin --username NAME';
  t.true((await status('')).includes(installed));
  t.true((await status(` --config ${installation.config}`)).includes(installed));
  t.true((await status('', { PAY_CONFIG: installation.config })).includes(installed));
  t.true((await status(' --config staging.toml')).includes(other));
  t.true((await status(' --config=staging.toml')).includes(other));
  for (const name of ['PAY_CONFIG', 'PAY_DATABASE_URL', 'PAY_DATABASE_URL_FILE'])
    t.true((await status('', { [name]: '/srv/staging' })).includes(other), name);
});

test('the unit itself may use the embedded database of its folder', async (t) => {
  const { payctl } = machine(t, 'unit');
  const env = { SYSTEMD_EXEC_PID: String(process.pid) };
  const { stdout } = await payctl('doctor --offline --json', { env });
  t.regex(stdout, /The database \S+ does not exist yet\./);
});

test('without the wrapper or the unit the hint names what is there', async (t) => {
  const unit = machine(t, 'unit');
  t.is(
    errorOf(await unit.payctl('bootstrap status --json')).hint.split('\n')[0],
    'cd / && runuser -u pay -- env $(systemctl show pay --property=Environment --value) payctl bootstrap status --json',
  );
  const config = machine(t, 'config');
  for (const line of ['bootstrap status', 'server start'])
    t.is(
      errorOf(await config.payctl(`${line} --json`)).hint.split('\n')[0],
      `payctl ${line} --json --config ${config.installation.config}`,
    );
});

test('beside an installed service, a database that is named is used', async (t) => {
  const { cwd, payctl } = machine(t, 'config', 'unit', 'wrapper');
  const other = temporaryFolder(t, { 'pay.toml': '[Log]\nLevel = "silent"\n', 'config/local.toml': '' });
  const folder = join(other, 'data/pglite');
  // A database that does not exist is reported, which means that this one was to be opened.
  const opens = async (line: string, options: RunOptions) => {
    const { stdout, code } = await payctl(`doctor --offline --json${line}`, options);
    const [database] = (JSON.parse(stdout) as { check: string; detail: string }[]).filter(
      ({ check }) => check === 'database',
    );
    t.is(code, 1);
    return database?.detail;
  };
  const missing = (path: string) => `The database ${path} does not exist yet.`;
  t.is(await opens('', { env: { PAY_DATABASE_URL: 'pglite://./db' } }), missing(join(cwd, 'db')));
  t.is(await opens('', { env: { PAY_CONFIG: join(other, 'pay.toml') } }), missing(join(cwd, 'data/pglite')));
  t.is(await opens(` --config ${join(other, 'pay.toml')}`, { cwd: other }), missing(folder));
  const refused = await payctl('doctor --offline --json', { cwd: other });
  t.is(errorOf(refused).code, 'database_not_named', 'config/local.toml names none');
  t.false(existsSync(folder));
  const bare = machine(t);
  const { stdout } = await bare.payctl('doctor --offline --json');
  t.true(stdout.includes(missing(join(bare.cwd, 'data/pglite'))), 'nothing is installed');
});

test('faults of the configuration are reported before a database that is not named', async (t) => {
  const { payctl } = machine(t, 'unit');
  const { code, message } = errorOf(await payctl('bootstrap status --json', { env: { PAY_DATABSE_URL: 'x' } }));
  t.is(code, 'config_invalid');
  t.regex(message, /PAY_DATABSE_URL: unknown environment variable/);
});

const GONE = 'http://127.0.0.1:9';

test('an installed service that does not answer: its state and its log', async (t) => {
  const { payctl } = machine(t, 'config', 'unit');
  const hint = `systemctl status pay\nIts log: journalctl -u pay -n 50\nIf ${GONE} is the wrong address, add --server URL.`;
  t.is(errorOf(await payctl(`status --json --server ${GONE}`)).hint, hint);
  const { stdout } = await payctl(`doctor --json --server ${GONE}`);
  const findings = JSON.parse(stdout) as { check: string; fix: string }[];
  t.is(findings.find(({ check }) => check === 'service')?.fix, hint);
  const remote = errorOf(await payctl('status --json --server http://pay.invalid'));
  t.regex(remote.hint, /^payctl server start\nOn the machine of the service\./);
});

test('the public URL of the installed service is this machine, too', async (t) => {
  const { installation, payctl } = machine(t, 'unit');
  const env = { PAYCTL_SERVER: 'http://pay.invalid' };
  t.regex(errorOf(await payctl('status --json', { env })).hint, /^payctl server start\n/);
  const known = temporaryFolder(t, { 'pay.toml': '[Server]\nPublicUrl = "http://pay.invalid"\n' });
  const options = { env, installation: { ...installation, config: join(known, 'pay.toml') } };
  t.regex(errorOf(await payctl('status --json', options)).hint, /^systemctl status pay\n/);
});

test('the quick start is advised with Debug, where its simulator or its checkout is', async (t) => {
  const checkout = temporaryFolder(t, { 'bin/payctl.ts': '', 'config/default.toml': '' });
  const used = temporaryFolder(t, { 'data/simulator/keys.json': '' });
  const next = async (cwd: string, env: Record<string, string> = {}) =>
    errorOf(await machine(t).payctl(`status --json --server ${GONE}`, { cwd, env })).hint.split('\n');
  const sentence = `Without PAY_DEBUG=true the service trusts no key of the simulator. If ${GONE} is the wrong address, add --server URL.`;
  t.deepEqual(await next(checkout), ['PAY_DEBUG=true npm start', sentence]);
  t.deepEqual(await next(used), ['PAY_DEBUG=true payctl server start', sentence]);
  for (const name of ['PAY_CONFIG', 'PAY_DATABASE_URL', 'PAY_DATABASE_URL_FILE'])
    t.is((await next(checkout, { [name]: 'x' }))[0], 'payctl server start', name);
  const own = temporaryFolder(t, { 'bin/payctl.ts': '', 'config/default.toml': '', 'config/local.toml': '' });
  t.is((await next(own))[0], 'payctl server start');
  const installed = machine(t, 'unit');
  const hint = errorOf(await installed.payctl(`status --json --server ${GONE}`, { cwd: checkout })).hint;
  t.regex(hint, /^systemctl status pay\n/, 'the unit comes first');
});

test('hints name the commands of an installed service: its wrapper and its unit', async (t) => {
  const { payctl } = machine(t, 'config', 'unit', 'wrapper');
  const twice = await payctl('bootstrap admin -u alice --password-stdin --json', {
    ...PASSWORD,
    openOffline: async () => fakeOffline({ admins: ['alice'] }),
  });
  t.is(errorOf(twice).hint, 'payctl login\nIf the password is lost: as-pay payctl admin reset-password NAME --offline');
  const findings = async (facts: object) => {
    const database = fakeOffline({ admins: ['alice'] });
    const found = { ...(await database.examine()), ...facts };
    const { stdout } = await payctl('doctor --offline --json', {
      openOffline: async () => ({ ...database, examine: async () => found }),
    });
    return JSON.parse(stdout) as { check: string; fix: string | null }[];
  };
  const fixOf = async (check: string, facts: object) =>
    (await findings(facts)).find((finding) => finding.check === check)?.fix;
  t.is(await fixOf('orders', { overdueOrders: 2 }), 'systemctl restart pay');
  t.is(
    await fixOf('master key', { encrypted: { total: 3, underOldKeys: 1, broken: [] } }),
    'as-pay payctl keys rotate',
  );
  const bare = await machine(t).payctl('bootstrap admin -u alice --password-stdin --json', {
    ...PASSWORD,
    openOffline: async () => fakeOffline({ admins: ['alice'] }),
  });
  t.is(errorOf(bare).hint, 'payctl login\nIf the password is lost: payctl admin reset-password NAME --offline');
});
