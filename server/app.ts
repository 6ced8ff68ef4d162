import type Koa from 'koa';
import type { Logger } from 'pino';
import { Counter } from 'prom-client';
import type { Config } from '../config/config.ts';
import { redactText } from './channels/redaction.ts';
import { createTransport } from './channels/transport.ts';
import { createMessageLog, type MessageLog } from './db/message-log.ts';
import { migrate, schemaStatus, type SchemaStatus } from './db/migrate.ts';
import { openDatabase, type OpenDatabase } from './db/orm.ts';
import { claimDueOrder, claimDueRefund, dueOrders, dueRefunds } from './db/queries/due.ts';
import { identityQueries } from './db/queries/identity.ts';
import { createRateLimits } from './db/rate-limits.ts';
import { seed } from './db/seed.ts';
import { createStore, type Store } from './db/store.ts';
import { AppError } from './errors.ts';
import { recordEvents } from './events/record.ts';
import { composeCredentials } from './compose/credentials.ts';
import { composeEvents, type Events } from './compose/events.ts';
import { createEffects } from './catalog/effects.ts';
import { composeCatalog } from './compose/catalog.ts';
import { composeSkillpay } from './compose/skillpay.ts';
import { refuseDebugBesideLive } from './credentials/debug-guard.ts';
import { deleteOldKeys } from './db/queries/idempotency.ts';
import { buildKoa } from './http/build-koa.ts';
import { createLogger } from './http/logger.ts';
import { createMetrics, type Metrics } from './http/metrics.ts';
import { consoleAppRow, consoleClientId } from './identity/api-app-row.ts';
import { createIdentity, type Identity } from './identity/identity.ts';
import { scopes } from './identity/scopes.ts';
import { testAppRows } from './identity/test-apps.ts';
import { createJobQueue } from './jobs/queue.ts';
import { createSweep, type Sweep } from './jobs/sweep.ts';
import { verifyAuditChain } from './identity/audit-chain.ts';
import { proveBooks } from './payments/books.ts';
import { explainOrder } from './payments/explain/explain.ts';
import { checkOrder } from './payments/check-order.ts';
import { checkRefund } from './payments/check-refund.ts';
import { composeEffects } from './payments/compose-effects.ts';
import { createIdempotency } from './payments/idempotency.ts';
import { raiseException } from './payments/journal.ts';
import { paymentOperations, type PaymentOperations } from './payments/operations.ts';
import { payerOrders } from './payments/payer.ts';
import type { Channels, Ports } from './payments/ports.ts';
import { buildRouter, type RouteGroup } from './routes/index.ts';
import { loginRoutes } from './routes/login.ts';
import { notifyRoutes } from './routes/notify.ts';
import { oauthRoutes } from './routes/oauth.ts';
import { payerRoutes } from './routes/payer.ts';
import { publicRoutes } from './routes/public.ts';
import { adminRoutes } from './routes/v1/admins.ts';
import { apiAppRoutes } from './routes/v1/api-apps.ts';
import { auditLogRoutes } from './routes/v1/audit-log.ts';
import { bookRoutes } from './routes/v1/books.ts';
import { consolePaymentRoutes } from './routes/v1/console-payment.ts';
import { exceptionRoutes } from './routes/v1/exceptions.ts';
import { explainRoutes } from './routes/v1/explain.ts';
import { meRoutes } from './routes/v1/me.ts';
import { orderRoutes } from './routes/v1/orders.ts';
import { refundRoutes } from './routes/v1/refunds.ts';
import { appMeRoutes } from './routes/v2/me.ts';
import { paymentRoutes } from './routes/v2/payment.ts';
import { skillEffects } from './skillpay/effects.ts';
import type { SkillOperations } from './skillpay/operations.ts';
import { VERSION } from './version.ts';

/** What tests put in the place of the real thing. */
export interface Overrides {
  now?: () => Date;
  logger?: Logger;
  checkpoint?: Ports['checkpoint'];
  channels?: (parts: { store: Store; send: ReturnType<typeof createTransport> }) => Channels;
  /** Where the simulator of this process listens. */
  simulatorUrl?: string;
}

