import { createHash } from 'node:crypto';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import test from 'ava';
import type { Question } from '../../cli/prompts.ts';
import { makePlace, type RunOptions, scripted } from './payctl.ts';
import { FakeFailure, type FakeOffline, fakeOffline } from './fakes/offline.ts';

const ADMIN = ['bootstrap', 'admin', '--username', 'alice', '--password-stdin'];
const PASSWORD = { stdin: 'correct horse battery\n' };

test('bootstrap admin names the database and creates the first administrator', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const database = fakeOffline();
  const { code, stdout, stderr } = await place.payctl([...ADMIN, '--json'], {
    ...PASSWORD,
    openOffline: async () => database,
  });
  t.is(code, 0, stderr);
  t.like(JSON.parse(stdout), { username: 'alice', changed: true });
  t.deepEqual(database.admins, [{ username: 'alice', password: 'correct horse battery' }]);
  t.is(database.closed, 1);
  const told = await place.payctl(['bootstrap', 'admin', '--username', 'bob', '--password-stdin'], {
    ...PASSWORD,
    openOffline: async () => fakeOffline(),
  });
  t.regex(
    told.stderr,
    /^database {2}embedded {2}\/srv\/pay\/data\/pglite {2}pay {2}\(schema 0001_begin, 0 administrators\)/,
  );
});

test('a second bootstrap admin is exit 6, or exit 0 with { "changed": false } under --if-none', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const database = fakeOffline({ admins: ['alice'] });
  t.is((await place.payctl(ADMIN, { ...PASSWORD, openOffline: async () => database })).code, 6);
  const again = await place.payctl([...ADMIN, '--if-none', '--json'], {
    ...PASSWORD,
    openOffline: async () => database,
  });
  t.is(again.code, 0);
  t.deepEqual(JSON.parse(again.stdout), { changed: false });
  t.is(database.admins[0]?.password, 'before');
});

test('a bootstrap admin that loses the race in the transaction is exit 6', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const lost = {
    ...fakeOffline(),
    createFirstAdmin: async () => Promise.reject(new FakeFailure('already_bootstrapped', 409, 'Too late.')),
  };
  t.is((await place.payctl(ADMIN, { ...PASSWORD, openOffline: async () => lost })).code, 6);
  t.is((await place.payctl([...ADMIN, '--if-none'], { ...PASSWORD, openOffline: async () => lost })).code, 0);
});

/** Prompts on a terminal; records the question about the name that payers see, and gives this answer. */
function answering(merchantName: string) {
  const asked: Question[] = [];
  const prompts = scripted({ '--username': 'alice' }, 'correct horse battery');
  const { text } = prompts;
  prompts.text = async (question) => {
    if (question.flag !== '--merchant-name') return text(question);
    asked.push(question);
    return merchantName;
  };
  return { asked, prompts };
}

test('bootstrap admin prompts for the name that payers see if it prompts anyway, and proposes the host', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const run = async (database: FakeOffline, argv: string[], answer: string) => {
    const { asked, prompts } = answering(answer);
    const { code, stdout, stderr } = await place.payctl(['bootstrap', 'admin', ...argv, '--json'], {
      prompts,
      openOffline: async () => database,
    });
    t.is(code, 0, stderr);
    return { asked, printed: JSON.parse(stdout) as object };
  };
  const production = fakeOffline({ merchant: { name: null, proposed: 'pay.shop.example' } });
  const { asked, printed } = await run(production, ['--username', 'alice'], 'Blue Door');
  t.is(asked.length, 1);
  const [question] = asked;
  t.is(question?.default, 'pay.shop.example');
  t.is(question?.validate?.('Blue Door'), true);
  t.is(question?.validate?.(''), true);
  t.is(question?.validate?.('x'.repeat(129)), 'The name must have 1 to 128 characters.');
  t.is(production.merchantName, 'Blue Door');
  t.like(printed, { username: 'alice', merchantName: 'Blue Door', changed: true });

  const unnamed = fakeOffline();
  const blank = await run(unnamed, [], ' ');
  t.deepEqual(
    blank.asked.map(({ message, default: proposed }) => [message, proposed]),
    [['Name that payers see on the payment page (may be empty)', undefined]],
  );
  t.is(unnamed.merchantName, null);
  t.false('merchantName' in blank.printed);

  const named = fakeOffline({ merchant: { name: 'Blue Door' } });
  t.is((await run(named, [], 'Red Door')).asked.length, 0, 'it has a name');
  t.is(named.merchantName, 'Blue Door');
  const generated = fakeOffline();
  const argv = ['--username', 'alice', '--generate', '--secret-file', 'alice.password'];
  t.is((await run(generated, argv, 'Blue Door')).asked.length, 0, 'all values are given');
  t.is(generated.merchantName, null);
});

