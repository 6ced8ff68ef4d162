import { type ChildProcess, execFile, spawn, type SpawnOptions } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import type { Command } from 'commander';
import { commandPath } from '../../cli/program.ts';
import { examplesOf } from '../../cli/options.ts';
import { createPrompts } from '../../cli/prompts.ts';
import { redact } from '../../cli/http.ts';
import { createTerminal, type Streams } from '../../cli/terminal.ts';
import { bundled } from '../support/built.ts';
import { collector, makePlace, type Place, type Result, type RunOptions } from './payctl.ts';
import { leaves, program, runExample, stageExample, type Stage } from './examples.ts';
import { TOKEN, problem } from './fakes/api.ts';
import { fakeOffline, type FakeOffline } from './fakes/offline.ts';
import { SECRET, HOOK_SECRET, webhookRow } from './fakes/rows.ts';
import type { LimitedResult, LimitedRun } from './limited-main.ts';

const BIN = await bundled(fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url)));
const LIMITED = fileURLToPath(new URL('./limited-main.ts', import.meta.url));
const FULL = /no space left on device/;

const nobody = createPrompts(
  createTerminal({ stdin: process.stdin, stdout: collector().stream, stderr: collector().stream, env: {}, cwd: '/' }),
);

/** Commands that print nothing on stdout. */
const SILENT: ReadonlyMap<string, string> = new Map([['payctl server start', 'the logs are the service’s own']]);

/** Stdin that a command needs and its examples do not show. */
const STDIN: ReadonlyMap<string, string> = new Map([
  [
    'payctl mcp',
    `${JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    })}\n`,
  ],
]);

/** A stdout over a descriptor; Node.js reports a short write only on the next write. */
function outputOn(path: string, t: ExecutionContext): Streams['stdout'] {
  const fd = openSync(path, 'w');
  t.teardown(() => closeSync(fd));
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      try {
        writeSync(fd, chunk);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  return Object.assign(stream, { fd });
}

interface Line {
  line: string;
  more: string[];
  normal: Result;
}

/** The first example that succeeds and prints without prompts. */
async function printing(t: ExecutionContext, command: Command, options: RunOptions): Promise<Line | undefined> {
  for (const line of examplesOf(command))
    for (const more of [[], ['-y'], ['-o', 'json'], ['-y', '-o', 'json']]) {
      const normal = await runExample(t, line, more, options);
      if (normal.code === 0 && normal.stdout !== '') return { line, more, normal };
    }
  return undefined;
}

const found = new Map<string, Line>();

for (const command of leaves(program)) {
  const path = commandPath(command);
  test.serial(`a full stdout is reported with exit 1: ${path}`, async (t) => {
    const options: RunOptions = {
      prompts: nobody,
      runSimulator: async (_options, onReady) => onReady('http://127.0.0.1:8081'),
      ...(STDIN.has(path) && { stdin: STDIN.get(path)! }),
    };
    const one = await printing(t, command, options);
    t.is(
      one === undefined,
      SILENT.has(path),
      `${path} prints on a normal stdout, or is listed in SILENT with the reason`,
    );
    if (!one) return;
    found.set(path, one);
    const { code, stderr } = await runExample(t, one.line, one.more, { ...options, stdout: outputOn('/dev/full', t) });
    t.is(code, 1, `${one.line} ${one.more.join(' ')}\n${stderr}`);
    t.regex(stderr, FULL);
    t.notRegex(stderr, /Exported/);
  });
}

/** Commands that need a database or run a service; their own tests run them as processes. */
const NEEDS_A_SERVER = /^payctl (bootstrap|server|keys|simulator start|mcp)\b| --offline/;

function environmentOf({ place }: Pick<Stage, 'place'>): Record<string, string | undefined> {
  return {
    PATH: process.env['PATH'],
    PAYCTL_CONFIG_DIR: place.folder,
    PAYCTL_SIMULATOR: place.api.url,
    PAYCTL_SERVER: place.api.url,
    PAYCTL_TOKEN: TOKEN,
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] || join(tmpdir(), 'payctl-test-cache'),
  };
}

/** Runs a Node.js program under `ulimit -f` in blocks: simulates a full disk without root. */
function startLimited(limit: string | undefined, argv: readonly string[], options: SpawnOptions): ChildProcess {
  const command = limit === undefined ? 'exec "$@"' : `ulimit -f ${limit} && exec "$@"`;
  return spawn('sh', ['-c', command, 'sh', process.execPath, ...argv], options);
}