/** The assembled service; it accepts requests through `koa`, and works in the background after `startJobs`. */
export interface App {
  koa: Koa;
  store: Store;
  database: OpenDatabase;
  schema: SchemaStatus;
  logger: Logger;
  metrics: Metrics;
  identity: Identity;
  payments: PaymentOperations;
  skillpay: SkillOperations;
  ports: Ports;
  sweep: Sweep;
  /** What is sent to merchants, apart from the sweep of money. */
  deliveries: Events['deliveries'];
  messages: MessageLog;
  /** With Debug: hands the simulator's configurations over, so that the first payment finds its channel. */
  prepare(): Promise<void>;
  startJobs(): Promise<void>;
  close(): Promise<void>;
}

/** The schema is behind and Database.Migrate is off. */
export class SchemaOutdated extends AppError {
  constructor(pending: number) {
    super('schema_outdated', 503, `The database schema is ${pending} migrations behind.`, {
      hint: 'payctl server migrate',
    });
  }
}

/** The composition root: opens the database, assembles every operation over its ports, and builds the routes. */
export async function buildApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const now = overrides.now ?? (() => new Date());
  const logger = overrides.logger ?? createLogger(config);
  const log: Ports['log'] = (level, message, { error, ...details } = {}) =>
    logger[level]({ ...details, err: error }, message);
  const metrics = createMetrics();
  const database = await openDatabase(config.database);
  try {
    return await assemble();
  } catch (error) {
    await database.close();
    throw error;
  }

  async function assemble(): Promise<App> {
    const schema = config.database.migrate ? await migrate(database) : await schemaStatus(database);
    if (schema.pending.length > 0) throw new SchemaOutdated(schema.pending.length);
    const queue = createJobQueue(database, config.database.url, log);
    const store = createStore(database, queue.wake);
    const messages = createMessageLog(store, (error) => log('warn', 'channel messages were not kept', { error }));
    const simulatorUrl = config.simulator.url ?? overrides.simulatorUrl ?? null;
    const counts = createRateLimits(database);
    const identity = createIdentity({ config, store, queries: identityQueries, counts, now });
    if (config.debug) await refuseDebugBesideLive(store);
    await seed(store, { consoleApp: consoleAppRow, testApps: testAppRows }, { debug: config.debug, now });
    const send = createTransport({ timeoutMs: config.channels.timeoutMs, record: keep(messages, now) });
    const credentials = composeCredentials({ config, store, send, now, audit: identity.audit, simulatorUrl, log });
    const channels = overrides.channels?.({ store, send }) ?? credentials.channels;
    const recordEvent = recordEvents(now);
    const ports: Ports = {
      store,
      channels,
      now,
      recordEvent,
      effects: composeEffects(
        createEffects({
          now,
          recordEvent,
          raise: (tx, order, kind, also) => raiseException(ports, tx, order, kind, also),
        }),
        skillEffects({ now }),
      ),
      publicUrl: config.server.publicUrl,
      log,
      checkpoint: overrides.checkpoint ?? (() => {}),
      heard: ({ request, call, ...message }) =>
        messages.record({
          ...message,
          call: call.slice(0, 64),
          request: redactText(request).slice(0, 16_384),
          direction: 'in',
          durationMs: null,
          at: now(),
        }),
      count: counter(metrics),
    };
    const payments = paymentOperations(ports);
    const skillpay = composeSkillpay({ config, ports, payments, sealing: credentials.sealing, simulatorUrl });
    await skillpay.seedDemo();
    const orders = checkOrder(ports);
    const refunds = checkRefund(ports);
    const sweep = createSweep(
      store,
      now,
      [
        { name: 'order', claim: dueOrders(config.debug), run: orders },
        { name: 'refund', claim: dueRefunds(config.debug), run: (refundNo) => refunds(refundNo) },
        skillpay.due,
      ],
      log,
    );
    const events = composeEvents({
      config,
      store,
      now,
      identity,
      log,
      sealing: credentials.sealing,
      checkpoint: ports.checkpoint,
      isDraining: () => koa.context.draining === true,
    });
    const groups: RouteGroup[] = [
      publicRoutes({ info: () => describe(config, database, schema), pingDatabase: () => ping(store) }),
      loginRoutes(identity),
      oauthRoutes({ oauth: identity.oauth, issuer: config.oauth.issuer, publicUrl: config.server.publicUrl, scopes }),
      meRoutes(identity),
      adminRoutes(identity),
      apiAppRoutes(identity),
      auditLogRoutes(identity),
      consolePaymentRoutes({ ...payments, consoleClientId }),
      orderRoutes(payments),
      refundRoutes(payments),
      exceptionRoutes(payments),
      explainRoutes({ explain: explainOrder({ store, now, debug: config.debug }) }),
      bookRoutes({ prove: proveBooks(ports, () => verifyAuditChain(store, identityQueries)) }),
      ...credentials.groups,
      ...events.groups,
      ...composeCatalog(ports, payments, identity.audit),
      appMeRoutes(),
      paymentRoutes(payments),
      ...skillpay.groups,
      notifyRoutes(payments),
      payerRoutes(payerOrders(ports, payments)),
    ];
    const koa = await buildKoa({
      config,
      logger,
      authenticators: identity.authenticators,
      rateLimits: counts,
      idempotency: createIdempotency({ store, now }),
      router: buildRouter(groups, { enabled: config.explorer.enabled, version: VERSION }),
      metrics,
      exposedHeaders: skillpay.exposedHeaders,
    });
    return {
      koa,
      store,
      database,
      schema,
      logger,
      metrics,
      identity,
      payments,
      skillpay: skillpay.operations,
      ports,
      sweep,
      deliveries: events.deliveries,
      messages,
      prepare,
      startJobs,
      close,
    };

    async function prepare(): Promise<void> {
      const silent = (error: unknown) => log('warn', 'the simulator did not answer', { error });
      if (config.debug) await credentials.seedSimulator().catch(silent);
    }

    async function startJobs(): Promise<void> {
      sweep.start();
      events.deliveries.start();
      await queue.start(
        {
          'deliver-event': events.wake,
          capture: async ({ orderNo = '' }) => {
            if (await store.transaction((tx) => claimDueOrder(tx, orderNo, now()))) await orders(orderNo);
          },
          'refund-check': async ({ refundNo = '' }) => {
            if (await store.transaction((tx) => claimDueRefund(tx, refundNo, now()))) await refunds(refundNo);
          },
        },
        {
          'clean-up': { cron: '17 * * * *', run: cleanUp },
          'certificate-expiry': { cron: '23 3 * * *', run: credentials.watchExpiry },
        },
      );
    }

    async function cleanUp(): Promise<void> {
      await identity.deleteExpiredRevocations();
      await counts.deleteExpired(now());
      await store.transaction((tx) => deleteOldKeys(tx, now()));
    }

    async function close(): Promise<void> {
      await sweep.stop();
      await events.close();
      await skillpay.idle();
      await queue.stop();
      await credentials.idle();
      await messages.close();
      await database.close();
    }
  }
}

