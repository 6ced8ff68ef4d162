import { Gauge } from 'prom-client';
import { countDue } from '../db/queries/due.ts';
import { firstEnds, MOST_COUNTED, waitingFigures } from '../db/queries/figures.ts';
import type { DueKind } from '../jobs/due-kind.ts';
import { EXCEPTION_KINDS } from '../domain.ts';
import type { Base } from './base.ts';
import { figureGroup } from './figure-group.ts';

/** Certificates end slowly. */
const CERTIFICATES_EVERY_MS = 60_000;

/** Adds what the database knows to the figures, and how the way there is. */
export function composeDatabaseFigures(base: Base): void {
  addWaiting(base);
  addCertificates(base);
  addConnections(base);
}

function addWaiting({ store, now, metrics: { registry }, figuresEveryMs: everyMs, figures }: Base): void {
  const up: Gauge = new Gauge({
    name: 'database_up',
    help: 'Whether the database answered when the figures were read; 0 also when it took longer than a scrape may wait.',
    aggregator: 'min',
    registers: [registry],
    collect: () => group.collect(),
  });
  const group = figureGroup({
    store,
    registry,
    ...(everyMs !== undefined && { everyMs }),
    read: async (tx) => {
      const asked = Date.now();
      const found = await waitingFigures(tx, now());
      return { ...found, skewMs: (asked + Date.now()) / 2 - found.at.getTime() };
    },
    heard: (isAnswered) => up.set(isAnswered ? 1 : 0),
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
    help: `Exceptions that wait for a person, by kind; ${MOST_COUNTED} of all kinds at most.`,
    labelNames: ['kind'],
  });
  const deliveries = group.gauge({
    name: 'webhook_deliveries',
    help: `Deliveries of webhooks that were never tried (waiting), that failed and are tried again (retrying), and that were given up within a day (failed); ${MOST_COUNTED} of each at most.`,
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
        left.set({ pay_way: payWay, kind }, Math.floor((Date.parse(end) - now().getTime()) / 1000));
    },
  });
  const left = group.gauge({
    name: 'certificate_left_seconds',
    help: 'Time until the first certificate of a kind that an enabled channel uses ends; negative once it ended.',
    labelNames: ['pay_way', 'kind'],
  });
}

/** Adds how many rows are due that nobody works, beside for how long (`due_lag_seconds`). */
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
        kinds.map(({ rows }) => rows.waiting),
        now(),
      ),
    show: (counts) => kinds.forEach(({ name: kind }, at) => due.set({ kind }, counts[at] ?? 0)),
  });
  const due = group.gauge({
    name: 'due_rows',
    help: `Rows that are due and that nobody works, by kind; ${MOST_COUNTED} of each at most.`,
    labelNames: ['kind'],
  });
}

/** Of each process its own; the embedded database has none. */
function addConnections({ database: { connections }, metrics: { registry } }: Base): void {
  if (!connections) return;
  const registers = [registry];
  const open = new Gauge({
    name: 'database_connections',
    help: 'Open connections to the database, by whether they are in use or idle.',
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
    help: 'Connections to the database that may be open at once (Database.PoolSize).',
    registers,
    collect: () => most.set(connections().max),
  });
  const waiting: Gauge = new Gauge({
    name: 'database_connections_waiting',
    help: 'Statements that wait for a connection to become free.',
    registers,
    collect: () => waiting.set(connections().waiting),
  });
}