function payctlOn(
  fd: number,
  stage: Stage,
  { limit, env = {} }: { limit?: string; env?: Record<string, string> } = {},
): Promise<{ code: number | null; stderr: string }> {
  const child = startLimited(limit, [BIN, ...stage.argv], {
    cwd: stage.cwd,
    stdio: ['pipe', fd, 'pipe'],
    env: { ...environmentOf(stage), ...env },
  });
  child.stdin!.end(stage.stdin);
  let stderr = '';
  child.stderr!.on('data', (part) => (stderr += String(part)));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stderr })));
}

async function inPairs<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const waiting = [...all];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await Promise.all([worker(), worker()]);
}

interface Limited {
  path: string;
  stage: Stage;
  file: string;
}

/** Every nth command that needs no server, each with its own place. */
async function limitedLines(t: ExecutionContext, every = 1): Promise<Limited[]> {
  const lines = [...found].filter(([path, { line }]) => !NEEDS_A_SERVER.test(path) && !NEEDS_A_SERVER.test(line));
  t.true(lines.length > 100, `${lines.length} commands`);
  return Promise.all(
    lines
      .filter((_, at) => at % every === 0)
      .map(async ([path, { line, more }]) => {
        const stage = await stageExample(t, line);
        return { path, stage: { ...stage, argv: [...stage.argv, ...more] }, file: join(stage.cwd, 'stdout.txt') };
      }),
  );
}

function tookNothing(
  t: ExecutionContext,
  { path, file }: Limited,
  { code, stderr }: Awaited<ReturnType<typeof payctlOn>>,
) {
  t.is(code, 1, `${path}: ${stderr}`);
  t.regex(stderr, /file too large/, path);
  t.is(statSync(file).size, 0, path);
}

test.serial('every command reports that its stdout file accepts no bytes', async (t) => {
  const lines = await limitedLines(t);
  const child = startLimited('0', [LIMITED], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: environmentOf(lines[0]!.stage),
  });
  const runs = lines.map(({ stage, file }): LimitedRun => {
    const { argv, cwd, stdin } = stage;
    return { argv, cwd, stdin, env: environmentOf(stage), file };
  });
  child.stdin!.end(JSON.stringify(runs));
  const results = (await text(child.stdout!)).trim().split('\n');
  t.is(results.length, lines.length);
  for (const [at, one] of lines.entries()) tookNothing(t, one, JSON.parse(results[at]!) as LimitedResult);
});

/** A separate process adds only its stdout and exit code, which all commands share, so a sample is enough. */
const EVERY_SO_MANY = 25;

test.serial('a command in its own process reports that its stdout file accepts no bytes', async (t) => {
  // Fills the compile cache first, because a process under the limit cannot write it.
  const warm = await stageExample(t, 'payctl order list');
  const nowhere = openSync('/dev/null', 'w');
  t.is((await payctlOn(nowhere, warm)).code, 0);
  closeSync(nowhere);
  const some = await limitedLines(t, EVERY_SO_MANY);
  await inPairs(some, async (one) => {
    const fd = openSync(one.file, 'w');
    const ran = await payctlOn(fd, one.stage, { limit: '0' });
    closeSync(fd);
    tookNothing(t, one, ran);
  });
});

for (const argv of [
  ['--version'],
  ['-V'],
  ['--help'],
  [],
  ['order', '--help'],
  ['completion', 'bash'],
  ['help', 'output'],
])
  test.serial(`a command that only prints text reports a full stdout: payctl ${argv.join(' ')}`, async (t) => {
    const stage = { place: await placeOf(t), cwd: tmpdir(), argv, stdin: '' };
    const device = openSync('/dev/full', 'w');
    const onDevice = await payctlOn(device, stage);
    closeSync(device);
    t.is(onDevice.code, 1);
    t.regex(onDevice.stderr, /^error: Cannot write to stdout: no space left on device\.$/m);
    const file = join(stage.place.folder, 'f');
    const fd = openSync(file, 'w');
    const cut = await payctlOn(fd, stage, { limit: argv.includes('--version') || argv.includes('-V') ? '0' : '1' });
    closeSync(fd);
    t.is(cut.code, 1);
    t.regex(cut.stderr, /^error: Cannot write to stdout: file too large\.$/m);
  });

async function placeOf(t: ExecutionContext): Promise<Place> {
  const place = await makePlace();
  t.teardown(() => place.close());
  return place;
}

function withoutWebhook({ api }: Place): void {
  const route = '/api/v1/api-apps/app_1/webhook';
  api.on(`GET ${route}`, () => problem(404, 'not_found', 'There is none.'));
  api.on(`PUT ${route}`, () => ({ status: 201, body: { data: { ...webhookRow, secret: HOOK_SECRET } } }));
}

