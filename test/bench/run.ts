// `npm run bench [-- --only token,pay,jobs --rounds 5 --seconds 2 --connections 8,32 --keys both --workers 1 --large --soak 10
// --before DIR --pooler --distance 1]`: measures each figure beside a baseline in one run. DIR is another built checkout, measured
// alternately with this one. The benchmark starts its own PostgreSQL (fsync on), its own channel and the bare program, and exits by
// itself. `--keys one` repeats one request, `many` uses ten applications and sixty orders. `--large` extends to ten million orders,
// 100,000 due checks and bills of a million lines, which takes most of an hour; `--workers` sets the workers that run the checks;
// `--soak 10` runs for ten minutes. With `--pooler` every program reaches the database through PgBouncer, with `--distance 1` a
// round trip to it takes a millisecond longer.
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Line, table } from './figures.ts';
import { measureChecks } from './checks.ts';
import { measureCoinCalls } from './coins.ts';
import { measureBills } from './bills.ts';
import { measureEmbeddedStarts } from './embedded-starts.ts';
import { measureJobs } from './jobs.ts';
import { measureGrowth } from './growth.ts';
import { compare } from './load.ts';
import { measurePaidOrders } from './paid-orders.ts';
import { root } from './processes.ts';
import { scenarios, type Spread } from './scenarios.ts';
import { openStage } from './stage.ts';
import { measurePayctl, measureStarts } from './starts.ts';
import { measureSoak } from './soak.ts';
import { measureTails } from './tails.ts';
import { measureWorkers } from './workers.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '2' },
    connections: { type: 'string', default: '8,32' },
    keys: { type: 'string', default: 'both' },
    workers: { type: 'string', default: '1' },
    large: { type: 'boolean', default: false },
    before: { type: 'string' },
    pooler: { type: 'boolean', default: false },
    distance: { type: 'string', default: '0' },
    soak: { type: 'string' },
    'no-build': { type: 'boolean', default: false },
  },
});
const only = values.only.split(',').filter(Boolean);
const wanted = (name: string) => only.length === 0 || only.includes(name);
const effort = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
const connections = values.connections.split(',').map(Number);
const spreads = (['one', 'many'] as const).filter((spread) => values.keys === 'both' || values.keys === spread);
if (spreads.length === 0) throw new Error('--keys is one, many or both');
/** The kind of keys of the measurements that use only one. */
const spread: Spread = spreads.at(-1)!;

const started = performance.now();
if (!values['no-build']) execFileSync(process.execPath, [join(root, 'bin/build.mjs')], { stdio: 'inherit' });
const stage = await openStage(values.before && join(resolve(values.before), 'dist/bin/payctl.js'), {
  pooler: values.pooler,
  distanceMs: Number(values.distance),
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void stop(1));
const lines: Line[] = [];
const report = (found: readonly Line[]) => {
  lines.push(...found);
  for (const { what, result } of found) console.log(`# ${what}: ${result}`);
};

try {
  for (const scenario of scenarios(stage, connections, spreads))
    if (wanted(scenario.call)) report(await compare(scenario, effort));
  if (wanted('tails')) report(await measureTails(stage, effort, spread));
  if (wanted('workers')) report(await measureWorkers(stage, effort, connections, spread));
  if (wanted('start')) report(await measureStarts(stage, effort.rounds));
  if (wanted('embedded')) report([await measureEmbeddedStarts(stage.processes, effort.rounds)]);
  if (wanted('payctl')) report(await measurePayctl(stage, effort.rounds * 3));
  if (wanted('coins')) report(await measureCoinCalls(stage));
  if (wanted('jobs') || wanted('wakes')) report(await measureJobs(stage));
  if (wanted('jobs') || wanted('checks')) report(await measureChecks(stage, values.workers, values.large));
  if (wanted('bills')) report(await measureBills(stage, values.large));
  if (wanted('paid')) report(await measurePaidOrders(stage, values.large));
  if (wanted('growth')) report(await measureGrowth(stage, values.large));
  if (values.soak !== undefined) report(await measureSoak(stage, Number(values.soak)));
  console.log(`\n${table(lines)}\n`);
  console.log(`Node ${process.versions.node}, ${cpus().length} processors, PostgreSQL with fsync, medians of`);
  console.log(`${effort.rounds} rounds in turns, ${Math.round((performance.now() - started) / 1000)} s in all.`);
  await stop(0);
} catch (error) {
  console.error(error);
  // Prints the results so far even after a failure.
  console.log(`\n${table(lines)}\n`);
  await stop(1);
}

async function stop(code: number): Promise<never> {
  await stage.close();
  process.exit(code);
}
