import autocannon, { type Client } from 'autocannon';
import { type Line, median } from './figures.ts';
import { processorMs } from './processes.ts';
import type { Caller } from './stage.ts';

/** The same requests to the service and to the programs beside it. */
export interface Scenario {
  name: string;
  connections: number;
  ours: Shot;
  baselines: readonly Baseline[];
  /** Postpones work left over from earlier shots, which is not measured. */
  putOff?(): Promise<void>;
}

/** Another program, and the aims beside it; a figure without an aim is only reported, `tail` and `efficiency` only with one. */
export interface Baseline {
  of: 'bare' | 'before' | 'one worker';
  shot: Shot;
  /** The minimum ratio of the rates. */
  aim?: number;
  /** The maximum ratio of the slowest hundredths. */
  tail?: number;
  /** The minimum ratio of the requests per second of processor time. */
  efficiency?: number;
}

/** A program and the requests that every connection repeats in an order of its own. */
export interface Shot {
  caller: Pick<Caller, 'url' | 'pid' | 'sql'>;
  asks: readonly Ask[];
}

/** A request, and the status that the response must have. */
export interface Ask {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
  status: number;
}

/** How often and how long each program is measured. */
export interface Effort {
  rounds: number;
  seconds: number;
}

/** The result of a shot; times in milliseconds. */
export interface Fired {
  requests: number;
  rate: number;
  cpuMs: number;
  databaseMs: number;
  p50: number;
  p99: number;
}

/** Sends load to all programs in turns (A B C, C B A …) after a warm-up, and compares the medians. */
export async function compare(scenario: Scenario, effort: Effort): Promise<Line[]> {
  const { name, connections, ours, baselines, putOff } = scenario;
  const programs = [ours, ...baselines.map(({ shot }) => shot)].map((shot) => ({ shot, fired: [] as Fired[] }));
  for (const { shot } of programs) {
    for (const ask of shot.asks) await expectStatus(shot.caller.url, ask);
    await fire(shot, connections, effort.seconds);
  }
  for (let round = 0; round < effort.rounds; round++)
    for (const { shot, fired } of round % 2 === 0 ? programs : programs.toReversed()) {
      await putOff?.();
      fired.push(await fire(shot, connections, effort.seconds));
    }
  const own = programs[0]!.fired;
  return baselines.flatMap((baseline, at) =>
    linesOf(`${name} (${connections} connections)`, baseline, own, programs[at + 1]!.fired),
  );
}

function linesOf(what: string, { of, aim, tail, efficiency }: Baseline, ours: Fired[], other: Fired[]): Line[] {
  const ratio = (figure: (one: Fired) => number) => median(ours.map((one, at) => figure(one) / figure(other[at]!)));
  const line = (told: string, figures: (fired: Fired[]) => string, result: number): Omit<Line, 'aim' | 'reached'> => ({
    what: told,
    ours: figures(ours),
    baseline: `${figures(other)} (${of})`,
    result: `${result.toFixed(2)} of ${of}`,
  });
  const atLeast = (result: number, least: number | undefined): Pick<Line, 'aim' | 'reached'> =>
    least === undefined ? { aim: '', reached: undefined } : { aim: `≥ ${least}`, reached: result >= least };
  const faster = ratio(({ rate }) => rate);
  const lines: Line[] = [{ ...line(what, describe, faster), ...atLeast(faster, aim) }];
  if (tail !== undefined) {
    const slower = ratio(({ p99 }) => p99);
    const p99 = (fired: Fired[]) => `${median(fired.map((one) => one.p99)).toFixed(1)} ms`;
    lines.push({ ...line(`  p99 of ${what}`, p99, slower), aim: `≤ ${tail}`, reached: slower <= tail });
  }
  if (efficiency !== undefined) {
    const perSecond = (fired: Fired[]) => 1000 / mean(fired, ({ cpuMs }) => cpuMs);
    const gain = perSecond(ours) / perSecond(other);
    const told = (fired: Fired[]) => `${Math.round(perSecond(fired))} a processor second`;
    lines.push({ ...line(`  efficiency of ${what}`, told, gain), ...atLeast(gain, efficiency) });
  }
  return lines;
}