interface ShownOnce {
  path: string;
  line: string;
  /** The command that creates a new secret. */
  again: RegExp;
  prepare?: (place: Place) => void;
}

const SHOWN_ONCE: readonly ShownOnce[] = [
  {
    path: 'payctl app create',
    line: 'payctl app create --name shop --scope payment:read -o env',
    again: /payctl app rotate-secret app_7Kd2mQxW9bTzR4vLp1Ns/,
  },
  {
    path: 'payctl app rotate-secret',
    line: 'payctl app rotate-secret app_1 --confirm app_1 -o env',
    again: /payctl app rotate-secret app_1/,
  },
  {
    path: 'payctl app rotate-secret',
    line: 'payctl app rotate-secret app_1 --grace 24h -y -o json',
    again: /payctl app rotate-secret app_1/,
  },
  {
    path: 'payctl app webhook set',
    line: 'payctl app webhook set app_1 --url https://shop.example/h -o json',
    again: /payctl app webhook rotate app_1/,
    prepare: withoutWebhook,
  },
  {
    path: 'payctl app webhook rotate',
    line: 'payctl app webhook rotate app_1 --confirm app_1 -o json',
    again: /payctl app webhook rotate app_1/,
  },
  {
    path: 'payctl second-factor recovery-codes',
    line: 'payctl second-factor recovery-codes -y -o json',
    again: /payctl second-factor recovery-codes/,
  },
  {
    path: 'payctl second-factor enable',
    line: 'payctl second-factor enable --secret-file new.totp -o json',
    again: /payctl second-factor recovery-codes/,
  },
  {
    path: 'payctl bootstrap app',
    line: 'payctl bootstrap app --name shop --scope payment:read -o env',
    again: /payctl app rotate-secret app_of_shop/,
  },
  {
    path: 'payctl bootstrap admin',
    line: 'payctl bootstrap admin --username alice --generate -o json',
    again: /payctl admin reset-password alice --offline/,
  },
];

/** Also run as processes: one command that prints lines and one that prints JSON. */
const AS_PROCESSES: ReadonlySet<string> = new Set([
  'payctl app create --name shop --scope payment:read -o env',
  'payctl app webhook rotate app_1 --confirm app_1 -o json',
]);

