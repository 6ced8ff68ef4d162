import { z } from 'zod';
import { UNCHANGED } from '../http/contract.ts';
import { endpoint, Reply } from '../http/endpoint.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';

const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: 'KeySet' });

const DidDocument = z
  .object({ id: z.string(), verificationMethod: z.array(z.record(z.string(), z.unknown())) })
  .loose()
  .meta({ id: 'DidDocument' });

/** Where the public keys come from. */
interface PublishedKeys {
  publicKeys: () => Promise<z.input<typeof KeySet>>;
  didDocument: () => Promise<Record<string, unknown>>;
}

/** Public keys of payment codes and receipts. */
export function keyRoutes({ publicKeys, didDocument }: PublishedKeys): RouteGroup {
  const router = routeGroup('/.well-known');

  /**
   * @openapi
   * /.well-known/jwks.json:
   *   get:
   *     tags: [Pay-per-call]
   *     operationId: getPublicKeys
   *     summary: Public keys of payment codes and receipts (RFC 7517)
   *     description: Every key that was ever used; those of the simulator's mode only where the simulator counts.
   */
  router.get(
    '/jwks.json',
    endpoint({ auth: 'none', returns: KeySet, bare: true, answers: UNCHANGED }, async () => {
      const data = await publicKeys();
      return new Reply({ data, headers: { 'Cache-Control': 'public, max-age=60' } });
    }),
  );

  /**
   * @openapi
   * /.well-known/did.json:
   *   get:
   *     tags: [Pay-per-call]
   *     operationId: getDidDocument
   *     summary: The same keys as a DID document (did:web)
   *     description: Whose keys sign the offers and receipts of x402's extension `offer-receipt`.
   */
  router.get(
    '/did.json',
    endpoint({ auth: 'none', returns: DidDocument, bare: true, answers: UNCHANGED }, async () => {
      const data = (await didDocument()) as z.input<typeof DidDocument>;
      return new Reply({ data, headers: { 'Cache-Control': 'public, max-age=60' } });
    }),
  );
  return router;
}
