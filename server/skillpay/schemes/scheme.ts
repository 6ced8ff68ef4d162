// The interface of a payment scheme. Also shared by all schemes: the order with its pay-per-call row, the header limit,
// the payer's address.
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OfferEntry, SkillOrderRow } from '../../db/entities/skillpay.ts';
import type { AppTerms } from '../../payments/idempotency.ts';

/** An order and its pay-per-call row. */
export interface SkillPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

/** The application that sent the call. */
export interface SkillCaller {
  clientId: string;
  project: string;
  /** The payment terms of the application, if they were loaded together with the token. Absent = not loaded. */
  terms?: AppTerms | undefined;
}

/** Request headers of a call, in lower case. */
export type CallHeaders = Readonly<Record<string, string | undefined>>;

/** Why a call with a proof got no content. */
export type Failure = 'malformed' | 'invalid' | 'payload' | 'mismatch' | 'unpaid' | 'unknown' | 'expired' | 'refunded';

/** A call with the data that payment schemes use. */
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
  /** The name of the header that contained the proof. */
  header: string;
  /** The order number in the proof. undefined = the proof is unreadable, and its scheme responds to that with a 402. */
  outTradeNo: string | undefined;
  /** Finds the order of a proof that does not name it; throws if the proof is refused. Absent = the proof names it. */
  find?(): Promise<string>;
  /** The client's own key of this payment; it may not be sent again with another payload. */
  once?: { key: string; payload: object };
  /** Throws ProofInvalid or ProofRejected unless the proof belongs to this offer. */
  check(pair: SkillPair, call: Call, now: Date): void;
}

/** The additions of a scheme to a 402: headers, and fields of the problem document. */
export interface Asked {
  headers: Record<string, string>;
  members?: Record<string, unknown>;
}

/** The additions of a scheme to the 200 with the content: headers, and fields next to `data`. */
interface Given {
  headers?: Record<string, string>;
  members?: Record<string, unknown>;
}

/** The additions of a scheme to a response without content. */
export interface Failed {
  headers?: Record<string, string>;
  /** Replaces the problem's `type`. */
  type?: string;
}

/** One way to request a payment over HTTP and to prove it. Schemes are independent of each other. */
export interface PaymentScheme {
  name: string;
  /** Names of the headers of its responses, which CORS must expose. */
  exposes: readonly string[];
  /**
   * Fetches the part of a 402 that another server provides, and stores it in the row. Runs outside any transaction
   * before each 402, and returns at once if the row has that part. Must not throw if the other server does not respond.
   */
  prepare?(pair: SkillPair): Promise<SkillPair>;
  /** Returns the scheme's part of a 402; always the same for the same row. */
  ask(pair: SkillPair, call: Call): Asked;
  /** Returns a shorter part without optional data, for a 402 whose headers would be too long. */
  brief?(pair: SkillPair, call: Call): Asked;
  /** Reads the proof of a request; undefined without one. Throws ProofInvalid. */
  read?(headers: CallHeaders, caller: SkillCaller): Proof | undefined;
  /** Returns the additions to the 200 with the content. */
  paid?(pair: SkillPair, given: { content: unknown; replayed: boolean }): Given;
  /** Returns the additions to a response to a proof for which there is no content. */
  failed?(pair: SkillPair, why: Failure): Failed;
}

/** Returns the first fault of a call's proofs; `unpaid` = no fault. */
export function firstFault(call: Call, pair: SkillPair, now: Date): Failure {
  try {
    for (const proof of call.proofs) proof.check(pair, call, now);
    return 'unpaid';
  } catch (error) {
    if (error instanceof ProofRejected) return error.why;
    throw error;
  }
}

/** A proof to which its scheme responds with the order's 402 and not with a 400. */
export class ProofRejected extends Error {
  readonly why: Failure;
  constructor(why: Failure) {
    super(`The proof was rejected: ${why}.`);
    this.name = 'ProofRejected';
    this.why = why;
  }
}

/**
 * Most bytes of the headers that schemes add to a 402. With the service's other headers (about 660 bytes, with CORS 350
 * more) they stay below 4 KB, the limit of common reverse proxies for the headers of a response.
 */
const HEADER_ROOM = 3_050;

/**
 * Returns the additions of all schemes to an order's 402. If they exceed the limit, schemes use their shorter form,
 * beginning with the last scheme, until they fit. Always the same for the same order.
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

/**
 * The page where the payer pays an order with one of its channels. For another channel than the order's own, the page
 * creates a new order.
 */
export function payUrlOf(publicUrl: string, { order }: SkillPair, { payWay }: OfferEntry): string {
  const own = `${publicUrl}/pay/${order.orderNo}`;
  return payWay === order.payWay ? own : `${own}?payWay=${payWay}`;
}

/** Whether a text has the form of a pay-per-call order number. */
export function isOutTradeNo(text: string): boolean {
  return /^X\d{14}[0-9A-Z]{10}$/.test(text);
}
