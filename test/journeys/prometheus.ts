import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whether Prometheus's own checker is there (`prometheus` of the distribution). */
export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}

/** Runs it; gives what it said when it was not content. */
export function promtool(...args: string[]): string | undefined {
  return run(args, '');
}

/** Has the text of a scrape checked against the conventions of Prometheus; gives the complaints, each a line. */
export function lint(text: string): string[] {
  return run(['check', 'metrics'], text)?.trim().split('\n') ?? [];
}

function run(args: readonly string[], input: string): string | undefined {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

/** A metric that an expression uses, and the labels that it selects or sorts it by. */
interface Used {
  name: string;
  labels: string[];
}

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'by', 'on', 'without', 'ignoring', 'vector']);

/** The metrics in an expression of PromQL. */
export function metricsIn(expression: string): Used[] {
  const bare = expression.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/\[[^\]]*\]/g, '');
  const grouped = [...bare.matchAll(/\b(?:by|without|on|ignoring)\s*\(([^)]*)\)/g)].flatMap(([, list = '']) =>
    wordsIn(list),
  );
  const flat = bare.replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, ' ');
  const found = flat.matchAll(/(?<![\w:])([a-z_:][\w:]*)\s*(\(|\{([^}]*)\})?/gi);
  return [...found].flatMap(([, name = '', open, selected = '']) => {
    if (open === '(' || WORDS.has(name)) return [];
    return [{ name, labels: [...wordsIn(selected.replaceAll('""', '')), ...grouped] }];
  });
}

function wordsIn(text: string): string[] {
  return text.match(/[a-z_]\w*/gi) ?? [];
}

/** What one scrape brought: the value of each series, and which of them count. */
export interface Scrape {
  values: ReadonlyMap<string, number>;
  /** Names of metrics whose series only grow. */
  growing: ReadonlySet<string>;
  /** Seconds since the epoch. */
  at: number;
  text: string;
}

/** Reads the text of a scrape. */
export function readScrape(text: string): Scrape {
  const values = new Map<string, number>();
  const growing = new Set<string>();
  for (const line of text.split('\n')) {
    const [, name = '', type = ''] = /^# TYPE (\S+) (\S+)/.exec(line) ?? [];
    if (type === 'counter') growing.add(name);
    if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) growing.add(`${name}_${part}`);
    const [, series = '', value = ''] = /^([a-z_]\w*(?:\{.*\})?) (\S+)$/i.exec(line) ?? [];
    if (series !== '') values.set(series, Number(value));
  }
  // Prometheus has a clock of its own, whatever a test does to that of this process.
  return { values, growing, at: (performance.timeOrigin + performance.now()) / 1000, text };
}

/** A fault as it was scraped: all was well before it, and it goes on as it was seen twice. Null = there was nothing to scrape. */
export interface Course {
  /** Nobody looks for due work any more: what did not change between two scrapes is frozen. */
  isBlind: boolean;
  before: Scrape;
  first: Scrape | null;
  second: Scrape | null;
}

/** Minutes before the fault, and until the end: the longest wait of a rule is half an hour. */
const [WELL, ALL] = [10, 55];
/** What was counted during the fault is counted again every so many minutes. */
const AGAIN = 5;

/** What a slow machine shows, too, is looked at only where it is the fault. */
const OF_THE_MACHINE = [
  ['nodejs_eventloop_lag', 'EventLoopHeldUp'],
  ['http_request_duration_seconds_bucket', 'SlowAnswers'],
  ['database_connections_waiting', 'ConnectionsExhausted'],
] as const;

/**
 * Has the rules evaluated over the course of a fault, by promtool; says what is wrong when other alerts than these fire at its end, or any does
 * before it.
 */
export function judge(rules: string, folder: string, course: Course, expected: readonly string[]): string | undefined {
  const all = new Set([...course.before.values.keys(), ...(course.second?.values.keys() ?? [])]);
  const names = [...all].filter((series) =>
    OF_THE_MACHINE.every(([name, alert]) => !series.startsWith(name) || expected.includes(alert)),
  );
  const series = names.map((one) => ({ series: withOrigin(one), values: valuesOf(course, one).join(' ') }));
  const up = Array.from({ length: ALL }, (_, minute) => (minute < WELL || course.second ? 1 : 0)).join(' ');
  const firing = (at: number, alerts: readonly string[]) => ({
    expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
    eval_time: `${at}m`,
    exp_samples: alerts.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
  });
  const test = {
    interval: '1m',
    input_series: [...series, { series: withOrigin('up'), values: up }],
    promql_expr_test: [firing(WELL - 1, []), firing(ALL - 1, expected)],
  };
  const file = join(folder, 'course.yml');
  // JSON is YAML, too.
  writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests: [test] }));
  return promtool('test', 'rules', file);
}

function withOrigin(series: string): string {
  const [, name = '', labels] = /^(\w+)(?:\{(.*)\})?$/.exec(series) ?? [];
  return `${name}{${[labels, 'job="pay"', 'instance="one:9464"'].filter(Boolean).join(',')}}`;
}

/** A value for each minute. Times are told from the beginning of the course, of which they are as long ago as they were. */
function valuesOf({ isBlind, before, first, second }: Course, series: string): (number | string)[] {
  const name = series.replace(/\{.*/, '');
  const isTime = name.endsWith('_timestamp_seconds');
  const [was, began, is] = [before, first, second].map((scrape) => scrape?.values.get(series));
  return Array.from({ length: ALL }, (_, minute) => {
    const now = minute * 60;
    if (minute < WELL) return was === undefined ? '_' : isTime ? now - (before.at - was) : was;
    if (is === undefined || !second) return minute === WELL ? 'stale' : '_';
    if (isTime) return isBlind && first && is === began ? WELL * 60 - (first.at - is) : now - (second.at - is);
    const counted = is - (was ?? 0);
    return second.growing.has(name) ? (was ?? 0) + counted * (1 + Math.floor((minute - WELL) / AGAIN)) : is;
  });
}
