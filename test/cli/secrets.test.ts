import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { makePlace } from './payctl.ts';
import { problem } from './fakes/api.ts';
import { SECRET } from './fakes/rows.ts';

const CREATE = ['app', 'create', '--name', 'shop', '--scope', 'payment:read'];

test('app create without a safe output for the secret is exit 2 and creates nothing', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  for (const more of [[], ['-q'], ['-o', 'tsv'], ['-o', 'json', '--fields', 'client_id'], ['-o', 'name']]) {
    const { code, stderr } = await place.payctl([...CREATE, ...more]);
    t.is(code, 2, more.join(' '));
    t.regex(stderr, /--secret-file FILE, -o json or -o env|next: add/);
  }
  t.is(
    (await place.payctl([...CREATE, '-q'], { terminal: 100 })).code,
    2,
    'also on a terminal when only ids are printed',
  );
  t.deepEqual(place.api.seen, []);
});

test('--secret-file writes the complete secret with mode 0600, and the output does not contain it', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { code, stdout, stderr } = await place.payctl([
    ...CREATE,
    '--secret-file',
    'shop.secret',
    '--debug',
    '-o',
    'json',
  ]);
  t.is(code, 0);
  const file = join(place.folder, 'shop.secret');
  t.is(await readFile(file, 'utf8'), `${SECRET}\n`);
  t.is((await stat(file)).mode & 0o777, 0o600);
  t.false((stdout + stderr).includes(SECRET));
  t.is((await readdir(place.folder)).filter((name) => name.endsWith('.tmp')).length, 0);
});

test('an existing secret file is not overwritten, and no application is created', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  await writeFile(join(place.folder, 'shop.secret'), 'old');
  const { code } = await place.payctl([...CREATE, '--secret-file', 'shop.secret']);
  t.is(code, 2);
  t.is(await readFile(join(place.folder, 'shop.secret'), 'utf8'), 'old');
  t.deepEqual(place.api.seen, []);
  t.is((await place.payctl([...CREATE, '--secret-file', 'no/such/folder/x'])).code, 2);
  t.deepEqual(place.api.seen, []);
});

test('a refused creation leaves no secret file', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  place.api.on('POST /api/v1/api-apps', () => problem(400, 'invalid_request', 'No.'));
  t.is((await place.payctl([...CREATE, '--secret-file', 'shop.secret'])).code, 1);
  t.deepEqual((await readdir(place.folder)).toSorted(), ['contexts.json', 'credentials.json']);
});

test('-o json and -o env contain the secret; a terminal shows it in a box', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is(JSON.parse((await place.payctl([...CREATE, '--json'])).stdout).client_secret, SECRET);
  t.regex((await place.payctl([...CREATE, '-o', 'env'])).stdout, new RegExp(`^CLIENT_SECRET=${SECRET}$`, 'm'));
  const shown = await place.payctl(CREATE, { terminal: 100, env: { NO_COLOR: '1' } });
  t.regex(shown.stdout, new RegExp(`│ ${SECRET} +│`));
});

test('--password-stdin removes one line break and rejects an empty password', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const create = ['admin', 'create', '--username', 'bob', '--role', 'viewer', '--password-stdin'];
  t.is((await place.payctl(create, { stdin: ' spaces and\nlines \r\n' })).code, 0);
  t.like(place.api.seen.at(-1)?.body, { password: ' spaces and\nlines ' });
  t.is((await place.payctl(create, { stdin: '\n' })).code, 2);
  t.is((await place.payctl(create, { stdin: 'x\n', terminal: 80 })).code, 2, 'a terminal would show what is typed');
});

test('a byte order mark is removed from files and stdin; UTF-16 is rejected', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const login = ['login', '--server', place.api.url, '-u', 'alice'];
  const ways: [argv: string[], how: 'file' | 'stdin', path: string, body: object][] = [
    [
      [...login, '--password-file', 'in.txt'],
      'file',
      '/api/v1/login',
      { username: 'alice', password: 'correct horse' },
    ],
    [[...login, '--password-stdin'], 'stdin', '/api/v1/login', { username: 'alice', password: 'correct horse' }],
    [['api', '/api/v1/api-apps', '--input', 'in.txt'], 'file', '/api/v1/api-apps', { name: 'shop' }],
  ];
  for (const [argv, how, path, body] of ways) {
    const text = 'password' in body ? String(body.password) : JSON.stringify(body);
    const give = async (bytes: Buffer) => {
      place.api.seen.length = 0;
      await writeFile(join(place.folder, 'in.txt'), bytes);
      return place.payctl(argv, how === 'stdin' ? { stdin: bytes } : {});
    };
    t.is((await give(Buffer.from(`\ufeff${text}\r\n`))).code, 0, argv.join(' '));
    t.deepEqual(place.api.seen.find((seen) => seen.path === path)?.body, body, argv.join(' '));
    const wide = Buffer.from(`${text}\r\n`, 'utf16le');
    for (const bytes of [Buffer.concat([Buffer.from([0xff, 0xfe]), wide]), wide, Buffer.from([0xfe, 0xff, 0, 65])]) {
      const { code, stderr } = await give(bytes);
      t.is(code, 2, argv.join(' '));
      t.regex(stderr, new RegExp(`${how === 'file' ? 'in.txt' : 'stdin'} (is in|has zero bytes, as) UTF-16`));
      t.deepEqual(place.api.seen, []);
    }
  }
  for (const name of ['contexts.json', 'credentials.json']) {
    const file = join(place.folder, name);
    await writeFile(file, `\ufeff${await readFile(file, 'utf8')}`);
  }
  t.is((await place.payctl(['whoami', '-q'])).stdout, 'alice\n');
});

test('no flag accepts a secret, and payctl without a terminal does not prompt for a password', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  t.is((await place.payctl(['admin', 'create', '--username', 'bob', '--role', 'viewer', '--password', 'x'])).code, 2);
  const { code, stderr } = await place.payctl(['admin', 'create', '--username', 'bob', '--role', 'viewer']);
  t.is(code, 2);
  t.regex(stderr, /--password-stdin/);
});

test('--debug shows the traffic without a token, password or secret', async (t) => {
  const place = await makePlace();
  t.teardown(() => place.close());
  const { stderr } = await place.payctl(
    ['login', '--server', place.api.url, '-u', 'alice', '--password-stdin', '--debug'],
    { stdin: 'correct horse battery\n' },
  );
  t.regex(stderr, /> POST .*\/api\/v1\/login/);
  t.regex(stderr, /"password":"\*\*\*"/);
  t.regex(stderr, /"token":"\*\*\*"/);
  t.notRegex(stderr, /correct horse|eyJ/);
  const list = await place.payctl(['app', 'list', '--debug']);
  t.regex(list.stderr, /authorization: \*\*\*/);
  t.notRegex(list.stderr, /eyJ/);
});
