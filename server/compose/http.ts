import type Koa from 'koa';
import { buildKoa, type KoaParts } from '../http/build-koa.ts';
import { projectsOf, sharersOf } from '../db/queries/reach.ts';
import type { RefusalPage } from '../http/edge.ts';
import { VERSION } from '../http/version.ts';
import { createWithKey } from '../payments/idempotency.ts';
import { refusalPage } from '../pages/refusal-page.ts';
import { buildRouter, guideRoutes } from '../routes/docs.ts';
import type { RouteGroup } from '../http/router.ts';
import { publicRoutes } from '../routes/public.ts';
import { payerLanguage } from '../routes/schemas/language.ts';
import type { Base } from './base.ts';

/** What the API needs of other parts. */
interface Needs extends Pick<KoaParts, 'authenticators' | 'exposedHeaders'> {
  /** The service is about to stop: balancers are told. */
  isDraining: () => boolean;
  /** The routes of all parts. */
  groups: readonly RouteGroup[];
}

/** Assembles the API. */
export async function composeHttp(base: Base, { groups, isDraining, ...needs }: Needs): Promise<Koa> {
  const { config, store, now, logger, limits, metrics, requests } = base;
  const ping = async () => void (await store.read((tx) => tx.sql('select 1')));
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

/** Whose request was refused may be a payer. */
const pageOfRefusal: RefusalPage = ({ address, headers, ...refused }) => {
  const asked = URL.parse(address ?? '', 'http://here')?.searchParams.get('lang') ?? undefined;
  const { language, headers: said } = payerLanguage(asked, { headers });
  const body = refusalPage({ ...refused, language, address });
  return { headers: { ...said, 'content-type': 'text/html; charset=utf-8' }, body };
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