test('--merchant-name sets the name that payers see, and without it a script changes no name', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const run = async (database: FakeOffline, ...more: string[]) =>
    place.payctl([...ADMIN, '--json', ...more], { ...PASSWORD, openOffline: async () => database });
  const database = fakeOffline();
  const refused = await run(database, '--merchant-name', '');
  t.is(refused.code, 2);
  t.regex(refused.stderr, /--merchant-name must have 1 to 128 characters/);
  t.like(JSON.parse((await run(database, '--merchant-name', 'Blue Door', '--dry-run')).stdout), {
    dryRun: true,
    merchantName: 'Blue Door',
  });
  t.deepEqual([database.admins, database.merchantName], [[], null]);
  t.is((await run(database, '--merchant-name', 'Blue Door')).code, 0);
  t.is(database.merchantName, 'Blue Door');
  t.is((await run(database, '--merchant-name', 'Red Door', '--if-none')).code, 0);
  t.is(database.merchantName, 'Blue Door');
  const silent = fakeOffline();
  t.is((await run(silent)).code, 0);
  t.is(silent.merchantName, null);
});

test('an outdated schema is migrated only with --migrate or after confirmation', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const database = fakeOffline({ version: null, pending: 2 });
  const refused = await place.payctl(ADMIN, { ...PASSWORD, openOffline: async () => database });
  t.is(refused.code, 2);
  t.regex(refused.stderr, /not up to date \(empty\); nothing was written[\s\S]*--migrate/);
  t.is(database.migrated, 0);
  const no = await place.payctl(['bootstrap', 'admin', '--username', 'a'], {
    prompts: scripted({ '--migrate': false }),
    openOffline: async () => database,
  });
  t.is(no.code, 2);
  t.is((await place.payctl([...ADMIN, '--migrate'], { ...PASSWORD, openOffline: async () => database })).code, 0);
  t.is(database.migrated, 1);
});

test('server migrate reports the applied migrations; a failed output reports that the change was made', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const migrate = (options: RunOptions = {}) => {
    const database = fakeOffline({ version: '0001_begin', pending: 2 });
    return place.payctl(['server', 'migrate', '--json'], { ...options, openOffline: async () => database });
  };
  const { code, stdout } = await migrate();
  t.is(code, 0);
  t.like(JSON.parse(stdout), { version: '0002_next', pending: 0, applied: ['0001', '0002'] });
  const full = new Writable({ write: (_chunk, _encoding, done) => done(new Error('no space left on device')) });
  const lost = await migrate({ stdout: full as unknown as RunOptions['stdout'] });
  t.is(lost.code, 1);
  t.regex(lost.stderr, /The change was made: migrate the database/);
});

test('a database locked by a server is exit 7 with the process id and the steps to take', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const words = 'The embedded database /data is in use by process 4711 on host a.';
  const held = async () => Promise.reject(new FakeFailure('database_in_use', 503, words, { pid: 4711, host: 'a' }));
  const { code, stderr } = await place.payctl(ADMIN, { ...PASSWORD, openOffline: held });
  t.is(code, 7);
  t.regex(stderr, /in use by process 4711 on host a/);
  t.regex(stderr, /stop the server, rerun this command, then start the server/);
});

test('a full disk of the database is exit 7 and is named in the error', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const words = 'could not extend file "base/1/2": No space left on device';
  const full = async () => Promise.reject(new FakeFailure('53100', 0, words));
  const { code, stderr } = await place.payctl(ADMIN, { ...PASSWORD, openOffline: full });
  t.is(code, 7);
  t.regex(stderr, /disk of the database is full: could not extend file/);
});

test('a database that lacks resources is exit 7, and is not reported as a full disk', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  for (const state of ['53000', '53200', '53400']) {
    const poor = async () => Promise.reject(new FakeFailure(state, 0, 'temporary file size exceeds temp_file_limit'));
    const { code, stderr } = await place.payctl(ADMIN, { ...PASSWORD, openOffline: poor });
    t.is(code, 7, state);
    t.regex(stderr, /The database lacks resources: temporary file size exceeds temp_file_limit\./);
    t.notRegex(stderr, /disk/);
  }
});

