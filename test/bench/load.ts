import autocannon from 'autocannon';
import { type Line, median } from './figures.ts';
import { processorMs } from './processes.ts';

/** A request that is sent repeatedly to both programs. */
export interface Scenario {
  name: string;
  /** The kind of the baseline. */
  of: 'bare' | 'before' | 'one worker';
  /** The minimum ratio to the baseline; without one the ratio is only reported. */
  aim?: number;
  ours: Shot;
  baseline: Shot;
  /** Postpones work left over from earlier shots, which is not measured. */
  putOff(): Promise<void>;
}

/** A request, as autocannon sends it. */
export interface Shot {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string;
  /** The status that every response must have. */
  status: number;
  /** The process that responds. */
  pid: number;
}

/** The duration and the number of connections. */
export interface Effort {
  rounds: number;
  seconds: number;
  connections: number;
}

interface Fired {
  rate: number;
  /** Milliseconds of processor time per request; NaN where the system does not report it. */
  cpu: number;
  p50: number;
  p99: number;
}

/** Sends load to both programs alternately (A B B A …) after a warm-up, and compares the median rates. */
export async function compare({ name, of, aim, ours, baseline, putOff }: Scenario, effort: Effort): Promise<Line> {
  const shots = { ours, baseline };
  const fired: Record<keyof typeof shots, Fired[]> = { ours: [], baseline: [] };
  for (const shot of [ours, baseline]) await fire(shot, effort);
  for (let round = 0; round < effort.rounds; round++)
    for (const who of round % 2 === 0 ? (['ours', 'baseline'] as const) : (['baseline', 'ours'] as const)) {
      await putOff();
      fired[who].push(await fire(shots[who], effort));
    }
  const rate = (who: Fired[]) => median(who.map((one) => one.rate));
  const ratio = median(fired.ours.map((one, round) => one.rate / fired.baseline[round]!.rate));
  return {
    what: `${name} (${effort.connections} connections)`,
    ours: describe(rate(fired.ours), fired.ours),
    baseline: describe(rate(fired.baseline), fired.baseline),
    result: `${ratio.toFixed(2)} of ${of}`,
    aim: aim === undefined ? '' : `≥ ${aim}`,
    reached: aim === undefined ? undefined : ratio >= aim,
  };
}

function describe(rate: number, fired: readonly Fired[]): string {
  const of = (figure: (one: Fired) => number) => median(fired.map(figure));
  return `${Math.round(rate)}/s p50 ${of(({ p50 }) => p50)} p99 ${of(({ p99 }) => p99)} cpu ${of(({ cpu }) => cpu).toFixed(3)} ms`;
}

async function fire({ status, pid, ...shot }: Shot, { seconds, connections }: Effort): Promise<Fired> {
  await expectStatus({ status, ...shot });
  const spent = processorMs(pid);
  const result = await autocannon({ ...shot, connections, duration: seconds });
  const { errors, timeouts, non2xx } = result;
  // A 402 is an offer and not a refusal.
  const refused = status < 300 ? non2xx : result.requests.total - non2xx;
  if (errors + timeouts + refused > 0)
    throw new Error(`${shot.url}: ${errors} errors, ${timeouts} timeouts, ${refused} other answers`);
  const { total } = result.requests;
  return {
    rate: total / result.duration,
    cpu: (processorMs(pid) - spent) / total,
    p50: result.latency.p50,
    p99: result.latency.p99,
  };
}

async function expectStatus({ url, method, headers, body, status }: Omit<Shot, 'pid'>): Promise<void> {
  const answer = await fetch(url, { method, headers, body });
  const text = await answer.text();
  if (answer.status !== status) throw new Error(`${url}: ${answer.status} ${text}`);
}
