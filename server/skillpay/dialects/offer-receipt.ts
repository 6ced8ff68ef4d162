import type { OrderRow } from '../../db/entities/orders.ts';
import type { SigningKeys } from '../signing-keys.ts';
import { type Terms, networkOf, resourceUrlOf } from './x402-terms.ts';

/** Signed words of the service that outlive the call: x402's extension `offer-receipt`, version 1, as compact JWS. */
export interface SignedTerms {
  /** The commitment to the terms of an offer. */
  offer(terms: Terms, order: OrderRow, resource: string): Promise<string>;
  /** That it was paid and delivered; names the order, so that both sides can look it up. */
  receipt(order: OrderRow, resource: string, at: Date): Promise<string>;
}

/**
 * The artifacts, signed with the key of the order's mode, whose DID URL is the `kid` (did.json says whose it is).
 * Fields: the extension's specification (repository x402-foundation/x402), its sections on JWS headers, offer and receipt payloads.
 */
export function signedTerms(keys: Pick<SigningKeys, 'sign'>, publicUrl: string): SignedTerms {
  const signer = didOf(publicUrl);
  return {
    offer: ({ scheme, network, asset, payTo, amount }, order, resource) =>
      keys.sign(
        order.mode,
        'x402-offer+jws',
        {
          version: 1,
          resourceUrl: resourceUrlOf(publicUrl, resource),
          scheme,
          network,
          asset,
          payTo,
          amount,
          validUntil: seconds(order.expiresAt),
        },
        signer,
      ),
    receipt: (order, resource, at) =>
      keys.sign(
        order.mode,
        'x402-receipt+jws',
        {
          version: 1,
          network: networkOf(order),
          resourceUrl: resourceUrlOf(publicUrl, resource),
          payer: order.clientId,
          issuedAt: seconds(at),
          transaction: order.orderNo,
        },
        signer,
      ),
  };
}

/** The service as a signer: its host in the method `web` of DIDs. */
export function didOf(publicUrl: string): string {
  return `did:web:${encodeURIComponent(new URL(publicUrl).host)}`;
}

/** The document that binds the keys to the host (W3C DID Core, verification methods of type JsonWebKey2020). */
export function didDocument(publicUrl: string, { keys }: { keys: Record<string, unknown>[] }): Record<string, unknown> {
  const id = didOf(publicUrl);
  const methods = keys.map((publicKeyJwk) => ({
    id: `${id}#${String(publicKeyJwk['kid'])}`,
    type: 'JsonWebKey2020',
    controller: id,
    publicKeyJwk,
  }));
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
    id,
    verificationMethod: methods,
    assertionMethod: methods.map((method) => method.id),
  };
}

function seconds(at: Date): number {
  return Math.floor(at.getTime() / 1000);
}
