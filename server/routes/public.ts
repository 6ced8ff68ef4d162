import { z } from 'zod';
import { Unavailable } from '../errors.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { STAGING_STYLE, STAGING_STYLE_PATH } from '../http/middleware.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import { PING_DATABASE_ERRORS } from './schemas/errors.ts';

const HealthStatus = z.object({ status: z.literal('ok') }).meta({ id: 'HealthStatus' });

const ServiceInfo = z
  .object({
    name: z.string(),
    version: z.string(),
    environment: z.enum(['development', 'staging', 'production']),
    debug: z.boolean(),
    database: z.enum(['postgresql', 'embedded']),
    databaseFull: z
      .boolean()
      .describe(
        'True if writes of this replica failed within the last minute because the disk of the database is full.',
      ),
    schemaVersion: z.string().describe('Latest applied migration.'),
    uptimeSeconds: z.int().describe('Seconds since the process started.'),
  })
  .meta({ id: 'ServiceInfo' });

interface PublicOperations {
  info(): Promise<z.input<typeof ServiceInfo>>;
  /** Resolves if the database responds, otherwise rejects. */
  pingDatabase(): Promise<void>;
  /** Whether the service is about to stop. If so, load balancers must send no new requests. */
  isDraining?(): boolean;
  /** Whether the API explorer is served. If so, `/` redirects to it, otherwise to the guides. */
  explorer?: boolean;
  /** Whether this is a staging service, so that the stylesheet of the staging banner is served. */
  staging?: boolean;
}

/** Time limit of the database check (ms): load balancers wait at most three seconds for the response. */
const pingMs = 2500;

/** Health checks for load balancers, information for administrators, and the redirect of the path `/`. */
export function publicRoutes({
  info,
  pingDatabase,
  isDraining = () => false,
  explorer = true,
  staging = false,
}: PublicOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /health:
   *   get:
   *     tags: [Service]
   *     operationId: getHealth
   *     summary: Liveness check
   *     description: Returns 200 as long as the process can respond. Nothing else is checked.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { status: ok }
   */
  router.get(
    '/health',
    endpoint({ auth: 'none', returns: HealthStatus, bare: true }, () => ({ status: 'ok' })),
  );

  /**
   * @openapi
   * /health/db:
   *   get:
   *     tags: [Service]
   *     operationId: getDatabaseHealth
   *     summary: Database health check
   *     description: >-
   *       For load balancers. Returns 200 if the database responds, and 503 within three seconds if it does not. Also returns 503 while
   *       the process is about to stop. The response does not reveal which database is used.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { status: ok }
   */
  router.get(
    '/health/db',
    endpoint({ auth: 'none', returns: HealthStatus, bare: true, errors: PING_DATABASE_ERRORS }, async () => {
      if (isDraining())
        throw new Unavailable('shutting_down', 'This replica of the service is about to stop. Use another replica.');
      await within(pingMs, pingDatabase(), databaseSilent).catch(refuseAsUnavailable);
      return { status: 'ok' };
    }),
  );

  /**
   * @openapi
   * /api/v1/info:
   *   get:
   *     tags: [Service]
   *     operationId: getServiceInfo
   *     summary: Service information
   *     description: >-
   *       For administrators. `environment` is `Server.Environment`; `debug` is true while test applications and simulator channels
   *       are active.
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example:
   *               data:
   *                 name: unified-payment-service
   *                 version: 0.1.0
   *                 environment: production
   *                 debug: false
   *                 database: postgresql
   *                 databaseFull: false
   *                 schemaVersion: Migration20300101000000
   *                 uptimeSeconds: 86400
   */
  router.get(
    '/api/v1/info',
    endpoint({ auth: { admin: 'viewer', projectScope: 'own' }, returns: ServiceInfo }, () => info()),
  );

  if (staging) {
    const headers = { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'public, max-age=3600' };
    router.get(
      STAGING_STYLE_PATH,
      endpoint({ auth: 'none', raw: 'stream', hidden: true }, () => new Reply({ headers, body: STAGING_STYLE })),
    );
  }

  router.get(
    '/',
    endpoint({ auth: 'none', raw: 'html', hidden: true }, () => {
      const headers = { location: explorer ? '/swagger/index.html' : '/docs' };
      return new Reply({ status: 302, headers, body: '' });
    }),
  );
  return router;
}

function databaseSilent(): Unavailable {
  return new Unavailable('database_unavailable', 'The database cannot be reached.');
}

function refuseAsUnavailable(cause: unknown): never {
  throw cause instanceof Unavailable
    ? cause
    : new Unavailable('database_unavailable', 'The database cannot be reached.', { cause });
}

/** Rejects with `refusal()` if the work takes longer than `ms`; the work is not cancelled, so use it for reads only. */
export async function within<T>(ms: number, work: Promise<T>, refusal: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(refusal()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
