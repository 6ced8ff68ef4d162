import test, { type ExecutionContext } from 'ava';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '../../server/http/logger.ts';
import { listenForMetrics } from '../../server/http/metrics.ts';
import { createDatabase } from '../support/database.ts';
import { temporaryFolder } from '../support/folder.ts';
import { layCable, type Cable } from '../support/in-between.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { hasPromtool, type Course, judge, lint, metricsIn, promtool, readScrape, type Scrape } from './prometheus.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';
import { billRow } from '../support/bill-rows.ts';
import { inParallel } from '../support/counts.ts';
import { listenOnFreePort } from '../support/free-port.ts';
import { fillDatabase } from '../support/tables.ts';
import { startReceiver } from '../support/receiver.ts';

/** The size of the connection pool. */
const POOL = 8;

/** A service with scraped metrics; the test controls its database connection and its channels. */
interface Stage {
  t: ExecutionContext;
  service: Service;
  shop: Merchant;
  database: Cable;
  lines: { msg: string }[];
  sql(statement: string): Promise<Record<string, unknown>[]>;
  /** The metrics as Prometheus reads them; null if the endpoint does not answer. */
  scrape(): Promise<Scrape | null>;
  /** Closes the metrics endpoint. */
  end(): Promise<void>;
}

/** The scrapes that a fault is judged by, if they differ from the ones before and after planting it. */
interface Planted {
  /** Ends the fault and all its pending work, so that it does not affect the next fault. */
  undo?: () => unknown;
  /** Set if the fault needs preparation. */
  before?: Scrape;
  /** Set if the fault ends by itself, or takes time to appear. */
  seen?: Scrape | null;
  isBlind?: true;
}

type Plant = (stage: Stage) => Promise<Planted | void>;

/** A fault of the service or its environment, and the alerts that it must fire. */
interface Fault {
  name: string;
  plant: Plant;
  /** Exactly the alerts that fire. */
  fires: string[];
}

const place = ({ shop }: Stage, request: object) =>
  shop.call('POST', '/api/v2/payment/pay', { subject: 'Tea', amount: 10, ...request });

function times<T>(count: number, work: (turn: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, turn) => work(turn)));
}

/** One metric of each group read from the database: a group is missing if a slow machine reads it too late for a scrape. */
const READ_FIGURES = ['exceptions_open', 'certificate_left_seconds', 'due_rows', 'bill_differences'] as const;

/** A scrape with all metrics present; waits until `shows` accepts it, and calls `again` before each scrape. */
const scrapeOf = (
  { scrape }: Stage,
  what: string,
  shows: (value: (series: string) => number) => boolean = () => true,
  again?: () => unknown,
) =>
  until(what, async () => {
    await again?.();
    const found = await scrape();
    if (found?.values.get('database_up') !== 1) return false;
    const isRead = READ_FIGURES.every((name) => [...found.values.keys()].some((one) => one.startsWith(`${name}{`)));
    return isRead && shows((series) => found.values.get(series)!) && found;
  });

const lag = (kind: string) => `due_lag_seconds{kind="${kind}"}`;

const sumOf = ({ values }: Scrape, name: string) =>
  [...values].reduce((sum, [series, value]) => sum + (series.startsWith(`${name}{`) ? value : 0), 0);

/** Waits for a complete run of the job scheduler; the first one that ends may have started earlier. */
async function untilLooked({ scrape }: Stage): Promise<void> {
  const lookedAt = async () => (await scrape())?.values.get('jobs_last_look_timestamp_seconds');
  for (let ended = 0; ended < 2; ended += 1) {
    const last = await lookedAt();
    await until('the jobs look', async () => (await lookedAt()) !== last);
  }
}

/** Waits until no order is due, no row is under way and every message is stored: a later call would be lost with the database. */
async function untilQuiet(stage: Stage): Promise<void> {
  const { service, scrape, sql } = stage;
  await until('no row is under way', async () => {
    const isBusy = sumOf((await scrape())!, 'jobs_rows_under_way') > 0;
    // A row that ended since the last turn may have scheduled its order again.
    const planned = await sql('select 1 from orders where next_check_at is not null limit 1');
    if (!isBusy && planned.length === 0) return true;
    await sql('update orders set next_check_at = null where next_check_at is not null');
    return false;
  });
  await service.app.messages.flush();
}