/** Keeps a channel's exchanges for the timeline of their order. */
function keep(messages: MessageLog, now: () => Date): NonNullable<Parameters<typeof createTransport>[0]['record']> {
  return ({ call, orderNo, refundNo, url, status, failure, durationMs, request, answer }) => {
    if (!orderNo) return;
    messages.record({
      orderNo,
      refundNo: refundNo ?? null,
      payWay: payWayOf(url),
      direction: 'out',
      call: call.slice(0, 64),
      status,
      durationMs: Math.round(durationMs),
      request,
      answer,
      note: failure,
      at: now(),
    });
  };
}

function payWayOf(url: string): 'alipay' | 'wechat' | 'paypal' {
  if (/alipay/.test(url)) return 'alipay';
  return /paypal/.test(url) ? 'paypal' : 'wechat';
}

function counter({ registry }: Metrics): Ports['count'] {
  const notices = new Counter({
    name: 'channel_notices_total',
    help: 'Notices by channel and result.',
    labelNames: ['payWay', 'result'],
    registers: [registry],
  });
  const refused = new Counter({
    name: 'channel_notices_refused_total',
    help: 'Notices that were not genuine, by reason.',
    labelNames: ['payWay', 'why'],
    registers: [registry],
  });
  const exceptions = new Counter({
    name: 'order_exceptions_total',
    help: 'Exceptions by kind.',
    labelNames: ['kind'],
    registers: [registry],
  });
  const counters: Record<string, Counter> = { notice: notices, notice_refused: refused, order_exception: exceptions };
  return (name, labels = {}) => counters[name]?.inc(labels);
}

async function ping(store: Store): Promise<void> {
  await store.read((tx) => tx.sql('select 1'));
}

async function describe(config: Config, { kind }: OpenDatabase, { version }: SchemaStatus) {
  return {
    name: 'unified-payment-service',
    version: VERSION,
    debug: config.debug,
    database: kind === 'postgres' ? ('postgresql' as const) : ('embedded' as const),
    schemaVersion: version ?? '',
    uptimeSeconds: Math.floor(process.uptime()),
  };
}