/** The change requests that the service received, and the rows created in the database. */
function made(place: Place, offline: FakeOffline): string[] {
  return [
    ...place.api.seen.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`),
    ...offline.apps,
    ...offline.admins.map(({ username }) => username),
  ];
}

for (const { line, again, prepare } of SHOWN_ONCE) {
  test.serial(`no secret is created when stdout accepts no bytes: ${line}`, async (t) => {
    const offline = fakeOffline();
    const stage = await stageExample(t, line, prepare);
    const options = { cwd: stage.cwd, prompts: nobody, openOffline: async () => offline };
    const { code, stderr } = await stage.place.payctl(stage.argv, { ...options, stdout: outputOn('/dev/full', t) });
    t.is(code, 1, stderr);
    t.regex(stderr, FULL);
    t.deepEqual(made(stage.place, offline), []);
    if (!AS_PROCESSES.has(line)) return;
    for (const [file, limit] of [
      ['/dev/full', undefined],
      [join(stage.cwd, 'stdout.txt'), '1'],
    ] as const) {
      const fd = openSync(file, 'w');
      const run = await payctlOn(fd, stage, limit === undefined ? {} : { limit });
      closeSync(fd);
      t.is(run.code, 1, run.stderr);
      t.deepEqual(made(stage.place, offline), [], `${file}: ${run.stderr}`);
      if (limit !== undefined) t.is(statSync(file).size, 0, 'the reserved blanks are removed');
    }
  });

  test.serial(
    `a secret that could not be written is reported with the command that creates a new one: ${line}`,
    async (t) => {
      const offline = fakeOffline();
      const stage = await stageExample(t, line, prepare);
      const options = { cwd: stage.cwd, prompts: nobody, openOffline: async () => offline };
      for (const fault of ['EPIPE', 'ENOSPC']) {
        offline.apps.length = offline.admins.length = 0;
        await rm(join(stage.cwd, 'new.totp'), { force: true });
        // A pipe fails only when it is written to.
        const stdout = new Writable({
          write: (_chunk, _encoding, done) => done(Object.assign(new Error('write'), { code: fault })),
        });
        const { code, stderr } = await stage.place.payctl(stage.argv, { ...options, stdout });
        t.is(code, 1, stderr);
        t.regex(stderr, fault === 'EPIPE' ? /the reader of stdout closed the pipe/ : FULL);
        t.regex(stderr, again);
        if (stage.argv.includes('json')) t.is(JSON.parse(stderr).error.code, 'secret_lost');
      }
      const ends = stage.place.api.seen.filter(({ body }) => (body as { secret?: string } | undefined)?.secret);
      if (/rotate/.test(line)) t.deepEqual(ends, [], 'the old secret stays valid');
    },
  );
}

/** Members named like a secret that contain none; paid content can be retrieved again. */
const NO_SECRET: ReadonlySet<string> = new Set(['secretHint', 'secretFile', 'file', 'content']);

/** Commands that print a public certificate or run until they are stopped. */
const OTHER = /^payctl (cert download|mcp|top)$/;

test.serial('every command that prints a secret is listed in SHOWN_ONCE', async (t) => {
  for (const [path, { line, more }] of found) {
    if (OTHER.test(path) || more.includes('json') || / (-o|--json|--content|-q)/.test(line)) continue;
    const { code, stdout } = await runExample(t, line, [...more, '-o', 'json'], { prompts: nobody });
    if (code !== 0) continue;
    const shown = parsed(stdout);
    const bare = JSON.stringify(shown, (name, value: unknown) =>
      NO_SECRET.has(name) || typeof value === 'number' ? undefined : value,
    );
    const isSecret = JSON.stringify(redact(JSON.parse(bare))) !== bare;
    if (isSecret)
      t.true(
        SHOWN_ONCE.some((one) => one.path === path),
        `${path} prints ${stdout}`,
      );
  }
  t.pass();
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

test.serial('a rotation takes effect only after the new secret was written', async (t) => {
  const place = await placeOf(t);
  const rotate = 'POST /api/v1/api-apps/app_1/rotate-secret';
  const argv = ['app', 'rotate-secret', 'app_1', '--confirm', 'app_1'];
  const file = join(place.folder, 'new.secret');
  let there: boolean | undefined;
  place.api.on(rotate, ({ body }) => {
    if ((body as { secret?: string }).secret === SECRET) there = readFileSync(file, 'utf8') === `${SECRET}\n`;
    return { body: { data: { client_id: 'app_1', client_secret: SECRET, previousSecretExpiresAt: null } } };
  });
  const done = await place.payctl([...argv, '--secret-file', 'new.secret']);
  t.is(done.code, 0, done.stderr);
  t.true(there, 'the file was there when the old secret ended');
  t.deepEqual(
    place.api.seen.map(({ body }) => body),
    [{ prepare: true }, { secret: SECRET }],
  );

  await rm(file);
  place.api.on(rotate, ({ body }) =>
    (body as { prepare?: boolean }).prepare
      ? { body: { data: { client_id: 'app_1', client_secret: SECRET } } }
      : problem(409, 'changed_meanwhile', 'Another rotation took its place.'),
  );
  const refused = await place.payctl([...argv, '--secret-file', 'new.secret']);
  t.is(refused.code, 6);
  t.regex(refused.stderr, /did not take effect; the old one stays valid[\s\S]*payctl app rotate-secret app_1/);
  t.deepEqual(
    (await readdir(place.folder)).toSorted(),
    ['contexts.json', 'credentials.json'],
    'the file of the void secret is removed',
  );

  place.api.on(rotate, ({ body }) =>
    (body as { prepare?: boolean }).prepare
      ? { body: { data: { client_id: 'app_1', client_secret: SECRET } } }
      : { text: null },
  );
  const unknown = await place.payctl([...argv, '--secret-file', 'new.secret'], { retryPause: () => 0 });
  t.is(unknown.code, 7);
  t.regex(unknown.stderr, /Whether the new secret has taken effect is unknown/);
  t.is(readFileSync(file, 'utf8'), `${SECRET}\n`, 'the secret may be in effect');
});

test.serial('a change whose output was lost is reported as made', async (t) => {
  const place = await placeOf(t);
  const argv = ['refund', 'create', 'P1', '--amount', '1.00', '-y', '-o', 'json'];
  const { code, stderr } = await place.payctl(argv, { stdout: outputOn('/dev/full', t) });
  t.is(code, 1);
  t.like(JSON.parse(stderr).error, { code: 'output_lost', exitCode: 1, hint: 'do not repeat the change' });
  t.regex(JSON.parse(stderr).error.message, /The change was made: refund 1\.00 /);
});

test.serial('a lost message on stderr does not stop the change and is exit 1', async (t) => {
  const place = await placeOf(t);
  const stderr = outputOn('/dev/full', t);
  const { code, stdout } = await place.payctl(['order', 'close', 'P1', '-y', '-o', 'tsv'], { stderr });
  t.is(code, 1);
  t.regex(stdout, /^orderNo\t/m);
  t.is(place.api.seen.at(-1)?.path, '/api/v1/orders/P1/close');
});

test.serial('a reader that closes the pipe of a query is exit 0', async (t) => {
  const place = await placeOf(t);
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })),
  });
  t.is((await place.payctl(['order', 'list'], { stdout })).code, 0);
});

// The text that the script writes around the output must stay.
for (const [how, before] of [
  ['> f', ''],
  ['>> f', 'old\n'],
  ['1<> f', ''],
  ['>> f 2>> f', 'old\n'],
  ['> f 2>&1', ''],
] as const)
  test.serial(`the space reserved for a secret leaves no extra bytes: ${how}`, async (t) => {
    const place = await placeOf(t);
    const file = join(place.folder, 'f');
    writeFileSync(file, before);
    const script = `{ echo first; "$@" -o env; echo last; } ${how}`;
    const create = [process.execPath, BIN, 'app', 'create', '--name', 'shop', '--scope', 'payment:read'];
    await promisify(execFile)('sh', ['-c', script, 'sh', ...create], {
      cwd: place.folder,
      env: { ...process.env, PAYCTL_CONFIG_DIR: place.folder, PAYCTL_SERVER: place.api.url, PAYCTL_TOKEN: TOKEN },
    });
    const data = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => !/^(dev {2}|prod {2}|Next: )/.test(line))
      .join('\n');
    t.is(data, `${before}first\nCLIENT_ID=app_7Kd2mQxW9bTzR4vLp1Ns\nCLIENT_SECRET=${SECRET}\nlast\n`);
  });

test.serial('on a full file system an incomplete export fails, and no secret is created', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'payctl-full-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const run = promisify(execFile);
  const mounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folder]).then(
    () => true,
    (error: Error) => {
      t.log(`Not run: a file system cannot be mounted here: ${error.message.trim().split('\n').at(-1)}`);
      return false;
    },
  );
  const place = await placeOf(t);
  const lines = Array.from({ length: 6000 }, (_, at) => `P${at},paid,1.00\n`).join('');
  place.api.on('GET /api/v1/orders/export', () => ({ headers: { 'content-type': 'text/csv' }, text: lines }));
  t.is((await place.payctl(['order', 'export'])).stdout, lines, 'the export is larger than the file system');
  if (!mounted) return;
  try {
    const stage = { place, cwd: folder, argv: ['order', 'export'], stdin: '' };
    const file = openSync(join(folder, 'orders.csv'), 'w');
    const half = await payctlOn(file, stage);
    closeSync(file);
    t.is(half.code, 1);
    t.regex(half.stderr, FULL);
    t.notRegex(half.stderr, /Exported/);
    t.true(statSync(join(folder, 'orders.csv')).size > 0, 'a part was written');

    const before = place.api.seen.length;
    for (const argv of [
      ['app', 'create', '--name', 'shop', '--scope', 'payment:read', '-o', 'env'],
      ['app', 'create', '--name', 'shop', '--scope', 'payment:read', '--secret-file', 'shop.secret'],
      ['login', '--server', place.api.url, '-u', 'alice', '--password-stdin'],
    ]) {
      const secret = openSync(join(folder, 'shop.env'), 'w');
      const config = { PAYCTL_CONFIG_DIR: join(folder, 'config') };
      const refused = await payctlOn(
        secret,
        { ...stage, argv, stdin: 'correct horse battery\n' },
        argv[0] === 'login' ? { env: config } : {},
      );
      closeSync(secret);
      t.is(refused.code, 1, refused.stderr);
      t.regex(refused.stderr, FULL);
    }
    t.is(place.api.seen.length, before, 'the service received no request');
    t.deepEqual(
      (await readdir(folder)).filter((name) => name.endsWith('.tmp') || name === 'shop.secret'),
      [],
    );
    const kept = await place.payctl(['order', 'export', '--file', 'copy.csv'], { cwd: folder });
    t.is(kept.code, 1);
    t.regex(kept.stderr, /Cannot write to .*copy\.csv: no space left on device/);
    t.false((await readdir(folder)).includes('copy.csv'));
  } finally {
    await run('umount', [folder]);
  }
});
