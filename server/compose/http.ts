import type Koa from 'koa';
import type { Config } from '../../config/config.ts';
import { placeOf } from '../db/connections.ts';
import { approvers } from '../db/queries/exceptions.ts';
import { clockAhead, currentChannels, failingWebhooks, secondFactors, silentNotices } from '../db/queries/diagnosis.ts';
import { countDue, lookForDue } from '../db/queries/due.ts';
import { projectsOf, sharersOf } from '../db/queries/project-scope.ts';
import type { Store } from '../db/store.ts';
import { hostAndPort, listensElsewhere, metricsUrl } from '../http/address.ts';
import { type KoaParts, buildKoa } from '../http/build-koa.ts';
import type { RefusalPage } from '../http/edge.ts';
import type { RouteGroup } from '../http/router.ts';
import { VERSION } from '../http/version.ts';
import { countAdmins } from '../identity/offline.ts';
import type { DueKind } from '../jobs/queues.ts';
import { refusalPage } from '../pages/error-pages.ts';
import { createWithKey } from '../payments/idempotency.ts';
import { diagnosisRoutes } from '../routes/diagnosis.ts';
import { buildRouter, guideRoutes } from '../routes/docs.ts';
import { publicRoutes } from '../routes/public.ts';
import { payerLanguage } from '../routes/schemas/language.ts';
import type { ReadyFacts } from '../workers/life.ts';
import type { Base } from './base.ts';

interface Needs extends Pick<KoaParts, 'authenticators' | 'exposedHeaders'> {
  /** Whether the service is about to stop. If so, the health check for load balancers fails. */
  isDraining: () => boolean;
  groups: readonly RouteGroup[];
}

/** Builds the Koa application with the routes of all parts. */
export function composeHttp(base: Base, { groups, isDraining, ...needs }: Needs): Koa {
  const { config, store, now, logger, limits, metrics, requests } = base;
  const ping = async () => void (await store.read((tx) => tx.sql`select 1`));
  const own = publicRoutes({
    info: async () => describe(base),
    pingDatabase: ping,
    isDraining,
    explorer: config.explorer.enabled,
    staging: config.environment === 'staging',
  });
  const guides = guideRoutes({ publicUrl: config.server.publicUrl, explorer: config.explorer.enabled });
  return buildKoa({
    ...needs,
    config,
    logger,
    metrics,
    belongings: {
      projectsOf: (thing, id) => store.read((tx) => projectsOf(tx, thing, id)),
      sharersOf: (account) => store.read((tx) => sharersOf(tx, account)),
    },
    rateLimits: limits,
    requests,
    withKey: createWithKey({ store, now }),
    refusalPage: pageOfRefusal,
    router: buildRouter([own, guides, ...groups], { enabled: config.explorer.enabled }),
  });
}

/** Renders a refusal as a page in the payer's language, because the client may be a payer's browser. */
const pageOfRefusal: RefusalPage = ({ address, headers, ...refused }) => {
  const requested = URL.parse(address ?? '', 'http://here')?.searchParams.get('lang') ?? undefined;
  const { language, headers: languageHeaders } = payerLanguage(requested, { headers });
  const body = refusalPage({ ...refused, language, address });
  return { headers: { ...languageHeaders, 'content-type': 'text/html; charset=utf-8' }, body };
};

function describe({ config, database, schema, isFull }: Base) {
  return {
    name: 'unified-payment-service',
    version: VERSION,
    environment: config.environment,
    debug: config.debug,
    database: database.kind === 'postgres' ? ('postgresql' as const) : ('embedded' as const),
    databaseFull: isFull(),
    schemaVersion: schema.version ?? '',
    uptimeSeconds: Math.floor(process.uptime()),
  };
}

