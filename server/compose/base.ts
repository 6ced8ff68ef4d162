import type { Logger } from 'pino';
import type { Config } from '../../config/config.ts';
import { createFullness, requireEngine } from '../db/engine.ts';
import { migrate, schemaStatus, type SchemaStatus } from '../db/migrate.ts';
import { createReports, primaryReports, type Reports } from '../db/reports.ts';
import { createStore, type Store, type AfterCommit } from '../db/store.ts';
import { type DatabaseSettings, openDatabase, type OpenDatabase, TIMEOUTS } from '../db/orm.ts';
import { createRequests, outsideRequestTime, type Requests } from '../db/pool.ts';
import { DatabaseClock } from '../db/clock.ts';
import { createRateLimits, type CountedLimits } from '../db/rate-limits.ts';
import { LocalError } from '../errors.ts';
import { type KnownTip, LINES_LOST, NEW_TIP, type NewTip, createKnownTip } from '../identity/audit.ts';
import { createPasswords, type Passwords } from '../identity/passwords.ts';
import { createLogger } from '../http/logger.ts';
import { beginWork, outsideTrace } from '../work.ts';
import { createServiceFigures, type ServiceFigures } from './service-figures.ts';
import { createMetrics, type Metrics } from '../http/metrics.ts';
import type { RouteGroup } from '../http/router.ts';
import type { DueKind } from '../jobs/queues.ts';
import type { Task } from '../jobs/timetable.ts';
import type { BoardTimes } from '../live/board.ts';
import { type PaymentSource, ORDER_PAID } from '../payments/ledger.ts';
import { PATIENCE, type Patience, type Ports } from '../payments/ports.ts';

/** Values that replace the defaults when a process starts. Tests set most of them. */
export interface Overrides {
  now?: () => Date;
  logger?: Logger;
  checkpoint?: Ports['checkpoint'];
  simulatorUrl?: string;
  databaseTimeouts?: DatabaseSettings['timeouts'];
  patience?: Partial<Patience>;
  /** The index of this worker process among the workers; undefined = the service runs as a single process. */
  worker?: number | undefined;
  /** The interval (ms) at which the live feed (current data for the console) reads metrics and events. */
  liveTimes?: BoardTimes;
  /** How long metrics that come from the database are cached (ms). */
  figuresEveryMs?: number;
  /** A password hasher that needs less computing time. */
  passwords?: Passwords;
}

export interface Base {
  config: Config;
  database: OpenDatabase;
  schema: SchemaStatus;
  store: Store;
  /** Reads the data for lists, exports and statistics, from the read replica if there is one. */
  reports: Reports;
  requests: Requests;
  /** Whether writes fail because the disk of the database is full. */
  isFull: () => boolean;
  /** Wakes the job scheduler after a commit. A no-op until `composeJobs` sets it. */
  wakes: { wake?: AfterCommit };
  /** The newest line of the audit log that this process has seen. */
  auditTip: KnownTip;
  limits: CountedLimits;
  clock: DatabaseClock;
  /** The current time, corrected by `clock` if this machine's clock is wrong. Tests may replace this function. */
  now: () => Date;
  logger: Logger;
  log: Ports['log'];
  metrics: Metrics;
  figures: ServiceFigures;
  passwords: Passwords;
  figuresEveryMs: number | undefined;
  checkpoint: Ports['checkpoint'];
  patience: Patience;
  worker: number | null;
  liveTimes: BoardTimes;
  simulatorUrl: string | null;
}

export interface Part {
  groups: RouteGroup[];
  kinds?: readonly DueKind[];
  tasks?: readonly Task[];
}

/**
 * Time limits of the read replica (ms). They are short, so that the service can still query the primary within the time
 * limit of the request.
 */
const REPLICA_TIMEOUTS = { connect: 1_000, query: 2_500, statement: 2_400 };

class SchemaOutdated extends LocalError {
  constructor(pending: number) {
    super('schema_outdated', 503, `The database schema is not up to date: ${pending} migrations are pending.`, {
      hint: 'payctl server migrate',
    });
  }
}

/**
 * Migrates the schema, then builds the objects that every part of the service uses. Throws `schema_outdated` if
 * migrations are pending and `Database.Migrate` is off.
 */
export async function composeBase(config: Config, database: OpenDatabase, overrides: Overrides): Promise<Base> {
  const logger = overrides.logger ?? createLogger(config);
  const log: Ports['log'] = (level, message, { error, ...details } = {}) =>
    logger[level]({ ...details, err: error }, message);
  if (database.pooler?.missing !== undefined)
    log('warn', 'behind a pooler, PostgreSQL does not limit the time of reads by this role', {
      hint: database.pooler.missing,
    });
  const schema = await (config.database.migrate ? migrate(database) : schemaStatus(database));
  if (schema.pending.length > 0) throw new SchemaOutdated(schema.pending.length);
  await requireEngine(database);
  const clock = new DatabaseClock();
  await clock.query(database);
  const now = overrides.now ?? clock.now;
  const wakes: Base['wakes'] = {};
  const wake: AfterCommit = (by, row) => {
    if (by === NEW_TIP) onTip(row as NewTip);
    else if (by === ORDER_PAID) figures.orderPaid(row as PaymentSource);
    else outsideRequestTime(() => outsideTrace(() => beginWork({}, () => wakes.wake?.(by, row))));
  };
  const auditTip = createKnownTip();
  const onTip = (tip: NewTip) => {
    const { hash, action } = tip;
    auditTip.note(tip);
    logger.info({ tip: hash, action }, 'audit log tip');
    if (action === LINES_LOST) log('error', 'the audit log has lost lines', { hint: 'Run payctl audit-log verify.' });
  };
  const metrics = createMetrics();
  const figures = createServiceFigures(metrics.registry, schema.version, logger);
  const fullness = createFullness(now, metrics.registry);
  const requests = createRequests(overrides.databaseTimeouts?.request ?? TIMEOUTS.request);
  const hooks = { committed: requests.noteChange, failed: fullness.noteFailure };
  const store = createStore(database, wake, hooks);
  const { readUrl: url, readMaxLagSeconds: mostLagSeconds, ...settings } = config.database;
  const open = () =>
    openDatabase({ ...settings, url: url!, timeouts: { ...REPLICA_TIMEOUTS, ...overrides.databaseTimeouts } });
  const { registry } = metrics;
  return {
    config,
    database,
    schema,
    store,
    reports:
      url === undefined
        ? primaryReports(store)
        : createReports({ store, open, mostLagSeconds, requests, log, registry }),
    requests,
    isFull: fullness.isFull,
    wakes,
    auditTip,
    limits: createRateLimits(database, clock.time),
    clock,
    now,
    logger,
    log,
    metrics,
    figures,
    figuresEveryMs: overrides.figuresEveryMs,
    passwords: overrides.passwords ?? createPasswords(),
    checkpoint: overrides.checkpoint ?? (() => {}),
    patience: { ...PATIENCE, ...overrides.patience },
    worker: overrides.worker ?? null,
    liveTimes: overrides.liveTimes ?? {},
    simulatorUrl: config.simulator.url ?? overrides.simulatorUrl ?? null,
  };
}
