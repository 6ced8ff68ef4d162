import { Gauge, type GaugeConfiguration, type Registry } from 'prom-client';
import { aheadOf } from '../db/clock.ts';
import { billFigures } from '../db/queries/bills.ts';
import { countDue } from '../db/queries/due.ts';
import { MOST_COUNTED, firstEnds, waitingFigures } from '../db/queries/figures.ts';
import type { ReadTx, Store } from '../db/store.ts';
import { DIFFERENCE_KINDS, EXCEPTION_KINDS } from '../domain.ts';
import type { DueKind } from '../jobs/queues.ts';
import type { Base } from './base.ts';

interface FigureGroup {
  /** Adds a gauge to the group; all replicas and workers report the same value. */
  gauge<Label extends string>(configuration: Figure<Label>): Gauge<Label>;
  /** Refreshes the gauges if necessary; resolves when they can be scraped. */
  collect(): Promise<void>;
}

/** `labelNames` is required, because prom-client reports a gauge without labels as 0 instead of leaving it out. */
type Figure<Label extends string> = Required<Pick<GaugeConfiguration<Label>, 'name' | 'help' | 'labelNames'>>;

export interface FigurePorts<Found> {
  store: Pick<Store, 'read'>;
  registry: Registry;
  read: (tx: ReadTx) => Promise<Found>;
  /** Sets the gauges to the values that were read. The gauges are reset before each call. */
  show: (found: Found) => void;
  /** Called after each read: true if it succeeded, false if it failed or took too long. */
  answered?: (isAnswered: boolean) => void;
  /** Every process is scraped, so without this minimum interval (ms) many processes would load the database. */
  everyMs?: number;
  /** How long a scrape waits for the database (ms); after this time the metrics of the group are absent. */
  patienceMs?: number;
}

/**
 * For each metrics registry, the end of the most recently started read of metrics from the database. The next group of
 * metrics waits for it. So a scrape uses only one database connection.
 */
const turns = new WeakMap<Registry, Promise<void>>();

/**
 * Creates a group of metrics that are read at a scrape, at most every `everyMs`. While the database does not respond,
 * these metrics are absent and all other metrics are not delayed.
 */
