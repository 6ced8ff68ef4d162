import type { PayWay } from '../../payments/channel.ts';
import type { SkillCaller, SkillPair } from '../pair.ts';
import { preferred } from './accept-payment.ts';
import { type Asked, type Call, type Dialect, type Failure, type Proof, ProofRejected } from './dialect.ts';
import { type Challenge, type ChallengeKeys, CREDENTIAL_HEADER, challengeText, requestOf } from './mpp-challenge.ts';
import { type Credential, readCredential } from './mpp-credential.ts';
import { HeaderMalformed } from './strict-json.ts';

/**
 * The HTTP authentication scheme `Payment` (draft-httpauth-payment-01, intent `charge`): challenges in `WWW-Authenticate`,
 * the credential in `Payment-Authorization`, the receipt in `Payment-Receipt`. The methods are our channels; the payload of
 * a credential is the number of the order.
 */
export function mppDialect(publicUrl: string, keys: ChallengeKeys): Dialect {
  const realm = new URL(publicUrl).host;
  const dialect: Dialect = {
    name: 'mpp',
    exposes: ['WWW-Authenticate', 'Payment-Receipt'],
    ask: (pair, call) => asking(pair, call, preferred(call.headers['accept-payment'], waysOf(pair))),
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
  return dialect;

  function asking(pair: SkillPair, { bodyDigest }: Call, ways: readonly PayWay[]): Asked {
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

  /** What cannot be read or is not ours names no order: the call is answered like a first one, and told what was wrong. */
  function proofOf(header: string, { clientId }: SkillCaller): Proof {
    const common = { dialect, header: CREDENTIAL_HEADER };
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
        const isAsked = pair.skill.entries.some((entry) => requestOf(pair, entry, publicUrl) === challenge.request);
        if (!isAsked) reject('payload');
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

/** RFC 9530. */
function digestText(bodyDigest: string): string {
  return `sha-256=:${bodyDigest}:`;
}

/** The draft's problem types. */
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