function describe(fired: Fired[]): string {
  const of = (figure: (one: Fired) => number) => median(fired.map(figure));
  const tail = `p50 ${of(({ p50 }) => p50).toFixed(1)} p99 ${of(({ p99 }) => p99).toFixed(1)}`;
  const [cpu, database] = [mean(fired, ({ cpuMs }) => cpuMs), mean(fired, ({ databaseMs }) => databaseMs)];
  return `${Math.round(of(({ rate }) => rate))}/s ${tail} cpu ${cpu.toFixed(3)} + ${database.toFixed(3)} ms`;
}

/** The figure per request. The kernel counts in steps of ten milliseconds, so all rounds are added up first. */
function mean(fired: Fired[], figure: (one: Fired) => number): number {
  const sum = (of: (one: Fired) => number) => fired.reduce((total, one) => total + of(one), 0);
  return sum(figure) / sum(({ requests }) => requests);
}

/** Sends load for some seconds; throws if a response is missing or has another status. */
export async function fire({ caller, asks }: Shot, connections: number, seconds: number): Promise<Fired> {
  const { status } = asks[0]!;
  const times: number[] = [];
  let [clients, wrong] = [0, 0];
  const setupClient = (client: Client) => {
    client.setRequests(shuffled(asks, (clients += 1)).map((ask) => ({ ...ask })));
    client.on('response', (answered, _bytes, ms) => {
      times.push(ms);
      if (answered !== status) wrong += 1;
    });
  };
  const first = await costOf(caller);
  const { requests, duration, errors, timeouts } = await autocannon({
    url: caller.url,
    connections,
    duration: seconds,
    // A slow response on a busy machine is a figure and not a failure (seconds).
    timeout: 60,
    setupClient,
  });
  const { cpuMs, databaseMs } = spent(first, await costOf(caller));
  if (errors + timeouts + wrong > 0)
    throw new Error(`${caller.url}${asks[0]!.path}: ${errors} errors, ${timeouts} timeouts, ${wrong} other answers`);
  const sorted = Float64Array.from(times).toSorted();
  const part = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  const { total } = requests;
  return { requests: total, rate: total / duration, cpuMs, databaseMs, p50: part(0.5), p99: part(0.99) };
}

/**
 * The requests in the order of one connection, the same in every run. Connections that ask for the same key at the same time
 * would flatter a service that batches its reads.
 */
function shuffled<Item>(items: readonly Item[], seed: number): Item[] {
  const mixed = [...items];
  let state = seed;
  for (let end = mixed.length - 1; end > 0; end -= 1) {
    // Lehmer's generator with the constants of `minstd`.
    state = (state * 48_271) % 2_147_483_647;
    const other = state % (end + 1);
    [mixed[end], mixed[other]] = [mixed[other]!, mixed[end]!];
  }
  return mixed;
}

async function expectStatus(url: string, { path, method, headers, body, status }: Ask): Promise<void> {
  const answer = await fetch(url + path, { method, headers, body });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${url}${path}: ${answer.status} ${text}`);
}

/** Processor time of a program and of each of its connections to the database, and transactions there, since they began. */
export interface Cost {
  cpuMs: number;
  transactions: number;
  backends: ReadonlyMap<number, number>;
}

/** Reads what a program has cost so far. Connections of the benchmark itself do not count. */
export async function costOf({ sql, pid }: Shot['caller']): Promise<Cost> {
  const [row] = await sql(
    `select xact_commit + xact_rollback as n,
            (select coalesce(array_agg(pid), '{}') from pg_stat_activity
              where datname = current_database() and backend_type = 'client backend'
                and application_name <> current_setting('application_name')) as pids
       from pg_stat_database where datname = current_database()`,
  );
  const backends = new Map((row!['pids'] as number[]).map((backend) => [backend, processorMs(backend)]));
  return { cpuMs: processorMs(pid), transactions: Number(row!['n']), backends };
}

/** The cost of a program between two readings. */
export function spent(first: Cost, last: Cost): Omit<Cost, 'backends'> & { databaseMs: number } {
  const backends = [...last.backends].map(([pid, ms]) => ms - (first.backends.get(pid) ?? 0));
  return {
    cpuMs: last.cpuMs - first.cpuMs,
    databaseMs: backends.reduce((sum, ms) => sum + ms, 0),
    transactions: last.transactions - first.transactions,
  };
}
