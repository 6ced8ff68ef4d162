import { readNetwork } from '../addresses.ts';
import Koa from 'koa';
import type { Logger } from 'pino';
import type { WithKey } from '../payments/idempotency.ts';
import { type Authenticators, type Belongings, KEY_IGNORED } from './contract.ts';
import { STAGING_HEADERS, cors, observe, onError, stagingMark, validate } from './middleware.ts';
import { type Edge, type RateLimits, type RefusalPage, type Requests, securityHeaders } from './edge.ts';
import type { Metrics } from './metrics.ts';
import { type RouteGroup, dispatch, refuseUnserved } from './router.ts';

export interface HttpConfig {
  environment: 'development' | 'staging' | 'production';
  server: {
    publicUrl: string;
    trustedProxies: number;
    adminNetworks: readonly string[];
    corsOrigins: readonly string[];
  };
  rateLimit: { perApp: number; badCredentialsPerMinute: number };
}

export interface KoaParts {
  config: HttpConfig;
  logger: Logger;
  authenticators: Authenticators;
  belongings: Belongings;
  rateLimits: RateLimits;
  requests: Requests;
  withKey: WithKey;
  router: RouteGroup;
  metrics?: Metrics;
  /** Absent = browsers get the JSON error response (problem document) like other clients. */
  refusalPage?: RefusalPage;
  /** Additional response headers that web pages of other origins may read (CORS). */
  exposedHeaders?: readonly string[];
}

const exposed = [
  'Idempotent-Replayed',
  KEY_IGNORED,
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
];

/** Builds the Koa application: logging, errors, CORS, routes. */
export function buildKoa(parts: KoaParts): Koa {
  const { config, logger, router } = parts;
  const edge = toEdge(parts);
  const koa = new Koa();
  koa.context.edge = edge;
  koa.silent = true;
  koa.on('error', (error: unknown) => logger.warn({ err: error }, 'a response could not be sent completely'));
  koa.use(observe(edge.marks));
  koa.use(securityHeaders(edge.secure));
  koa.use(validate);
  if (config.environment === 'staging') koa.use(stagingMark);
  koa.use(onError);
  if (config.server.corsOrigins.length > 0) {
    koa.use(
      cors(config.server.corsOrigins, [
        ...exposed,
        ...edge.marks.map(([name]) => name),
        ...(parts.exposedHeaders ?? []),
      ]),
    );
  }
  koa.use(dispatch(router));
  koa.use(refuseUnserved);
  return koa;
}

function toEdge({ config, ...parts }: KoaParts): Edge {
  const { publicUrl, trustedProxies, adminNetworks } = config.server;
  const { authenticators, belongings, rateLimits, requests, withKey, logger, metrics, refusalPage } = parts;
  return {
    authenticators,
    belongings,
    withKey,
    rateLimits,
    requests,
    logger,
    metrics,
    marks: config.environment === 'staging' ? STAGING_HEADERS : [],
    refusalPage,
    publicOrigin: new URL(publicUrl).origin,
    secure: publicUrl.startsWith('https:'),
    trustedProxies,
    adminNetworks: adminNetworks.map((network) => readNetwork(network) ?? network),
    perAppLimit: config.rateLimit.perApp,
    badCredentialsPerMinute: config.rateLimit.badCredentialsPerMinute,
  };
}
