// The payment scheme MPP (HTTP authentication scheme `Payment`): challenges of the service, credentials of the client
// (its proofs of payment), and the payment methods that the client prefers.
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { OfferEntry } from '../../db/entities/skillpay.ts';
import type { PayWay } from '../../payments/channel.ts';
import { canonicalJson } from '../../payments/idempotency.ts';
import { exponentOf } from '../../money.ts';
import {
  type ChallengeParts,
  type Call,
  type PaymentScheme,
  type Failure,
  type Proof,
  ProofRejected,
  type SkillCaller,
  type SkillPair,
  isOutTradeNo,
  payUrlOf,
} from './scheme.ts';
import { HeaderMalformed, objectOf, readHeaderObject } from './strict-json.ts';

/**
 * The HTTP authentication scheme `Payment` (draft-httpauth-payment-01, intent `charge`). The service sends challenges
 * in `WWW-Authenticate` and the receipt in `Payment-Receipt`. The client sends its credential, which contains the order
 * number, in `Payment-Authorization`. Each payment method is a channel of the service.
 */
export function mppScheme(publicUrl: string, keys: ChallengeKeys): PaymentScheme {
  const realm = new URL(publicUrl).host;
  const scheme: PaymentScheme = {
    name: 'mpp',
    exposes: ['WWW-Authenticate', 'Payment-Receipt'],
    challenge: (pair, call) => asking(pair, call, preferred(call.headers['accept-payment'], waysOf(pair))),
    brief: (pair, call) => asking(pair, call, [pair.order.payWay]),
    read({ 'payment-authorization': header }, caller) {
      return header === undefined ? undefined : proofOf(header, caller);
    },
    paid({ order }) {
      const receipt = {
        status: 'success',
        method: order.payWay,
        timestamp: (order.paidAt ?? order.createdAt).toISOString(),
        reference: order.orderNo,
      };
      return { headers: { 'Payment-Receipt': Buffer.from(JSON.stringify(receipt)).toString('base64url') } };
    },
    failed: (_pair, why) => ({ type: `https://paymentauth.org/problems/${PROBLEMS[why]}` }),
  };
  return scheme;

  function asking(pair: SkillPair, { bodyDigest }: Call, ways: readonly PayWay[]): ChallengeParts {
    const entries = pair.skill.entries.filter(({ payWay }) => ways.includes(payWay));
    const digest = bodyDigest === undefined ? undefined : digestText(bodyDigest);
    const texts = ways.flatMap((way) => {
      const entry = entries.find(({ payWay }) => payWay === way);
      if (!entry) return [];
      const parts: Omit<Challenge, 'id'> = {
        realm,
        method: way,
        intent: 'charge',
        request: requestOf(pair, entry, publicUrl),
        expires: pair.order.expiresAt.toISOString(),
        digest,
        header: CREDENTIAL_HEADER,
      };
      return [challengeText({ id: keys.idOf(parts, pair.order.clientId), ...parts })];
    });
    return { headers: { 'WWW-Authenticate': texts.join(', ') } };
  }

  /**
   * Reads a credential. If it cannot be read, or if its challenge was not made for this application, the proof has no
   * order number. The call is then handled like a first call, and `type` of the 402 names the fault.
   */
  function proofOf(header: string, { clientId }: SkillCaller): Proof {
    const common = { scheme, header: CREDENTIAL_HEADER };
    let credential: Credential;
    try {
      credential = readCredential(header);
    } catch (error) {
      if (!(error instanceof HeaderMalformed)) throw error;
      return { ...common, outTradeNo: undefined, check: () => reject('malformed') };
    }
    const { challenge, outTradeNo } = credential;
    if (!keys.isOwn(challenge, clientId)) return { ...common, outTradeNo: undefined, check: () => reject('invalid') };
    if (outTradeNo === undefined) return { ...common, outTradeNo, check: () => reject('payload') };
    return {
      ...common,
      outTradeNo,
      check(pair, call) {
        const isOffered = pair.skill.entries.some((entry) => requestOf(pair, entry, publicUrl) === challenge.request);
        if (!isOffered) reject('payload');
        if (challenge.digest !== undefined && challenge.digest !== digestText(call.bodyDigest ?? ''))
          reject('mismatch');
      },
    };
  }
}

function waysOf(pair: SkillPair): PayWay[] {
  return pair.skill.entries.map(({ payWay }) => payWay);
}

function reject(why: Failure): never {
  throw new ProofRejected(why);
}

/** Returns a body digest in the form of the header `Content-Digest` (RFC 9530). */
function digestText(bodyDigest: string): string {
  return `sha-256=:${bodyDigest}:`;
}

/** For each reason why a proof is refused: the name of the problem type in draft-httpauth-payment-01. */
const PROBLEMS: Readonly<Record<Failure, string>> = {
  malformed: 'malformed-credential',
  invalid: 'invalid-challenge',
  payload: 'invalid-payload',
  mismatch: 'verification-failed',
  unpaid: 'verification-failed',
  unknown: 'verification-failed',
  expired: 'payment-expired',
  refunded: 'verification-failed',
};

/** `Authorization` is not used for the credential, because it contains the application's access token. */
const CREDENTIAL_HEADER = 'Payment-Authorization';

