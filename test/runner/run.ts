// `npm test [-- files or --match]`, `npm test -- --cost`, `npm test -- --record`, `npm test -- --changed [commit]`,
// `npm run test:long [-- --share 0.25]`: starts one real PostgreSQL, runs AVA, and prints a line with the sums.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { chooseChanged } from './changed.ts';
import { costTable, watchCost, writeCost } from './cost.ts';
import { roomInMemory } from '../support/folder.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { recordRun } from './recorded.ts';
import { breakSilence } from './silence.ts';
import { eachAlone, shareProcesses, withItsFile, unheard } from './together.ts';

interface Sums {
  passed: number;
  failed: number;
}

const { values, positionals } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    share: { type: 'string' },
    cost: { type: 'boolean', default: false },
    'cost-json': { type: 'string' },
    changed: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    alone: { type: 'boolean', default: false },
    match: { type: 'string', multiple: true, default: [] },
  },
  allowPositionals: true,
});

function findChromium(): string | undefined {
  const places = [process.env.PAY_TEST_CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser'];
  return places.find((place) => place && existsSync(place));
}

/** Marks files whose tests do more in a long run: by a count, a check for a long run, or scenes of which a short run uses some. */
const DOES_MORE = /\b(?:count|isLong)\b[^;]*\/counts\.ts'|\/scenes\.ts'|PAY_TEST_LONG/;

/** Returns the given test files, or all; a long run only takes files that differ in it. */
function chooseFiles(chromium: string | undefined): string[] {
  const isGiven = positionals.length > 0 && !values.changed;
  const patterns = isGiven ? positionals : ['test/**/*.test.ts'];
  const found = globSync(patterns, { exclude: (path) => /(^|[\\/])node_modules$/.test(path) }).toSorted();
  if (isGiven) return found.filter((file) => /\.test\.m?[jt]s$/.test(file));
  const within = (file: string, folder: string) => file.startsWith(join('test', folder));
  if (!chromium) console.log('# test/browser is left out: there is no chromium');
  const lacksPackages = (file: string) => within(file, 'oracles/packages') && !existsSync('test/oracles/node_modules');
  if (found.some(lacksPackages))
    console.log('# test/oracles/packages is left out: npm ci --prefix test/oracles brings its packages');
  return found.filter((file) => {
    if ((within(file, 'browser') && !chromium) || lacksPackages(file)) return false;
    const long = within(file, 'long') || DOES_MORE.test(readFileSync(file, 'utf8'));
    return values.long ? long : !within(file, 'long');
  });
}

/**
 * Longer than the output of any short run pauses on a slow machine, and a minute longer than AVA's limit, which names the tests; a long
 * run has tests of an hour. Single tests have no limit below, which would only end tests that assert late.
 */
const SILENCE_MS = { short: 600_000, long: 3_700_000 };

async function runAva(files: string[], env: NodeJS.ProcessEnv): Promise<Sums> {
  const ava = fileURLToPath(new URL('../../node_modules/ava/entrypoints/cli.js', import.meta.url));
  const concurrency = values.alone ? 1 : Math.max(3, Math.min(4, availableParallelism()));
  const flags = [`--concurrency=${concurrency}`, ...(values.long ? ['--timeout=30m'] : [])];
  // `--match` omits tests, but a file's turn ends only after all its tests, so the next file would wait for ever.
  const isAlone = values.alone || values.record || values.long || values.match.length > 0;
  const shared = isAlone ? eachAlone(files) : shareProcesses(files);
  const list = isAlone ? undefined : join(env.PAY_TEST_KEPT!, 'shared.json');
  if (list) writeFileSync(list, JSON.stringify(shared));
  const args = [ava, ...flags, ...values.match.map((title) => `--match=${title}`), ...Object.keys(shared)];
  const child = spawn(process.execPath, args, {
    env: { ...env, PAY_TEST_SHARED: list },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, forward);
  const sums = { passed: 0, failed: 0 };
  const report: string[] = [];
  const silence = breakSilence(child.pid!, env.PAY_TEST_LONG ? SILENCE_MS.long : SILENCE_MS.short);
  for await (const told of createInterface(child.stdout)) {
    silence.heard();
    const line = withItsFile(told);
    console.log(line);
    report.push(line);
    count(line, sums);
  }
  silence.stop();
  const code = child.exitCode ?? (await once(child, 'exit'))[0];
  // AVA would report a file without declared tests as passed.
  for (const file of values.match.length > 0 ? [] : unheard(shared, report)) {
    console.log(`# no test of ${file} ran`);
    sums.failed++;
  }
  // A run that ended with an error or without any test has at least one failure.
  if (sums.failed === 0 && (code !== 0 || sums.passed === 0)) sums.failed = 1;
  return sums;
}

/** Counts AVA's results; its TAP output is easier to parse but is cut off when a test times out. */
function count(line: string, sums: Sums): void {
  if (/^ {2}✔ /.test(line)) sums.passed++;
  const failed = /^ {2}(\d+) (tests? failed|hooks? failed|tests? remained|uncaught|unhandled)/.exec(line);
  if (failed) sums.failed += Number(failed[1]);
}

/** Removes the folders of killed runs, which would fill the memory. */
function removeLeft(room: string): void {
  for (const folder of globSync(join(room, 'pay-test-kept-*'))) {
    const [, pid] = /-kept-(\d+)-/.exec(folder) ?? [];
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(folder, { recursive: true, force: true });
  }
}

/** Creates a folder in which every user may create files, because PostgreSQL runs as another user. */
function openFolder(folder: string): string {
  mkdirSync(folder);
  chmodSync(dirname(folder), 0o755);
  chmodSync(folder, 0o1777);
  return folder;
}

async function main(): Promise<Sums> {
  const chromium = findChromium();
  const all = chooseFiles(chromium);
  if (values.record && values.match.length > 0) throw new Error('--record is for whole files: without --match');
  const files = values.changed ? chooseChanged(all, positionals[0] ?? 'HEAD') : all;
  if (values.changed && (values.list || files.length === 0)) return { passed: 0, failed: 0 };
  if (files.length === 0) {
    console.log('# no test file was found');
    return { passed: 0, failed: 1 };
  }
  let server: TestPostgres | undefined;
  // More than a hundred processes load the whole service, so files that each would create are shared.
  // Concurrent runs have their own folders, but share the machine's ports.
  process.env.PAY_TEST_PORTS ??= join(tmpdir(), 'pay-test-ports');
  const room = process.env.TMPDIR ? undefined : roomInMemory();
  if (room) removeLeft(room);
  const kept = mkdtempSync(join(room ?? tmpdir(), `pay-test-kept-${process.pid}-`));
  if (room) process.env.TMPDIR = openFolder(join(kept, 'tmp'));
  const compiled = { NODE_COMPILE_CACHE: join(kept, 'compiled'), ...process.env };
  const env: NodeJS.ProcessEnv = { ...compiled, PAY_TEST_KEPT: kept, FORCE_COLOR: '0' };
  try {
    if (!env.PAY_TEST_POSTGRES) server = await startPostgres();
    if (server) env.PAY_TEST_POSTGRES = server.url;
    if (chromium) env.PAY_TEST_CHROMIUM = chromium;
    if (values.long) env.PAY_TEST_LONG = '1';
    if (values.share) env.PAY_TEST_SHARE = values.share;
    if (values.cost || values['cost-json']) return await runMeasured(files, env, join(kept, 'cost'));
    if (values.record) return await recordRun(files, join(kept, 'record'), (own) => runAva(files, { ...env, ...own }));
    return await runAva(files, env);
  } finally {
    await server?.stop();
    rmSync(kept, { recursive: true, force: true });
  }
}

/** Runs the files and prints where the processor time goes. */
async function runMeasured(files: string[], env: NodeJS.ProcessEnv, folder: string): Promise<Sums> {
  const watch = watchCost(folder);
  const heard = await runAva(files, { ...env, ...watch.environment });
  const cost = watch.end();
  for (const line of costTable(cost)) console.log(line);
  if (values['cost-json']) writeCost(values['cost-json'], cost);
  return heard;
}

const { passed, failed } = await main().catch((error: unknown) => {
  console.error(error);
  return { passed: 0, failed: 1 };
});
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
