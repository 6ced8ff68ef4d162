import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { OfferEntry } from '../../db/entities/skillpay.ts';
import { canonicalJson } from '../../payments/idempotency.ts';
import { exponentOf } from '../../payments/money.ts';
import { payUrlOf } from '../entries.ts';
import type { SkillPair } from '../pair.ts';

/** The field that carries credentials: `Authorization` is the application's own token. */
export const CREDENTIAL_HEADER = 'Payment-Authorization';

/** A challenge of the scheme `Payment` (draft-httpauth-payment-01): every parameter as it stands on the wire. */
export interface Challenge {
  id: string;
  realm: string;
  method: string;
  intent: string;
  /** Base64url of RFC 8785 JSON. */
  request: string;
  expires?: string | undefined;
  digest?: string | undefined;
  header?: string | undefined;
}

/** Makes and knows challenges; every replica has the same keys. */
export interface ChallengeKeys {
  idOf(challenge: Omit<Challenge, 'id'>, clientId: string): string;
  isOwn(challenge: Challenge, clientId: string): boolean;
}

/** Keys from the master keys: the newest makes challenges, all of them know theirs. A challenge is of one application only. */
export function challengeKeys(masterKeys: readonly { key: Buffer }[]): ChallengeKeys {
  const secrets = masterKeys.map(({ key }) =>
    Buffer.from(hkdfSync('sha256', key, 'unified-payment-service', 'payment-challenge', 32)),
  );
  const [newest] = secrets;
  if (!newest) throw new TypeError('There is no master key.');
  return {
    idOf: (challenge, clientId) => bind(newest, challenge, clientId).toString('base64url'),
    isOwn({ id, ...challenge }, clientId) {
      const sent = Buffer.from(id, 'base64url');
      return secrets.some((secret) => {
        const own = bind(secret, challenge, clientId);
        return own.length === sent.length && timingSafeEqual(own, sent);
      });
    },
  };
}

/** The draft's eight slots joined by `|`, under a key of the application. */
function bind(secret: Buffer, challenge: Omit<Challenge, 'id'>, clientId: string): Buffer {
  const { realm, method, intent, request, expires = '', digest = '', header } = challenge;
  const slots = [realm, method, intent, request, expires, digest, ''];
  if (header !== undefined) slots.push(header);
  const key = createHmac('sha256', secret).update(clientId).digest();
  return createHmac('sha256', key).update(slots.join('|')).digest();
}

/** What a payer is asked for, as the `request` of a challenge; of the same order always the same. Amounts are minor units. */
export function requestOf(pair: SkillPair, entry: OfferEntry, publicUrl: string): string {
  const { order } = pair;
  const decimals = exponentOf(order.currency) ?? 2;
  const request = {
    amount: String(order.amount),
    currency: order.currency.toLowerCase(),
    recipient: 'merchant',
    externalId: order.orderNo,
    methodDetails: {
      ...(decimals !== 2 && { decimals }),
      mode: entry.mode,
      payUrl: payUrlOf(publicUrl, pair, entry),
    },
  };
  return Buffer.from(canonicalJson(request)).toString('base64url');
}

/** A challenge in `WWW-Authenticate`. Nothing in it needs escaping: names, base64, a host, a time. */
export function challengeText(challenge: Challenge): string {
  const { id, realm, method, intent, request, expires, digest, header } = challenge;
  const members = Object.entries({ id, realm, method, intent, request, expires, digest, header });
  return `Payment ${members.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`])).join(', ')}`;
}