/** The parameters of a challenge (draft-httpauth-payment-01) have the form in which they are sent. */
interface Challenge {
  id: string;
  realm: string;
  method: string;
  intent: string;
  /** Canonical JSON (RFC 8785) in base64url. */
  request: string;
  expires?: string | undefined;
  digest?: string | undefined;
  header?: string | undefined;
}

/** Computes and checks the ids of challenges. Every replica has the same keys. */
interface ChallengeKeys {
  idOf(challenge: Omit<Challenge, 'id'>, clientId: string): string;
  isOwn(challenge: Challenge, clientId: string): boolean;
}

/**
 * Derives the challenge keys from the master keys. The newest key signs new challenges, and every key can verify one. A
 * challenge is valid only for the application for which it was made.
 */
export function challengeKeys(masterKeys: readonly { key: Buffer }[]): ChallengeKeys {
  const secrets = masterKeys.map(({ key }) =>
    Buffer.from(hkdfSync('sha256', key, 'unified-payment-service', 'payment-challenge', 32)),
  );
  const [newest] = secrets;
  if (!newest) throw new TypeError('The service has no master key, so it cannot sign payment challenges.');
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

/**
 * Computes the id of a challenge: an HMAC over its parameters, joined with `|` as the draft specifies. The HMAC key is
 * derived from the client id, so each application has its own key.
 */
function bind(secret: Buffer, challenge: Omit<Challenge, 'id'>, clientId: string): Buffer {
  const { realm, method, intent, request, expires = '', digest = '', header } = challenge;
  const slots = [realm, method, intent, request, expires, digest, ''];
  if (header !== undefined) slots.push(header);
  const key = createHmac('sha256', secret).update(clientId).digest();
  return createHmac('sha256', key).update(slots.join('|')).digest();
}

/** Returns the parameter `request`. It never changes for an order and a channel. Amounts are in minor units. */
function requestOf(pair: SkillPair, entry: OfferEntry, publicUrl: string): string {
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

/** No escaping is needed, because the values are only names, base64, a host and a timestamp. */
function challengeText(challenge: Challenge): string {
  const { id, realm, method, intent, request, expires, digest, header } = challenge;
  const members = Object.entries({ id, realm, method, intent, request, expires, digest, header });
  return `Payment ${members.flatMap(([name, value]) => (value === undefined ? [] : [`${name}="${value}"`])).join(', ')}`;
}

interface Credential {
  challenge: Challenge;
  /** The order number in the payload. undefined = the payload contains no valid order number. */
  outTradeNo: string | undefined;
}

const REQUIRED = ['id', 'realm', 'method', 'intent', 'request'] as const;
const OPTIONAL = ['expires', 'digest', 'header', 'opaque', 'description'] as const;

/** Reads a credential of the form `Payment <base64url of JSON>`. Throws HeaderMalformed. */
function readCredential(header: string): Credential {
  const [, encoded] = /^Payment +([\w-]+)$/i.exec(header) ?? [];
  if (encoded === undefined) throw new HeaderMalformed('must be one credential: Payment <base64url of JSON>');
  const { challenge, payload } = readHeaderObject(encoded, 'base64url');
  const { outTradeNo } = objectOf(payload, 'has no payload');
  return {
    challenge: challengeOf(objectOf(challenge, 'has no challenge')),
    outTradeNo: typeof outTradeNo === 'string' && isOutTradeNo(outTradeNo) ? outTradeNo : undefined,
  };
}

/** The service never sends `opaque`, so a challenge with this field is refused. Other unknown fields are ignored. */
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

interface Range {
  method: string;
  intent: string;
  q: number;
}

const RANGE = /^([a-z]+|\*)\/([A-Za-z\d-]+|\*)(?:\s*;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * Returns the methods that the client accepts for `charge`, the highest weight first (`Accept-Payment`,
 * draft-httpauth-payment-01). If the header is absent or invalid, or accepts none, returns `methods`.
 */
export function preferred<Method extends string>(header: string | undefined, methods: readonly Method[]): Method[] {
  const ranges = header === undefined ? undefined : readRanges(header);
  if (!ranges) return [...methods];
  const weighed = methods.map((method) => ({ method, q: weightOf(ranges, method) })).filter(({ q }) => q > 0);
  if (weighed.length === 0) return [...methods];
  return weighed.toSorted((a, b) => b.q - a.q).map(({ method }) => method);
}

function readRanges(header: string): Range[] | undefined {
  const found = header.split(',').map((part) => RANGE.exec(part.trim()));
  if (found.some((match) => match === null)) return undefined;
  return found.map((match) => ({ method: match![1]!, intent: match![2]!, q: Number(match![3] ?? 1) }));
}

/** If several entries of the header `Accept-Payment` match, the most specific entry decides. */
function weightOf(ranges: readonly Range[], method: string): number {
  const fitting = ranges.filter((one) => fits(one.method, method) && fits(one.intent, 'charge'));
  const [best] = fitting.toSorted((a, b) => wildcards(a) - wildcards(b));
  return best?.q ?? 0;
}

function fits(pattern: string, name: string): boolean {
  return pattern === '*' || pattern === name;
}

function wildcards({ method, intent }: Range): number {
  return (method === '*' ? 2 : 0) + (intent === '*' ? 1 : 0);
}