test('a generated password requires a secret file or a safe output', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const generate = ['bootstrap', 'admin', '--username', 'alice', '--generate'];
  const database = fakeOffline();
  t.is((await place.payctl(generate, { openOffline: async () => database })).code, 2);
  t.deepEqual(database.admins, []);
  t.is((await place.payctl([...generate, '--secret-file', 'pw'], { openOffline: async () => database })).code, 0);
  t.is(await readFile(join(place.folder, 'pw'), 'utf8'), `${database.admins[0]?.password}\n`);
  t.true((database.admins[0]?.password.length ?? 0) >= 32);
});

test('bootstrap app with an existing name is exit 6 or { "changed": false }, and leaves no secret file', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const app = ['bootstrap', 'app', '--name', 'shop', '--scope', 'payment:read', '--secret-file', 'shop.secret'];
  const database = fakeOffline({ apps: ['shop'] });
  t.is((await place.payctl(app, { openOffline: async () => database })).code, 6);
  const again = await place.payctl([...app, '--if-none', '--json'], { openOffline: async () => database });
  t.deepEqual(JSON.parse(again.stdout), { changed: false });
  t.deepEqual((await readdir(place.folder)).toSorted(), ['contexts.json', 'credentials.json']);
});

const PLAN =
  '[admin]\nusername = "alice"\npassword_file = "alice.pw"\n\n[[app]]\nname = "shop"\nscopes = ["payment:read"]\nsecret_file = "shop.secret"\n';

test('a second bootstrap apply of the same plan changes nothing', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 'alice.pw'), 'correct horse battery\n');
  await writeFile(join(place.folder, 'plan.toml'), PLAN);
  const database = fakeOffline();
  const apply = ['bootstrap', 'apply', '-f', 'plan.toml', '--json'];
  const first = await place.payctl(apply, { openOffline: async () => database });
  t.is(first.code, 0, first.stderr);
  t.false(first.stdout.includes('pays_'));
  t.regex(await readFile(join(place.folder, 'shop.secret'), 'utf8'), /^pays_/);
  const second = await place.payctl(apply, { openOffline: async () => database });
  t.is(second.code, 0, second.stderr);
  t.like(JSON.parse(second.stdout), { changed: false });
});

test('bootstrap apply names the project that payers see', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const database = fakeOffline();
  const apply = async (text: string) => {
    await writeFile(join(place.folder, 'plan.toml'), text);
    return place.payctl(['bootstrap', 'apply', '-f', 'plan.toml', '--json'], { openOffline: async () => database });
  };
  const first = await apply('[[project]]\ncode = "default"\nname = "Blue Door"\n');
  t.is(first.code, 0, first.stderr);
  t.like(JSON.parse(first.stdout), { changed: true, projects: [{ code: 'default', changed: true }] });
  t.is(database.merchantName, 'Blue Door');
  for (const [text, why] of [
    ['[project]\ncode = "default"\n', /projects must be written as \[\[project\]\]/],
    ['[[project]]\ncode = "default"\n', /project 1: code and name are required/],
    ['[[project]]\ncode = "default"\ntitle = "Blue Door"\n', /project 1: unknown key .+title/],
  ] as const) {
    const { code, stderr } = await apply(text);
    t.is(code, 2);
    t.regex(stderr, why);
  }
});

test('applications of the same name in two projects each get their secret, although one exists already', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const app = (project: string) =>
    `[[app]]\nname = "shop"\nproject = "${project}"\nscopes = ["payment:read"]\nsecret_file = "${project}.secret"\n`;
  const database = fakeOffline();
  const apply = async (...projects: string[]) => {
    await writeFile(join(place.folder, 'plan.toml'), projects.map(app).join('\n'));
    return place.payctl(['bootstrap', 'apply', '-f', 'plan.toml', '--json'], { openOffline: async () => database });
  };
  t.is((await apply('blue')).code, 0);
  const { code, stdout, stderr } = await apply('blue', 'default', 'green');
  t.is(code, 0, stderr);
  const files = (JSON.parse(stdout) as { apps: { secretFile: string | null }[] }).apps.map((one) => one.secretFile);
  t.deepEqual(files, [null, 'default.secret', 'green.secret']);
  for (const name of files.slice(1)) t.regex(await readFile(join(place.folder, name!), 'utf8'), /^pays_/);
});