/** Waits until the channel's notifications of these orders are acknowledged; a repeat would affect a later fault. */
async function untilTold({ service }: Stage, orderNos: readonly string[]): Promise<void> {
  for (const orderNo of orderNos)
    await until(`${orderNo} was told`, async () => {
      if ((await service.deliveries(orderNo)).some(({ acknowledged }) => acknowledged)) return true;
      await service.sim('/sim/notify', { orderNo });
      return false;
    });
}

/** Places orders that are paid immediately and have their own webhook receiver. */
async function tellAt(stage: Stage, notifyUrl: string, count: number): Promise<void> {
  const pay = () => placeOrder(stage.shop, { payWay: 'alipay', amount: 0.01, notifyUrl });
  await untilTold(stage, await times(count, pay));
}

const countDeliveries = ({ service }: Stage, wanted: object) =>
  service.app.store.read((tx) => tx.deliveries.count(wanted));

/** Whether no connection to the database is in use or waited for. */
function isIdle({ service: { app } }: Stage): boolean {
  const { total, idle, waiting } = app.database.connections!();
  return idle === total && waiting === 0;
}

/** Cancels the waiting deliveries. A leased one would end as failed if cancelled, so it is cancelled once it waits again. */
const cancelDeliveries = (stage: Stage) =>
  until('no delivery waits', async () => {
    await stage.sql(
      `update deliveries set state = 'cancelled', next_attempt_at = null where state = 'pending' and leased_until is null`,
    );
    return (await countDeliveries(stage, { state: 'pending' })) === 0;
  });