/** Returns the diagnosis routes that `payctl doctor` queries. */
export function composeDiagnosis({ config, store, now }: Base, kinds: readonly DueKind[]): RouteGroup {
  const tables = kinds.map(({ rows }) => rows);
  return diagnosisRoutes({
    diagnose: () =>
      store.read(async (tx) => {
        const rows = await countDue(
          tx,
          tables.map(({ waiting }) => waiting(now())),
        );
        const lags = await lookForDue(tx, tables, now());
        return {
          production: config.production,
          consoleOpen: config.server.adminNetworks.length === 0,
          explorer: config.explorer.enabled && config.environment === 'production',
          listensElsewhere: listensElsewhere(config.server, config.server.listen),
          secondFactors: { required: config.admin.requireSecondFactor, ...(await secondFactors(tx)) },
          clockAheadSeconds: await clockAhead(tx),
          due: kinds.flatMap(({ name: kind }, at) =>
            rows[at] ? [{ kind, rows: rows[at], lagSeconds: Math.max(0, lags[at] ?? 0) }] : [],
          ),
          approvers: config.approval.refundAbove === 0 ? null : await approvers(tx, now()),
          failingWebhooks: await failingWebhooks(tx, now()),
          silentNotices: await silentNotices(tx, { now: now(), simulated: config.simulated }),
        };
      }),
  });
}

/** The addresses that the service listens on, with the actual port if 0 was configured. */
interface Opened {
  listens: { host: string; port: number };
  metricsPort: number | undefined;
  simulatorUrl: string | undefined;
}

/** Collects the facts to log or print when the service has begun to listen. */
export async function readyFacts(
  { schema, store }: Pick<Base, 'schema' | 'store'>,
  config: Config,
  { listens, metricsPort, simulatorUrl }: Opened,
): Promise<ReadyFacts> {
  const { database, debug, explorer, metrics, server, simulated, simulator } = config;
  return {
    version: VERSION,
    address: `http://${hostAndPort(listens)}`,
    publicUrl: server.publicUrl,
    explorer: explorer.enabled ? `${server.publicUrl}/swagger/index.html` : null,
    metrics: metricsUrl(metrics.listen, metricsPort),
    simulator: simulated ? (simulator.url ?? simulatorUrl ?? null) : null,
    database: database.kind === 'pglite' ? database.folder : placeOf(database.url),
    schema: schema.version,
    debug,
    // `lacks` (the first missing setup step) is only shown to the operator, so an unreadable database does not fail the
    // start.
    lacks: await lackOf(store, simulated).catch(() => null),
    pid: process.pid,
  };
}

/** Returns the warnings that are logged when the service has begun to listen. `payctl doctor` prints them too. */
export function startWarnings(
  {
    production,
    server,
    admin,
  }: Pick<Config, 'production' | 'admin'> & { server: Pick<Config['server'], 'publicUrl' | 'trustedProxies'> },
  listens: Opened['listens'],
): { message: string; facts: Record<string, unknown> }[] {
  const elsewhere = listensElsewhere(server, listens);
  const facts = { publicUrl: server.publicUrl, listens: elsewhere, hint: 'Server.PublicUrl' };
  return [
    ...(elsewhere === null
      ? []
      : [{ message: 'links for payers point to a port on which this service does not listen', facts }]),
    ...(production && !admin.requireSecondFactor
      ? [{ message: 'administrators can log in without second factor', facts: { hint: 'Admin.RequireSecondFactor' } }]
      : []),
  ];
}

/**
 * Returns the first missing setup step; null = none. An administrator comes first, because only an administrator can
 * configure channels. In simulator mode no channel is missing, because simulator channels are created at start.
 */
async function lackOf(store: Store, simulated: boolean): Promise<ReadyFacts['lacks']> {
  if ((await countAdmins(store)) === 0) return 'administrator';
  if (simulated) return null;
  const channels = await store.read(currentChannels);
  const usable = channels.filter(
    ({ mode, enabled, missing }) => enabled && missing.length === 0 && mode !== 'simulator',
  );
  return usable.length === 0 ? 'channel' : null;
}
