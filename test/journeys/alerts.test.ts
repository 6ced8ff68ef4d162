import test, { type ExecutionContext } from 'ava';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createLogger } from '../../server/http/logger.ts';
import { listenForMetrics } from '../../server/http/metrics.ts';
import { type Fault, FAULTS, POOL, type Stage } from '../support/alert-faults.ts';
import { createDatabase } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { layCable } from '../support/in-between.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { hasPromtool, type Course, judge, lint, metricsIn, promtool, readScrape } from '../support/prometheus.ts';
import { startService, until } from '../support/service.ts';

const at = (name: string) => fileURLToPath(new URL(`../../config/deploy/${name}`, import.meta.url));
const RULES = at('alert-rules.yml');
const rulesText = readFileSync(RULES, 'utf8');

/** The alerts of the rules with their expressions; each is a list of `key: value` below its name. */
const ALERTS = rulesText
  .split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({
    name: text.split('\n')[0]!,
    expr: /expr: (?:\|\n((?: {10}.*\n)+)|(.*)\n)/.exec(text)?.slice(1).find(Boolean) ?? '',
    runbook: /runbook_url: (.*)/.exec(text)?.[1],
  }));

interface Panel {
  title: string;
  targets?: { expr: string }[];
}
const panels = (JSON.parse(readFileSync(at('grafana-dashboard.json'), 'utf8')) as { panels: Panel[] }).panels;

async function open(t: ExecutionContext): Promise<Stage> {
  const { url, drop } = await createDatabase({ direct: true });
  const database = await layCable(t, url);
  const lines: Stage['lines'] = [];
  const logger = createLogger({ log: { level: 'info' } }, { write: (line) => void lines.push(JSON.parse(line)) });
  const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', PAY_DATABASE_POOL_SIZE: String(POOL) };
  const service = await startService(t, { url: database.url, timeoutMs: 3_000, figuresEveryMs: 0, logger, env });
  t.teardown(drop);
  await service.app.prepare();
  service.app.startJobs();
  const { app } = service;
  let endpoint = `http://127.0.0.1:0`;
  const metrics = await listenForMetrics(app.metrics.registry, { host: '127.0.0.1', port: 0 });
  endpoint = `http://127.0.0.1:${metrics.port}/metrics`;
  const stage: Stage = {
    t,
    service,
    shop: await service.merchant({ trusted: true }),
    database,
    lines,
    sql: (statement) => app.database.em.fork().execute(statement),
    scrape: () =>
      fetch(endpoint).then(
        async (answer) => readScrape(await answer.text()),
        () => null,
      ),
    end: () => metrics.close(),
  };
  t.teardown(() => metrics.close());
  return stage;
}

test('every alert fires when its fault is there, on the figures of a real service, and no other does', async (t) => {
  const stage = await open(t);
  const folder = temporaryFolder(t);
  // Something of everything, so that what is counted is there.
  for (const payWay of ['alipay', 'wechat', 'paypal']) await placeOrder(stage.shop, { payWay });
  await payOrder(stage.service, stage.shop, { payWay: 'wechat' });
  await until('the jobs have looked', async () =>
    /^jobs_last_look_timestamp_seconds [1-9]/m.test(await figures(stage)),
  );
  const isHere = hasPromtool();
  if (!isHere) t.log('Not judged: this machine has no promtool (prometheus of the distribution).');
  const courses = new Map<Fault, Course>();
  for (const fault of FAULTS) {
    const well = await stage.scrape();
    const { undo, before = well, seen, isBlind = false } = (await fault.plant(stage)) ?? {};
    const first = seen === undefined ? await stage.scrape() : seen;
    const second = seen === undefined ? await stage.scrape() : seen;
    await undo?.();
    courses.set(fault, { isBlind, before: before!, first, second });
  }
  const fired = new Set<string>();
  const complaints: string[] = [];
  for (const [{ name, fires }, course] of courses) {
    const complaint = isHere ? judge(RULES, folder, course, fires) : undefined;
    if (complaint !== undefined)
      complaints.push(`${name}
${complaint}`);
    for (const alert of fires) fired.add(alert);
  }
  t.is(complaints.join('\n'), '');
  const texts = [...courses.values()].flatMap(({ before, first }) => [before.text, first?.text ?? '']);
  const unconventional = isHere ? new Set(texts.filter(Boolean).flatMap(lint)) : [];
  t.deepEqual([...unconventional], [], 'each figure keeps the conventions of Prometheus, whatever has happened');
  t.deepEqual([...fired].toSorted(), ALERTS.map(({ name }) => name).toSorted(), 'each alert has its fault');
  t.log(`${FAULTS.length} faults, ${fired.size} alerts`);

  t.deepEqual(documentedFigures().toSorted(), ownFigures(stage).toSorted(), 'server/README.md has every figure');

  const known = exposed(stage);
  for (const [where, expr] of expressions())
    for (const { name, labels } of metricsIn(expr)) {
      t.true(known.has(name), `${where}: there is no ${name}`);
      for (const label of labels)
        t.true(known.get(name)!.has(label) || ORIGIN.has(label), `${where}: ${name} has no ${label}`);
    }
});

