import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Whether Prometheus's promtool is installed (Debian package `prometheus`). */
export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}

/** Runs promtool; returns its output if it failed. */
export function promtool(...args: string[]): string | undefined {
  return run(args, '');
}

/** Checks the text of a scrape against the conventions of Prometheus; returns one complaint per line. */
export function lint(text: string): string[] {
  return run(['check', 'metrics'], text)?.trim().split('\n') ?? [];
}

function run(args: readonly string[], input: string): string | undefined {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8', input });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

/** A metric in an expression, with the labels by which it is selected or grouped. */
interface Used {
  name: string;
  labels: string[];
}

const WORDS = new Set(['and', 'or', 'unless', 'bool', 'offset', 'by', 'on', 'without', 'ignoring', 'vector']);

/** Returns the metrics in a PromQL expression. */
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

/** One scrape: the value of each series, and the counters among them. */
export interface Scrape {
  values: ReadonlyMap<string, number>;
  /** Names of metrics that only grow. */
  growing: ReadonlySet<string>;
  /** Seconds since the epoch. */
  at: number;
  text: string;
}

/** Parses the text of a scrape. */
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
  // Prometheus uses its own clock, even if a test changes the clock of this process.
  return { values, growing, at: (performance.timeOrigin + performance.now()) / 1000, text };
}

/** The scrapes of a fault: `before` without it, `first` and `second` with it. Null if the scrape failed. */
export interface Course {
  /** The jobs no longer look for due work: a value that is equal in both scrapes is frozen. */
  isBlind: boolean;
  before: Scrape;
  first: Scrape | null;
  second: Scrape | null;
}

/** Minutes before the fault, and in total: the longest `for` of a rule is half an hour. */
const [WELL, ALL] = [10, 55];
/** The counts of the fault are repeated every so many minutes. */
const AGAIN = 5;

/** Metrics that a slow machine also raises are only judged for their own alert. */
const OF_THE_MACHINE = [
  ['nodejs_eventloop_lag', 'EventLoopHeldUp'],
  ['http_request_duration_seconds_bucket', 'SlowAnswers'],
  ['database_connections_waiting', 'ConnectionsExhausted'],
] as const;

/**
 * Evaluates the rules over the course of a fault with promtool. Returns the complaint if other alerts than the expected ones fire at
 * its end, or if any alert fires before it.
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

/** One value for each minute. Timestamps are shifted so that their age stays the same. */
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
