import test from 'ava';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { CostOfRun } from '../runner/cost.ts';
import { startPostgres } from '../support/postgres.ts';
import { temporaryFolder } from '../support/folder.ts';
import { breakSilence } from '../runner/silence.ts';
import { root } from './sources.ts';

function run(...args: string[]): { status: number | null; last: string | undefined } {
  const { status, lines } = runLines(...args);
  return { status, last: lines.at(-1) };
}

function runLines(...args: string[]): { status: number | null; lines: string[] } {
  const { AVA_PATH: _, ...env } = process.env;
  const flags = [join(root, 'test/runner/run.ts'), ...args];
  const { status, stdout } = spawnSync(process.execPath, flags, { cwd: root, env, encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

async function accepts(url: string): Promise<boolean> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const answer = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return answer;
}

test('a run without tests fails', (t) => {
  const nothing = { status: 1, last: '0 passed, 1 failed' };
  t.deepEqual(run('test/house/no-such.test.ts'), nothing);
  t.deepEqual(run('test/unit/config/schema.test.ts', '--match=no such title'), nothing);
});

test('a pattern selects test files in the named folders and files', (t) => {
  t.regex(run('test/unit/{config,config/faults.test.ts}').last ?? '', /^[1-9]\d* passed, 0 failed$/);
});

test('the PostgreSQL of the tests accepts connections until it is stopped', async (t) => {
  const { url, stop } = await startPostgres();
  t.true(await accepts(url));
  await stop();
  t.false(await accepts(url));
});

test('the PostgreSQL of the tests stops when the process that started it is killed', async (t) => {
  const cwd = temporaryFolder(t);
  const program = `
    import { startPostgres } from ${JSON.stringify(new URL('../support/postgres.ts', import.meta.url).href)};
    console.log((await startPostgres()).url);
    setInterval(() => {}, 1000);`;
  const starter = spawn(process.execPath, ['--input-type=module', '--eval', program], { cwd });
  const [url] = (await once(createInterface(starter.stdout), 'line')) as [string];
  t.true(await accepts(url));
  starter.kill('SIGKILL');
  await once(starter, 'exit');
  while (await accepts(url)) await new Promise((resolve) => setImmediate(resolve));
  t.false(await accepts(url));
});

/** A program that starts an endless child, prints its pid and then the signal that ended it. */
const STARTER = `
  const child = require('node:child_process').spawn(process.execPath, ['--eval', 'setInterval(() => {}, 1000)']);
  console.log(child.pid);
  child.on('exit', (code, signal) => console.log(signal));`;

test('a test file without output is killed and named', async (t) => {
  const starter = spawn(process.execPath, ['--eval', STARTER]);
  t.teardown(() => void starter.kill('SIGKILL'));
  const lines = createInterface(starter.stdout)[Symbol.asyncIterator]();
  const { value: pid } = await lines.next();
  t.true(process.kill(Number(pid), 0));
  const said: string[] = [];
  const silence = breakSilence(starter.pid!, 1, (line) => said.push(line));
  const { value: ended } = await lines.next();
  silence.stop();
  t.is(ended, 'SIGKILL');
  t.regex(said[0] ?? '', /^# nothing was heard for 1 min, ended: .*setInterval/);
});

test('a test file with an open handle after its last test ends and names the handle', (t) => {
  const cwd = temporaryFolder(t);
  symlinkSync(join(root, 'node_modules'), join(cwd, 'node_modules'));
  const require = [join(root, 'test/runner/worker.ts')];
  const ava = { files: ['*.test.mjs'], require, workerThreads: false, timeout: '10m' };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ ava }));
  const file = `import test from 'ava'; test('one', (t) => { setInterval(() => {}, 1000); t.pass(); });`;
  writeFileSync(join(cwd, 'kept.test.mjs'), file);
  const { AVA_PATH: _, ...env } = process.env;
  const cli = join(root, 'node_modules/ava/entrypoints/cli.js');
  const ran = spawnSync(process.execPath, [cli], {
    cwd,
    env: { ...env, PAY_TEST_PATIENCE_MS: '1' },
    encoding: 'utf8',
    timeout: 120_000,
  });
  t.is(ran.status, 0, ran.stdout + ran.stderr);
  t.regex(ran.stdout, /1 test passed/);
  t.regex(ran.stderr, /# kept\.test\.mjs has run its tests and was kept alive by: .*Timeout/);
});

/** Runs `.ci/run` in a new folder with empty programs and `npm` as this shell script. */
function runAll(t: Parameters<typeof temporaryFolder>[0], npm: string): { status: number | null; lines: string[] } {
  const folder = temporaryFolder(t);
  cpSync(join(root, '.ci'), join(folder, '.ci'), { recursive: true });
  mkdirSync(join(folder, 'bin'));
  for (const name of ['chromium', 'pgbouncer', 'python3', 'php', 'promtool', 'npm'])
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${name === 'npm' ? npm : ''}\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  const { status, stdout } = spawnSync(join(folder, '.ci/run'), { env, encoding: 'utf8' });
  return { status, lines: stdout.trimEnd().split('\n') };
}

/** The step names in the final table, and the lines after it. */
function tableIn(lines: readonly string[]): string[] {
  const from = lines.indexOf('== seconds of each step') + 1;
  return lines.slice(from).map((line) => line.replace(/^ +\d+ {2}/, ''));
}

test('.ci/run ends with the seconds of each step and the sum of both test runs', (t) => {
  const all = runAll(
    t,
    'case "$*" in "test") echo "5 passed, 0 failed";; "run test:long"*) echo "2 passed, 0 failed";; esac',
  );
  t.is(all.status, 0);
  t.deepEqual(tableIn(all.lines), [
    'npm ci --no-audit --no-fund',
    'npm ci --no-audit --no-fund --prefix test/oracles',
    'npm run check',
    'npm run check --prefix test/oracles',
    'npm test',
    'npm run test:long -- --share 0.02 test/long/*.test.ts',
    'npm run prove -- --small',
    'all',
    '7 passed, 0 failed',
  ]);
  const red = runAll(t, 'if [ "$*" = "test" ]; then echo "5 passed, 1 failed"; exit 1; fi');
  t.is(red.status, 1);
  t.deepEqual(tableIn(red.lines), [
    'npm ci --no-audit --no-fund',
    'npm ci --no-audit --no-fund --prefix test/oracles',
    'npm run check',
    'npm run check --prefix test/oracles',
    'npm test',
    'all',
    '5 passed, 1 failed',
  ]);
});

test('a passing run exits with 0; its cost phases add up to the total, and the cost table lists each file', (t) => {
  const path = join(temporaryFolder(t), 'cost', 'run.json');
  const files = ['test/unit/config/schema.test.ts', 'test/unit/db/table.test.ts'];
  const { status, lines } = runLines('--cost', '--cost-json', path, ...files);
  t.is(status, 0);
  t.regex(lines.at(-1) ?? '', /^[1-9]\d* passed, 0 failed$/);
  const cost = JSON.parse(readFileSync(path, 'utf8')) as CostOfRun;
  t.deepEqual(cost.files.map(({ file }) => file).toSorted(), files);
  const sum = (values: readonly number[]) => values.reduce((all, each) => all + each, 0);
  const near = (a: number, b: number) => t.true(Math.abs(a - b) < 1e-6, `${a} ≠ ${b}`);
  near(sum(Object.values(cost.phases)), cost.total);
  for (const phase of ['start', 'loading', 'tests', 'children'] as const)
    near(sum(cost.files.map((file) => file[phase])), cost.phases[phase]);
  near(sum(cost.files.map(({ postgres }) => postgres)) + cost.shared.making + cost.shared.other, cost.phases.postgres);
  for (const { tests, lasted } of cost.files) t.true(Math.min(tests, lasted) > 0);
  // The second file shares the process of the first.
  t.is(cost.files.filter(({ start, loading }) => Math.min(start, loading) > 0).length, 1);
  t.true(cost.phases.run > 0);
  for (const file of files)
    t.true(
      lines.some((line) => /^# +[\d.]+/.test(line) && line.endsWith(` ${file}`)),
      file,
    );
});