test('bootstrap apply rejects unknown keys and an existing secret file before it writes', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 'alice.pw'), 'correct horse battery\n');
  await writeFile(join(place.folder, 'plan.toml'), PLAN.replace('secret_file', 'password = "x"\nsecret_file'));
  const database = fakeOffline();
  const apply = ['bootstrap', 'apply', '-f', 'plan.toml'];
  const unknown = await place.payctl(apply, { openOffline: async () => database });
  t.is(unknown.code, 2);
  t.regex(unknown.stderr, /unknown key "password"/);
  await writeFile(join(place.folder, 'plan.toml'), PLAN);
  await writeFile(join(place.folder, 'shop.secret'), 'old');
  t.is((await place.payctl(apply, { openOffline: async () => database })).code, 2);
  t.deepEqual(database.admins, []);
});

test('keys id prints the ids of the keys in files, without the database and without the keys', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const [young, old] = [3, 4].map((byte) => Buffer.alloc(32, byte).toString('base64'));
  await writeFile(join(place.folder, 'both.key'), `${young},${old}\n`);
  await writeFile(join(place.folder, 'old.key'), `${old}\n`);
  await writeFile(join(place.folder, 'shop.secret'), 'pays_0123456789\n');
  const idOf = (key = '') => createHash('sha256').update(Buffer.from(key, 'base64')).digest('hex').slice(0, 8);
  const { code, stdout, stderr } = await place.payctl(['keys', 'id', 'both.key', 'old.key', '--json']);
  t.is(code, 0, stderr);
  t.deepEqual(JSON.parse(stdout), [
    { keyId: idOf(young), file: 'both.key' },
    { keyId: idOf(old), file: 'both.key' },
    { keyId: idOf(old), file: 'old.key' },
  ]);
  const wrong = await place.payctl(['keys', 'id', 'shop.secret']);
  t.is(wrong.code, 2);
  t.regex(wrong.stderr, /shop\.secret contains no master key/);
  t.false(wrong.stderr.includes('pays_'));
  t.deepEqual(place.api.seen, []);
});

test('admin resets and cert distrust --offline, keys rotate, server migrate and backup run against the database', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const database = fakeOffline({ admins: ['alice'] });
  const openOffline = async () => database;
  t.is(
    (
      await place.payctl(['admin', 'reset-password', 'alice', '--offline', '--password-stdin', '-y'], {
        ...PASSWORD,
        openOffline,
      })
    ).code,
    0,
  );
  t.is(database.admins[0]?.password, 'correct horse battery');
  const reset = ['admin', 'reset-second-factor', 'alice', '--offline', '--json'];
  t.is((await place.payctl([...reset, '--dry-run'], { openOffline })).code, 0);
  t.is((await place.payctl(reset, { openOffline })).code, 2, 'it has to be confirmed');
  t.deepEqual(database.reset, []);
  const done = await place.payctl([...reset, '-y'], { openOffline });
  t.like(JSON.parse(done.stdout), { username: 'alice' });
  t.deepEqual(database.reset, ['alice']);
  t.deepEqual(JSON.parse((await place.payctl(['keys', 'rotate', '-y', '--json'], { openOffline })).stdout), {
    keyId: 'ab12cd34',
    rewrapped: 3,
  });
  t.is((await place.payctl(['keys', 'rotate'], { openOffline })).code, 2);
  database.distrusted.push({
    id: 'cert_9',
    project: 'default',
    payWay: 'alipay',
    kind: 'alipay_public_key',
    mode: 'simulator',
    trusted: false,
  });
  const distrust = ['cert', 'distrust', '--offline', '--json'];
  t.is((await place.payctl(distrust, { openOffline })).code, 2, 'it has to be confirmed');
  t.like(JSON.parse((await place.payctl([...distrust, '-y'], { openOffline })).stdout), [{ id: 'cert_9' }]);
  for (const wrong of [
    ['cert', 'distrust', '-y'],
    ['cert', 'distrust', 'cert_9', '--offline', '-y'],
  ])
    t.is((await place.payctl(wrong, { openOffline })).code, 2, 'either an id or --offline is required');
  t.is((await place.payctl(['server', 'migrate', '--json'], { openOffline })).code, 0);
  t.is((await place.payctl(['server', 'backup', 'copy.tar', '--json'], { openOffline })).code, 0);
  t.is(
    (await place.payctl(['server', 'backup', 'contexts.json'], { openOffline })).code,
    2,
    'an existing file is not overwritten',
  );
});

test('configuration errors are usage errors, one line each', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const faults = Object.assign(new Error('The configuration is invalid (1 error):\n  Debugg: unknown key'), {
    name: 'ConfigFaults',
  });
  const { code, stderr } = await place.payctl(['bootstrap', 'status'], {
    openOffline: async () => Promise.reject(faults),
  });
  t.is(code, 2);
  t.regex(stderr, /\(1 error\):\n {2}Debugg: unknown key\n/);
});