export function figureGroup<Found>({
  store,
  registry,
  read,
  show,
  answered = () => {},
  everyMs = 10_000,
  patienceMs = 1_500,
}: FigurePorts<Found>): FigureGroup {
  const gauges: Gauge[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;
  return {
    gauge(configuration) {
      const gauge = new Gauge({ ...configuration, registers: [registry], aggregator: 'max', collect });
      gauges.push(gauge);
      return gauge;
    },
    collect,
  };

  /** prom-client calls this function for every gauge of the group at the same time. All calls share one read. */
  async function collect(): Promise<void> {
    if (performance.now() - readAt < everyMs) return;
    if (!reading) {
      const before = turns.get(registry);
      reading = (before ? before.then(readNow) : readNow()).finally(() => (reading = undefined));
      turns.set(registry, reading);
    }
    const late = Promise.withResolvers<true>();
    const timer = setTimeout(late.resolve, patienceMs, true);
    const isLate = await Promise.race([reading, late.promise]);
    clearTimeout(timer);
    if (isLate) fail();
  }

  async function readNow(): Promise<void> {
    try {
      const found = await store.read(read);
      empty();
      show(found);
      readAt = performance.now();
      answered(true);
    } catch {
      fail();
    }
  }

  function fail(): void {
    readAt = Number.NEGATIVE_INFINITY;
    empty();
    answered(false);
  }

  function empty(): void {
    for (const gauge of gauges) gauge.reset();
  }
}

/** Certificate expiry is read rarely, because it changes slowly. */
const CERTIFICATES_EVERY_MS = 60_000;

/** Registers the metrics that are read from the database, and the metrics of the database connections. */
export function composeDatabaseFigures(base: Base): void {
  addWaiting(base);
  addCertificates(base);
  addConnections(base);
}

function addWaiting({ store, now, metrics: { registry }, figuresEveryMs: everyMs, figures }: Base): void {
  const up: Gauge = new Gauge({
    name: 'database_up',
    help: '1 if the database responded when the metrics were read; 0 if it failed or did not respond before the timeout of a scrape.',
    aggregator: 'min',
    registers: [registry],
    collect: () => group.collect(),
  });
  const group = figureGroup({
    store,
    registry,
    ...(everyMs !== undefined && { everyMs }),
    read: async (tx) => {
      const sentAt = Date.now();
      const found = await waitingFigures(tx, now());
      return { ...found, skewMs: aheadOf({ sentAt, theirs: found.at.getTime(), receivedAt: Date.now() }) };
    },
    answered: (isAnswered) => up.set(isAnswered ? 1 : 0),
    show({ exceptions: open, deliveries: waiting, skewMs }) {
      for (const kind of EXCEPTION_KINDS) exceptions.set({ kind }, 0);
      for (const { kind, count } of open) exceptions.set({ kind }, count);
      for (const [state, count] of Object.entries(waiting)) deliveries.set({ state }, count);
      figures.clockAhead('database', skewMs / 1000);
    },
  });
  figures.readClocks(() => group.collect());
  const exceptions = group.gauge({
    name: 'exceptions_open',
    help: `Open exceptions that an operator must review, by kind; at most ${MOST_COUNTED} of all kinds together are counted.`,
    labelNames: ['kind'],
  });
  const deliveries = group.gauge({
    name: 'webhook_deliveries',
    help: `Webhook deliveries by state; at most ${MOST_COUNTED} of each state are counted. waiting: never attempted. retrying: failed, will be attempted again. failed: given up within the last day, among the ${MOST_COUNTED} deliveries that ended last.`,
    labelNames: ['state'],
  });
}

function addCertificates({ config, store, now, metrics: { registry }, figuresEveryMs }: Base): void {
  const group = figureGroup({
    store,
    registry,
    everyMs: figuresEveryMs ?? CERTIFICATES_EVERY_MS,
    read: (tx) => firstEnds(tx, config.simulated),
    show(ends) {
      for (const { payWay, kind, end } of ends)
        left.set({ pay_way: payWay, kind }, Math.floor((end.getTime() - now().getTime()) / 1000));
    },
  });
  const left = group.gauge({
    name: 'certificate_left_seconds',
    help: 'Seconds until the first certificate of a kind that an enabled channel uses expires; negative after it expired.',
    labelNames: ['pay_way', 'kind'],
  });
}

/** Registers `due_rows`: the rows that wait for a job, are due, and are not being processed by any replica. */
export function composeDueFigures(
  { store, now, metrics: { registry }, figuresEveryMs: everyMs }: Base,
  kinds: readonly Pick<DueKind, 'name' | 'rows'>[],
): void {
  const group = figureGroup({
    store,
    registry,
    ...(everyMs !== undefined && { everyMs }),
    read: (tx) =>
      countDue(
        tx,
        kinds.map(({ rows }) => rows.waiting(now())),
      ),
    show: (counts) => kinds.forEach(({ name: kind }, at) => due.set({ kind }, counts[at] ?? 0)),
  });
  const due = group.gauge({
    name: 'due_rows',
    help: `Due rows that no replica is processing, by kind; at most ${MOST_COUNTED} of each kind are counted.`,
    labelNames: ['kind'],
  });
}

/** Registers the metrics of this process's database connections. The embedded database has no such metrics. */
function addConnections({ database: { connections }, metrics: { registry } }: Base): void {
  if (!connections) return;
  const registers = [registry];
  const open = new Gauge({
    name: 'database_connections',
    help: 'Open connections to the database, by state: used or idle.',
    labelNames: ['state'],
    registers,
    collect() {
      const { total, idle } = connections();
      open.set({ state: 'used' }, total - idle);
      open.set({ state: 'idle' }, idle);
    },
  });
  const most: Gauge = new Gauge({
    name: 'database_connections_max',
    help: 'Maximum number of open connections to the database (Database.PoolSize).',
    registers,
    collect: () => most.set(connections().max),
  });
  const waiting: Gauge = new Gauge({
    name: 'database_connections_waiting',
    help: 'Requests that wait for a free connection to the database.',
    registers,
    collect: () => waiting.set(connections().waiting),
  });
}

const DAY_MS = 86_400_000;
/** `bill_age_seconds` leaves out accounts whose newest bill is for a day more than this number of days ago. */
const WATCHED_DAYS = 8;

/**
 * Registers the metrics about bills: the number of unresolved differences between bills and orders, and the age of each
 * account's newest compared bill.
 */
export function composeBillFigures({ config, store, metrics: { registry }, now, figuresEveryMs: everyMs }: Base): void {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  const group = figureGroup({
    store,
    registry,
    ...(everyMs !== undefined && { everyMs }),
    read: (tx) => billFigures(tx, day(now().getTime() - WATCHED_DAYS * DAY_MS), config.simulated),
    show({ differences: open, newest }) {
      for (const kind of DIFFERENCE_KINDS) differences.set({ kind }, 0);
      for (const { kind, count } of open) differences.set({ kind }, count);
      for (const { payWay, account, day: last } of newest)
        age.set({ pay_way: payWay, account }, (Date.parse(day(now().getTime())) - Date.parse(last)) / 1000);
    },
  });
  const differences = group.gauge({
    name: 'bill_differences',
    help: 'Unresolved differences between the bills of the channels and the orders, by kind.',
    labelNames: ['kind'],
  });
  const age = group.gauge({
    name: 'bill_age_seconds',
    help: 'Seconds since the newest day whose bill was compared with the orders, in whole days. More than three days mean that no bills arrive.',
    labelNames: ['pay_way', 'account'],
  });
}
