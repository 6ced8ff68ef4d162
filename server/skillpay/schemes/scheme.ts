// The interface of a payment scheme. This file also has what all schemes share: the order with its pay-per-call row,
// the limit for headers, and the address of the payment page.
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OfferEntry, SkillOrderRow } from '../../db/entities/skillpay.ts';
import type { AppTerms } from '../../payments/idempotency.ts';

export interface SkillPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

export interface SkillCaller {
  clientId: string;
  project: string;
  /** The application's rules for payments. Absent = they were not loaded together with the token. */
  terms?: AppTerms | undefined;
}

/** The headers of a pay-per-call request. The names are in lower case. */
export type CallHeaders = Readonly<Record<string, string | undefined>>;

/** Why a call that contains a proof of payment gets no content. */
export type Failure = 'malformed' | 'invalid' | 'payload' | 'mismatch' | 'unpaid' | 'unknown' | 'expired' | 'refunded';

export interface Call {
  headers: CallHeaders;
  /** The proofs of payment in the request. Different schemes may each contribute one. */
  proofs: readonly Proof[];
  /** SHA-256 of the raw request body in standard base64. undefined = the request has no body. */
  bodyDigest?: string | undefined;
}

/** A proof of payment only identifies the order. The channel decides whether the order is paid. */
export interface Proof {
  scheme: PaymentScheme;
  header: string;
  /** The order number in the proof. undefined = the proof cannot be read. The call then gets a 402. */
  outTradeNo: string | undefined;
  /** Finds the order; throws if the proof is refused. Absent = the proof contains the order number. */
  find?(): Promise<string>;
  /** The client's own key for this payment. The client must not use the same key with another payload. */
  once?: { key: string; payload: object };
  /** Throws ProofInvalid or ProofRejected if the proof does not belong to this offer. */
  check(pair: SkillPair, call: Call, now: Date): void;
}

/** The headers, and the fields of the problem document, that a payment scheme adds to a 402. */
export interface ChallengeParts {
  headers: Record<string, string>;
  members?: Record<string, unknown>;
}

/** The headers, and the fields beside `data`, that a payment scheme adds to the 200 with the content. */
interface Given {
  headers?: Record<string, string>;
  members?: Record<string, unknown>;
}

export interface Failed {
  headers?: Record<string, string>;
  /** The `type` of the problem document, instead of the default one. */
  type?: string;
}

/** A method of requesting a payment over HTTP and of proving the payment. Schemes are independent of each other. */
export interface PaymentScheme {
  name: string;
  /** Names of the response headers of the scheme. CORS must expose them, so that browsers can read them. */
  exposes: readonly string[];
  /**
   * Fetches data for the 402 from another server and stores it in the pay-per-call row. Called before each 402, outside
   * any transaction. Returns immediately if the row already has the data. Must not throw if the other server does not
   * respond.
   */
  prepare?(pair: SkillPair): Promise<SkillPair>;
  /** The parts depend only on the stored order, so every 402 for the order contains the same values. */
  challenge(pair: SkillPair, call: Call): ChallengeParts;
  /** Returns a shorter `challenge` without optional data, for a 402 whose headers would be too long. */
  brief?(pair: SkillPair, call: Call): ChallengeParts;
  /** Returns undefined if the request has no proof of this scheme. Throws ProofInvalid. */
  read?(headers: CallHeaders, caller: SkillCaller): Proof | undefined;
  paid?(pair: SkillPair, given: { content: unknown; replayed: boolean }): Given;
  failed?(pair: SkillPair, why: Failure): Failed;
}

/** Checks the proofs of a call and returns the first fault. `unpaid` means that no proof has a fault. */
export function firstFault(call: Call, pair: SkillPair, now: Date): Failure {
  try {
    for (const proof of call.proofs) proof.check(pair, call, now);
    return 'unpaid';
  } catch (error) {
    if (error instanceof ProofRejected) return error.why;
    throw error;
  }
}

/** The proof of payment is refused, but not malformed. The response is therefore a 402 for the order, not a 400. */
export class ProofRejected extends Error {
  readonly why: Failure;
  constructor(why: Failure) {
    super(`The proof was rejected: ${why}.`);
    this.name = 'ProofRejected';
    this.why = why;
  }
}

/**
 * Maximum total size of the headers that schemes add to a 402 (bytes). The service's other headers have about 660
 * bytes, with CORS about 1,010. Together they stay below 4 KB, because common reverse proxies accept no more response
 * headers.
 */
const HEADER_ROOM = 3_050;

/**
 * Returns what all schemes add to the 402 of an order. If the headers exceed the limit, the schemes use their shorter
 * form one by one, beginning with the last, until the headers fit. The result is always the same for the same order.
 */
export function challengeAll(schemes: readonly PaymentScheme[], pair: SkillPair, call: Call): ChallengeParts {
  const added = schemes.map((scheme) => scheme.challenge(pair, call));
  for (let last = schemes.length - 1; last >= 0 && sizeOf(added) > HEADER_ROOM; last -= 1)
    added[last] = schemes[last]?.brief?.(pair, call) ?? added[last] ?? { headers: {} };
  return {
    headers: Object.assign({}, ...added.map(({ headers }) => headers)) as ChallengeParts['headers'],
    members: Object.assign({}, ...added.map(({ members }) => members)) as NonNullable<ChallengeParts['members']>,
  };
}

/** Returns the size of all headers: name, colon, space, value and line end. */
function sizeOf(added: readonly ChallengeParts[]): number {
  const pairs = added.flatMap(({ headers }) => Object.entries(headers));
  return pairs.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}

/** Returns the payment page of an order. For another channel than the order's, the page creates a new order. */
export function payUrlOf(publicUrl: string, { order }: SkillPair, { payWay }: OfferEntry): string {
  const own = `${publicUrl}/pay/${order.orderNo}`;
  return payWay === order.payWay ? own : `${own}?payWay=${payWay}`;
}

/** Whether a text has the form of a pay-per-call order number. */
export function isOutTradeNo(text: string): boolean {
  return /^X\d{14}[0-9A-Z]{10}$/.test(text);
}