/** The fault of every alert, ordered so that none affects the next. */
const FAULTS: readonly Fault[] = [
  {
    name: 'an unresolved exception',
    async plant(stage) {
      const { service, shop, sql } = stage;
      // Notifications of this channel are repeated after minutes, those of WeChat Pay after seconds.
      const orderNo = await placeOrder(shop, { payWay: 'alipay' });
      const wrong = { payWay: 'alipay', call: 'query', fault: 'wrong-amount', orderNo, probability: 1 };
      await service.sim('/sim/faults', wrong);
      await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
      await service.sim('/sim/pay', { orderNo });
      await sql(`update orders set checked_at = null where order_no = '${orderNo}'`);
      await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
      await until('an exception', () => service.app.store.read((tx) => tx.exceptions.find({ orderNo })));
      return {
        async undo() {
          await service.sim('/sim/reset-faults', {});
          await untilTold(stage, [orderNo]);
          await untilQuiet(stage);
          await sql(`update order_exceptions set state = 'resolved'`);
        },
      };
    },
    fires: ['ExceptionOpen'],
  },
  {
    name: 'a silent channel with due work',
    async plant(stage) {
      const { service, shop, sql } = stage;
      const due = await inParallel(60, 6, () => placeOrder(shop, { payWay: 'wechat' }));
      // Queries that still get an answer would be counted beside those that do not.
      await untilQuiet(stage);
      const before = await scrapeOf(stage, 'all is well');
      const silence = { payWay: 'wechat', call: '*', fault: 'timeout', probability: 1, hangUpMs: 3_000 };
      await service.sim('/sim/faults', silence);
      const numbers = due.map((orderNo) => `'${orderNo}'`).join();
      const makeDue = () =>
        sql(
          `update orders set next_check_at = now() - interval '10 minutes' where order_no in (${numbers}) and leased_until is null`,
        );
      await makeDue();
      await times(6, () => place(stage, { payWay: 'wechat' }));
      // Orders without an answer wait for their next check.
      const seen = await scrapeOf(stage, 'orders wait', (value) => value(lag('order')) > 300, makeDue);
      return {
        before,
        seen,
        async undo() {
          await service.sim('/sim/reset-faults', {});
          await untilQuiet(stage);
          await untilLooked(stage);
        },
      };
    },
    fires: ['ChannelSilent', 'MoneyStuck', 'ServerErrors', 'SlowAnswers'],
  },
  {
    name: 'a channel whose answers cannot be verified',
    async plant(stage) {
      await stage.service.sim('/sim/faults', { payWay: 'alipay', call: '*', fault: 'wrong-key', times: 100 });
      await times(6, () => place(stage, { payWay: 'alipay' }));
      return { undo: () => stage.service.sim('/sim/reset-faults', {}) };
    },
    fires: ['ChannelRefusing', 'ServerErrors'],
  },
  {
    name: 'notifications stop',
    async plant(stage) {
      const { service, shop, sql } = stage;
      await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
      const paid = await times(6, async () => {
        const orderNo = await placeOrder(shop, { payWay: 'wechat' });
        await service.sim('/sim/pay', { orderNo });
        await sql(`update orders set checked_at = null where order_no = '${orderNo}'`);
        await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
        // A check that was under way and found nothing is followed by the next.
        await until(`${orderNo} paid`, async () => (await stateOf(service, orderNo)) === 'paid');
        return orderNo;
      });
      return {
        async undo() {
          await service.sim('/sim/notices', { payWay: 'wechat', enabled: true });
          await untilTold(stage, paid);
        },
      };
    },
    fires: ['NoticesStopped'],
  },
  {
    name: 'forged notifications',
    async plant({ service }) {
      await times(12, () => fetch(`${service.url}/notify/alipay/default`, { method: 'POST', body: 'sign=none' }));
    },
    fires: ['NoticesRefused'],
  },
  {
    name: 'a certificate that expires soon',
    async plant({ sql }) {
      const ends = (when: string) => sql(`update certs set not_after = ${when} where kind = 'wechat_merchant_cert'`);
      await ends(`now() + interval '20 days'`);
      return { undo: () => ends(`now() + interval '1 year'`) };
    },
    fires: ['CertificateEnding'],
  },
  {
    name: 'a certificate that expires tomorrow',
    async plant({ sql }) {
      const ends = (when: string) => sql(`update certs set not_after = ${when} where kind = 'wechat_merchant_cert'`);
      await ends(`now() + interval '30 hours'`);
      return { undo: () => ends(`now() + interval '1 year'`) };
    },
    fires: ['CertificateAboutToEnd', 'CertificateEnding'],
  },
  {
    name: 'missing bills',
    async plant({ service: { app }, sql }) {
      const days = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
      const wechat = { ...billRow({ payWay: 'wechat', account: '1900000009', mode: 'live' }), nextCheckAt: null };
      await app.store.transaction(async (tx) => {
        await tx.bills.insert({ ...wechat, billNo: 'B1', day: days(6), state: 'done', matchedAt: new Date() });
        await tx.bills.insert({ ...wechat, billNo: 'B2', day: days(1), state: 'waiting' });
      });
      return { undo: () => sql(`delete from bills where bill_no in ('B1', 'B2')`) };
    },
    fires: ['BillsMissing'],
  },
  {
    name: 'a failing webhook receiver',
    async plant(stage) {
      const receiver = await startReceiver(stage.t);
      receiver.answer = () => ({ status: 500 });
      await tellAt(stage, receiver.url, 12);
      await until('twelve attempts', async () => receiver.received.length >= 12);
      await until('all are noted', async () => (await countDeliveries(stage, { lastStatus: 500 })) >= 12);
      return { undo: () => cancelDeliveries(stage) };
    },
    fires: ['WebhooksFailing'],
  },
  {
    name: 'a webhook receiver that answers 410',
    async plant(stage) {
      const receiver = await startReceiver(stage.t);
      receiver.answer = () => ({ status: 410 });
      await tellAt(stage, receiver.url, 1);
      await until('given up', async () => (await countDeliveries(stage, { state: 'failed' })) > 0);
      return { undo: () => stage.sql(`update deliveries set state = 'cancelled' where state = 'failed'`) };
    },
    fires: ['WebhooksGivenUp'],
  },
  {
    name: 'a webhook receiver that never answers, with webhooks queued behind it',
    async plant(stage) {
      const silent = createServer(() => {});
      const port = await listenOnFreePort(silent);
      // Fewer than the alert about failing webhooks counts: an attempt times out after a while.
      await tellAt(stage, `http://127.0.0.1:${port}/hook`, 9);
      await until('all are due', async () => (await countDeliveries(stage, { state: 'pending' })) >= 9);
      const makeDue = () =>
        stage.sql(
          `update deliveries set next_attempt_at = now() - interval '10 minutes' where state = 'pending' and leased_until is null`,
        );
      const seen = await scrapeOf(stage, 'webhooks wait', (value) => value(lag('delivery')) > 300, makeDue);
      return {
        seen,
        async undo() {
          silent.closeAllConnections();
          silent.close();
          await cancelDeliveries(stage);
          await untilLooked(stage);
        },
      };
    },
    fires: ['WebhooksLate'],
  },
  {
    name: 'a wrong clock',
    async plant(stage) {
      const { now } = Date;
      Date.now = () => now() + 60_000;
      try {
        return { seen: await scrapeOf(stage, 'a clock that is wrong') };
      } finally {
        Date.now = now;
      }
    },
    fires: ['ClockWrong'],
  },
  {
    name: 'a blocked event loop',
    async plant(stage) {
      const p99 = 'nodejs_eventloop_lag_p99_seconds';
      const before = await scrapeOf(stage, 'a loop that runs', (value) => value(p99) < 0.5);
      const hold = async () => {
        // The event loop metrics are reset by each scrape.
        await stage.scrape();
        for (let turn = 0; turn < 2; turn += 1) {
          const end = performance.now() + 700;
          while (performance.now() < end);
          await delay(20);
        }
      };
      return { before, seen: await scrapeOf(stage, 'a loop that is held up', (value) => value(p99) > 0.5, hold) };
    },
    fires: ['EventLoopHeldUp'],
  },
  {
    name: 'a database whose disk is full',
    async plant(stage) {
      const orderNo = await placeOrder(stage.shop, { payWay: 'alipay' });
      await stage.sql(`update orders set checked_at = null where order_no = '${orderNo}'`);
      const makeRoom = await fillDatabase(stage.service);
      await times(6, () => place(stage, { payWay: 'alipay' }));
      await stage.shop.call('GET', `/api/v2/payment/query/${orderNo}`);
      await until('a message that was lost', async () => stage.lines.some(({ msg }) => /messages could not/.test(msg)));
      return {
        async undo() {
          await makeRoom();
          await until('no write of before is under way', async () => isIdle(stage));
          // A refusal is remembered for a minute.
          stage.service.clock.advance(61);
        },
      };
    },
    fires: ['DatabaseFull', 'MessagesDropped', 'ServerErrors'],
  },
  {
    name: 'no free connection to the database',
    async plant(stage) {
      const { app } = stage.service;
      await untilQuiet(stage);
      const before = await scrapeOf(stage, 'nothing waits', (value) => value('database_connections_waiting') === 0);
      const free = Promise.withResolvers<void>();
      let begun = 0;
      const held = times(POOL, () => app.store.transaction(() => ((begun += 1), free.promise)));
      // A run that had a connection has ended by then, and no other run can get one.
      await until('all are in use', async () => begun === POOL);
      const others = times(3, () => app.store.read((tx) => tx.projects.list({})));
      return {
        before,
        isBlind: true,
        async undo() {
          free.resolve();
          await Promise.all([held, others]);
          await untilLooked(stage);
        },
      };
    },
    fires: ['ConnectionsExhausted', 'DatabaseDown', 'JobsBlind'],
  },
  {
    name: 'a database that is down',
    async plant(stage) {
      const { database, lines } = stage;
      await untilQuiet(stage);
      lines.length = 0;
      database.cut();
      await until('the jobs are blind', async () => lines.some(({ msg }) => /could not look for due rows/.test(msg)));
      return {
        isBlind: true,
        async undo() {
          database.mend();
          await untilLooked(stage);
        },
      };
    },
    fires: ['DatabaseDown', 'JobsBlind'],
  },
  {
    name: 'the only replica is gone',
    async plant({ end, scrape }) {
      await end();
      return { seen: await scrape() };
    },
    fires: ['ReplicaGone', 'ServiceGone'],
  },
];