/** The figures of the service itself, with what is done with those of several processes. */
function ownFigures({ service }: Stage): [name: string, aggregator: string][] {
  return service.app.metrics.registry.getMetricsAsArray().flatMap((metric): [string, string][] => {
    const { name, aggregator } = metric as unknown as { name: string; aggregator: string };
    return /^(nodejs|process)_/.test(name) ? [] : [[name, aggregator]];
  });
}

/** The same, as the table of the document says it. */
function documentedFigures(): [name: string, aggregator: string][] {
  const readme = readFileSync(new URL('../../server/README.md', import.meta.url), 'utf8');
  const table = readme.slice(readme.indexOf('## Figures'), readme.indexOf('## Errors'));
  return [...table.matchAll(/^\| (`.*`) \| (added up|the largest|the smallest) \|/gm)].flatMap(
    ([, names = '', how = '']) =>
      [...names.matchAll(/`(\w+)(?:\{.*?\})?`/g)].map(([, name = '']): [string, string] => [name, AGGREGATORS[how]!]),
  );
}

const AGGREGATORS: Readonly<Record<string, string>> = {
  'added up': 'sum',
  'the largest': 'max',
  'the smallest': 'min',
};

const figures = async ({ scrape }: Stage) =>
  [...((await scrape())?.values ?? [])].map((pair) => pair.join(' ')).join('\n');

/** Labels that Prometheus adds. */
const ORIGIN = new Set(['job', 'instance', 'alertname']);

/** Every metric as it is scraped, with its labels. */
function exposed({ service }: Stage): Map<string, Set<string>> {
  const known = new Map([['up', new Set<string>()]]);
  for (const metric of service.app.metrics.registry.getMetricsAsArray()) {
    const { name, labelNames = [] } = metric as unknown as { name: string; labelNames?: string[] };
    for (const part of ['', '_bucket', '_sum', '_count']) known.set(name + part, new Set([...labelNames, 'le']));
  }
  return known;
}

function expressions(): [where: string, expr: string][] {
  const shown = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }): [string, string] => [title, expr]));
  return [...ALERTS.map(({ name, expr }): [string, string] => [name, expr]), ...shown];
}

test('the rules and the expressions of the dashboard are what Prometheus takes, and each alert leads to its runbook', (t) => {
  t.true(ALERTS.length >= 20 && panels.length >= 30);
  t.is(panels[0]?.title, 'Is money stuck?');
  for (const { name, runbook } of ALERTS) {
    const kebab = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '-').toLowerCase();
    t.is(runbook, `/docs/operate#${kebab}`);
  }
  if (!hasPromtool()) return t.log('Not checked: this machine has no promtool (prometheus of the distribution).');
  const rules = expressions().map(([, expr], turn) => ({
    record: `line:${turn}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  const file = `${temporaryFolder(t, { 'dashboard.yml': JSON.stringify({ groups: [{ name: 'dashboard', rules }] }) })}/dashboard.yml`;
  for (const checked of [RULES, file]) t.is(promtool('check', 'rules', checked), undefined);
});

test('metrics in an expression are found, and nothing else', (t) => {
  const expr =
    'sum by (kind) (rate(a_total{state="x y",kind!~"b|c"}[5m])) / (b > 0) and on (job) max_over_time(c[1d]) or vector(0)';
  t.deepEqual(
    metricsIn(expr).map(({ name, labels }) => [name, new Set(labels)]),
    [
      ['a_total', new Set(['state', 'kind', 'job'])],
      ['b', new Set(['kind', 'job'])],
      ['c', new Set(['kind', 'job'])],
    ],
  );
});
