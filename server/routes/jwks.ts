import { z } from 'zod';
import { endpoint, Reply } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from './index.ts';

const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: 'KeySet' });

/** Public keys of payment codes and receipts. */
export function jwksRoutes({ publicKeys }: { publicKeys: () => Promise<z.input<typeof KeySet>> }): RouteGroup {
  const router = routeGroup('/.well-known');

  /**
   * @openapi
   * /.well-known/jwks.json:
   *   get:
   *     tags: [Pay-per-call]
   *     summary: Public keys of payment codes and receipts (RFC 7517)
   */
  router.get(
    '/jwks.json',
    endpoint({ auth: 'none', returns: KeySet, bare: true }, async () => {
      const data = await publicKeys();
      return new Reply({ data, headers: { 'Cache-Control': 'public, max-age=60' } });
    }),
  );
  return router;
}
