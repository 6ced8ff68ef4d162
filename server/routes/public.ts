import { z } from 'zod';
import { endpoint } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from './index.ts';

const HealthStatus = z.object({ status: z.literal('ok') }).meta({ id: 'HealthStatus' });

/** What `GET /api/v1/info` tells an administrator. */
export const ServiceInfo = z
  .object({
    name: z.string(),
    version: z.string(),
    debug: z.boolean(),
    database: z.enum(['postgresql', 'embedded']),
    schemaVersion: z.string(),
    /** Whole seconds since start. */
    uptimeSeconds: z.int(),
  })
  .meta({ id: 'ServiceInfo' });

/** What the public routes need. */
export interface PublicOperations {
  info(): Promise<z.input<typeof ServiceInfo>>;
  /** Resolves when the database answers, rejects otherwise. */
  pingDatabase(): Promise<void>;
}

/** Health for load balancers, information for administrators. */
export function publicRoutes({ info, pingDatabase }: PublicOperations): RouteGroup {
  const router = routeGroup();

  router.get(
    '/health',
    endpoint({ auth: 'none', returns: HealthStatus, bare: true }, () => ({ status: 'ok' })),
  );

  router.get(
    '/api/v1/info',
    endpoint({ auth: { admin: 'viewer' }, returns: ServiceInfo }, () => info()),
  );

  router.get(
    '/health/db',
    endpoint({ auth: 'none', returns: HealthStatus, bare: true }, async () => {
      await pingDatabase();
      return { status: 'ok' };
    }),
  );
  return router;
}
