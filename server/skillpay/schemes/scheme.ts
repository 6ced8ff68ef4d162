// The interface of a payment scheme, and what all schemes share: the row pair, the header limit, the payer's address.
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OfferEntry, SkillOrderRow } from '../../db/entities/skillpay.ts';
import type { AppTerms } from '../../payments/idempotency.ts';

/** An order and its pay-per-call part. */
export interface SkillPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

/** The application that sent the call. */
export interface SkillCaller {
  clientId: string;
  project: string;
  /** The terms that were read with the application's token. */
  terms?: AppTerms | undefined;
}

/** Request headers of a call, in lower case. */
export type CallHeaders = Readonly<Record<string, string | undefined>>;

/** Why a call with a proof got no content. */
export type Failure = 'malformed' | 'invalid' | 'payload' | 'mismatch' | 'unpaid' | 'unknown' | 'expired' | 'refunded';

/** A call as the payment schemes see it. */
export interface Call {
  headers: CallHeaders;
  /** All proofs of the call. */
  proofs: readonly Proof[];
  /** SHA-256 of the raw body in standard base64; undefined without a body. */
  bodyDigest?: string | undefined;
}

/** A caller's proof of payment. Only the channel decides whether the order is paid. */
export interface Proof {
  scheme: PaymentScheme;
  /** The header that carried it. */
  header: string;
  /** The order that it names; undefined when the proof is unreadable and its scheme answers that with 402. */
  outTradeNo: string | undefined;
  /** Finds the order when the proof does not name it; throws when the proof is refused. */
  find?(): Promise<string>;
  /** The client's own key of this payment, valid for this payload only. */
  once?: { key: string; payload: object };
  /** Throws ProofInvalid or ProofRejected unless the proof belongs to this offer. */
  check(pair: SkillPair, call: Call, now: Date): void;
}

/** The additions of a scheme to a 402: headers, and members of the problem document. */
export interface Asked {
  headers: Record<string, string>;
  members?: Record<string, unknown>;
}

/** The additions of a scheme to the 200 with the content: headers, and members beside `data`. */
interface Given {
  headers?: Record<string, string>;
  members?: Record<string, unknown>;
}

/** The additions of a scheme to an answer without content. */
export interface Failed {
  headers?: Record<string, string>;
  /** Replaces the problem's `type`. */
  type?: string;
}

/** One way to request a payment over HTTP and to prove it. Schemes are independent of each other. */
export interface PaymentScheme {
  name: string;
  /** Headers of its answers, for CORS. */
  exposes: readonly string[];
  /**
   * Fetches the remote part of a 402 and stores it in the row. Runs outside any transaction before each 402, and returns at
   * once when the row has it. Must not throw when the remote service does not answer.
   */
  prepare?(pair: SkillPair): Promise<SkillPair>;
  /** The scheme's part of a 402; always the same for the same row. */
  ask(pair: SkillPair, call: Call): Asked;
  /** A shorter form without optional parts, for a 402 that exceeds the header limit. */
  brief?(pair: SkillPair, call: Call): Asked;
  /** Reads the proof of a request; undefined without one. Throws ProofInvalid. */
  read?(headers: CallHeaders, caller: SkillCaller): Proof | undefined;
  /** Additions to the 200 with the content. */
  paid?(pair: SkillPair, given: { content: unknown; replayed: boolean }): Given;
  /** The additions to an answer when the proof brought no content. */
  failed?(pair: SkillPair, why: Failure): Failed;
}

/** Returns the first fault of the proofs of a call that names no order; `unpaid` = no fault. */
export function firstFault(call: Call, pair: SkillPair, now: Date): Failure {
  try {
    for (const proof of call.proofs) proof.check(pair, call, now);
    return 'unpaid';
  } catch (error) {
    if (error instanceof ProofRejected) return error.why;
    throw error;
  }
}

/** A proof that its scheme answers with the order's 402 instead of a 400. */
export class ProofRejected extends Error {
  readonly why: Failure;
  constructor(why: Failure) {
    super(`The proof was rejected: ${why}.`);
    this.name = 'ProofRejected';
    this.why = why;
  }
}

/**
 * Most bytes of the headers that schemes add to a 402. With the service's other headers (about 660 bytes, 350 more with
 * CORS) they stay below 4 KB, the limit of common reverse proxies for the head of an answer.
 */
const HEADER_ROOM = 3_050;

/**
 * The additions of all schemes to an order's 402. If they exceed the limit, schemes use their shorter form, the last one
 * first, until they fit. Always the same for the same order.
 */
export function askAll(schemes: readonly PaymentScheme[], pair: SkillPair, call: Call): Asked {
  const added = schemes.map((scheme) => scheme.ask(pair, call));
  for (let last = schemes.length - 1; last >= 0 && sizeOf(added) > HEADER_ROOM; last -= 1)
    added[last] = schemes[last]?.brief?.(pair, call) ?? added[last] ?? { headers: {} };
  return {
    headers: Object.assign({}, ...added.map(({ headers }) => headers)) as Asked['headers'],
    members: Object.assign({}, ...added.map(({ members }) => members)) as NonNullable<Asked['members']>,
  };
}

/** Counts the name, colon, space, value and line end of each header. */
function sizeOf(added: readonly Asked[]): number {
  const pairs = added.flatMap(({ headers }) => Object.entries(headers));
  return pairs.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}

/** The page where the payer pays an entry; the payer of another entry than the order's own gets a new order there. */
export function payUrlOf(publicUrl: string, { order }: SkillPair, { payWay }: OfferEntry): string {
  const own = `${publicUrl}/pay/${order.orderNo}`;
  return payWay === order.payWay ? own : `${own}?payWay=${payWay}`;
}

/** Whether a text has the form of a pay-per-call order number. */
export function isOutTradeNo(text: string): boolean {
  return /^X\d{14}[0-9A-Z]{10}$/.test(text);
}
