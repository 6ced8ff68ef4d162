import type { Challenge } from './mpp-challenge.ts';
import { isOutTradeNo } from './number.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

/** A credential as it was sent. */
export interface Credential {
  challenge: Challenge;
  /** Undefined when the payload does not name an order. */
  outTradeNo: string | undefined;
}

const REQUIRED = ['id', 'realm', 'method', 'intent', 'request'] as const;
const OPTIONAL = ['expires', 'digest', 'header', 'opaque', 'description'] as const;

/** Reads `Payment <base64url of JSON>`; throws HeaderMalformed. */
export function readCredential(header: string): Credential {
  const [, encoded] = /^Payment +([\w-]+)$/i.exec(header) ?? [];
  if (encoded === undefined) throw new HeaderMalformed('is not one Payment credential');
  const { challenge, payload } = readHeaderObject(encoded, 'base64url');
  const { outTradeNo } = objectOf(payload, 'has no payload');
  return {
    challenge: challengeOf(objectOf(challenge, 'has no challenge')),
    outTradeNo: typeof outTradeNo === 'string' && isOutTradeNo(outTradeNo) ? outTradeNo : undefined,
  };
}

/** Unknown parameters are ignored; `opaque` is never sent by us, so a challenge with one is not ours. */
function challengeOf(members: Record<string, unknown>): Challenge {
  for (const name of REQUIRED)
    if (typeof members[name] !== 'string' || members[name] === '')
      throw new HeaderMalformed(`has no challenge.${name}`);
  for (const name of OPTIONAL)
    if (members[name] !== undefined && typeof members[name] !== 'string')
      throw new HeaderMalformed(`has a malformed challenge.${name}`);
  if (members['opaque'] !== undefined) throw new HeaderMalformed('has an unknown challenge.opaque');
  const { id, realm, method, intent, request, expires, digest, header } = members as Record<string, string>;
  return { id: id!, realm: realm!, method: method!, intent: intent!, request: request!, expires, digest, header };
}