const at = (name: string) => fileURLToPath(new URL(`../../config/deploy/${name}`, import.meta.url));
const RULES = at('alert-rules.yml');
const rulesText = readFileSync(RULES, 'utf8');

/** The alerts of the rules with their expressions. */
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
  const env = {
    PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    PAY_DATABASE_POOL_SIZE: String(POOL),
    PAY_JOBS_PER_RECEIVER: '2',
  };
  const service = await startService(t, { url: database.url, figuresEveryMs: 0, logger, env });
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
      fetch(endpoint)
        .then((answer) => answer.text())
        .then(readScrape, () => null),
    end: () => metrics.close(),
  };
  t.teardown(() => metrics.close());
  return stage;
}

test('every alert fires on the metrics of a real service with its fault, and no other alert does', async (t) => {
  const stage = await open(t);
  const folder = temporaryFolder(t);
  // One row of each kind, so that every metric exists.
  for (const payWay of ['alipay', 'wechat', 'paypal']) await placeOrder(stage.shop, { payWay });
  await untilTold(stage, [await payOrder(stage.service, stage.shop, { payWay: 'wechat' })]);
  await until('the jobs have looked', async () =>
    /^jobs_last_look_timestamp_seconds [1-9]/m.test(await figures(stage)),
  );
  const isHere = hasPromtool();
  if (!isHere) t.log('Not judged: this machine has no promtool (prometheus of the distribution).');
  const courses = new Map<Fault, Course>();
  for (const fault of FAULTS) {
    const well = await scrapeOf(stage, 'all is well');
    const { undo, before = well, seen, isBlind = false } = (await fault.plant(stage)) ?? {};
    const scrape = () => (isBlind ? stage.scrape() : scrapeOf(stage, fault.name));
    const first = seen === undefined ? await scrape() : seen;
    const second = seen === undefined ? await scrape() : seen;
    await undo?.();
    courses.set(fault, { isBlind, before, first, second });
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
  t.deepEqual([...unconventional], [], 'each metric follows the conventions of Prometheus during every fault');
  t.deepEqual([...fired].toSorted(), ALERTS.map(({ name }) => name).toSorted(), 'each alert has its fault');
  t.log(`${FAULTS.length} faults, ${fired.size} alerts`);

  t.deepEqual(documentedFigures().toSorted(), ownFigures(stage).toSorted(), 'server/http/README.md has every figure');

  const known = exposed(stage);
  for (const [where, expr] of expressions())
    for (const { name, labels } of metricsIn(expr)) {
      t.true(known.has(name), `${where}: there is no ${name}`);
      for (const label of labels)
        t.true(known.get(name)!.has(label) || ORIGIN.has(label), `${where}: ${name} has no ${label}`);
    }
});

/** The service's own metrics, each with its aggregation over processes. */
function ownFigures({ service }: Stage): [name: string, aggregator: string][] {
  return service.app.metrics.registry.getMetricsAsArray().flatMap((metric): [string, string][] => {
    const { name, aggregator } = metric as unknown as { name: string; aggregator: string };
    return /^(nodejs|process)_/.test(name) ? [] : [[name, aggregator]];
  });
}

/** The same metrics from the table in the README. */
function documentedFigures(): [name: string, aggregator: string][] {
  const readme = readFileSync(new URL('../../server/http/README.md', import.meta.url), 'utf8');
  const table = readme.slice(readme.indexOf('## Figures'));
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

/** Every exported metric with its labels. */
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

test('Prometheus accepts the rules and the dashboard expressions, and each alert links to its runbook', (t) => {
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

test('exactly the metrics of an expression are found', (t) => {
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
