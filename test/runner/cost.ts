import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { databaseTag, type FileCost, ownSeconds, secondsOf } from './cost-of-file.ts';

/** The cost of a file, including its databases. */
interface Cost extends FileCost {
  /** Processor seconds of the run's PostgreSQL for the file's databases, as far as its backends were observed. */
  postgres: number;
}

/** The processor time of a run, divided into phases. */
export interface CostOfRun {
  /** Elapsed seconds. */
  lasted: number;
  total: number;
  phases: Record<Phase, number>;
  files: Cost[];
  /** Seconds of PostgreSQL that belong to no file: creating and dropping databases, and the rest. */
  shared: { making: number; other: number };
}

const PHASES = {
  start: 'start of processes and AVA in them',
  loading: 'loading of modules',
  tests: 'the tests in their processes',
  children: 'processes that tests start',
  postgres: 'PostgreSQL of the run',
  run: "the run, AVA's own process, and what was killed",
} as const;

type Phase = keyof typeof PHASES;

/** A file above one of these is printed: processor seconds, elapsed seconds. */
const DEAR = { total: 10, lasted: 20 };
const NAMED_AT_LEAST = 15;
/** Interval of observation (ms): many connections are as short. */
const LOOK_MS = 50;

const totalOf = ({ start, loading, tests, children, postgres }: Cost) => start + loading + tests + children + postgres;

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Observes a run from its beginning, when only its PostgreSQL is running. */
export function watchCost(folder: string) {
  mkdirSync(folder, { recursive: true });
  const begun = performance.now();
  const before = { own: ownSeconds(), ended: secondsOf('self').ended };
  const starters = childrenOf(process.pid);
  const masters = starters.flatMap(childrenOf);
  const backends = new Map<string, { database: string; seconds: number }>();
  const look = () => {
    for (const master of masters)
      for (const pid of childrenOf(master)) {
        const { own: seconds, begun: since } = secondsOf(pid);
        // A backend that has just ended reports zero.
        if (seconds === 0) continue;
        const key = `${pid} ${since}`;
        const database = backends.get(key)?.database || databaseOf(pid);
        backends.set(key, { database, seconds });
      }
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    environment: { PAY_TEST_COST: folder },
    /** Call it after AVA has ended and before PostgreSQL ends. */
    end(): CostOfRun {
      clearInterval(timer);
      look();
      const postgres = [...starters, ...masters].reduce((sum, pid) => {
        const { own, ended } = secondsOf(pid);
        return sum + own + ended;
      }, 0);
      const alive = masters.flatMap(childrenOf).reduce((sum, pid) => sum + secondsOf(pid).own, 0);
      const spent = ownSeconds() - before.own + secondsOf('self').ended - before.ended;
      const seconds = (performance.now() - begun) / 1000;
      return sumUp(readCosts(folder), [...backends.values()], { postgres: postgres + alive, spent, seconds });
    },
  };
}

/** The title of a backend is `postgres: <role> <database> <address or [local]> …`; a test's database contains the tag of its file. */
function databaseOf(pid: number): string {
  try {
    const [, name = ''] = /^postgres: \S+ (\S+) [\d[]/.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? [];
    return /^t_(\w{8})_/.exec(name)?.[1] ?? name;
  } catch {
    return '';
  }
}

/** The figures that the processes of test files wrote into the folder. */
function readCosts(folder: string): FileCost[] {
  return readdirSync(folder).flatMap((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as FileCost[]);
}

/** Sums up the figures; `spent` is the time of the run and all processes below AVA. */
function sumUp(
  costs: readonly FileCost[],
  backends: readonly { database: string; seconds: number }[],
  { postgres, spent, seconds }: { postgres: number; spent: number; seconds: number },
): CostOfRun {
  const of = (tag: string) =>
    backends.filter(({ database }) => database === tag).reduce((sum, each) => sum + each.seconds, 0);
  const files = costs
    .map((cost) => ({ ...cost, postgres: of(databaseTag(cost.file)) }))
    .toSorted((a, b) => totalOf(b) - totalOf(a) || a.file.localeCompare(b.file));
  const sum = (phase: keyof FileCost & Phase) => files.reduce((all, cost) => all + cost[phase], 0);
  const phases = { start: sum('start'), loading: sum('loading'), tests: sum('tests'), children: sum('children') };
  const seen = Object.values(phases).reduce((all, each) => all + each, 0);
  // The kernel counts in ticks, so the sum of the parts may be slightly more than the total.
  const run = Math.max(0, spent - seen);
  const making = of('postgres');
  const other = Math.max(0, postgres - making - files.reduce((all, each) => all + each.postgres, 0));
  return {
    lasted: seconds,
    total: seen + run + postgres,
    phases: { ...phases, postgres, run },
    files,
    shared: { making, other },
  };
}

/** The printed table: sums by phase, and the most expensive files. */
export function costTable({ lasted, total, phases, files, shared }: CostOfRun): string[] {
  const number = (value: number) => value.toFixed(1).padStart(9);
  const share = (value: number) => `${((100 * value) / (total || 1)).toFixed(0).padStart(4)} %`;
  const dear = files.filter(
    (cost, at) => at < NAMED_AT_LEAST || totalOf(cost) > DEAR.total || cost.lasted > DEAR.lasted,
  );
  return [
    `# processor seconds: ${total.toFixed(1)} of ${files.length} files, in ${lasted.toFixed(1)} s`,
    ...Object.entries(PHASES).map(
      ([phase, what]) => `# ${number(phases[phase as Phase])}${share(phases[phase as Phase])}  ${what}`,
    ),
    `# ${number(shared.making)}         of PostgreSQL: making and dropping databases`,
    `# ${number(shared.other)}         of PostgreSQL: for no file alone`,
    `# files above ${DEAR.total} s of processor time or ${DEAR.lasted} s of the clock (!), and the dearest others`,
    `#     total    start  loading    tests children postgres   lasted`,
    ...dear.map((cost) => {
      const { file, start, loading, tests, children, postgres } = cost;
      const isDear = totalOf(cost) > DEAR.total || cost.lasted > DEAR.lasted;
      const figures = [totalOf(cost), start, loading, tests, children, postgres, cost.lasted].map(number).join('');
      return `# ${figures}${isDear ? ' !' : '  '} ${file}`;
    }),
  ];
}

export function writeCost(path: string, cost: CostOfRun): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(cost, null, 2)}\n`);
}
