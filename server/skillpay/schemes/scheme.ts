// The interface of a dialect, and what all dialects share: the pair of rows, the room in the headers, the address of the payer.
import type { OrderRow } from '../../db/entities/orders.ts';
import type { OfferEntry, SkillOrderRow } from '../../db/entities/skillpay.ts';
import type { AppTerms } from '../../payments/idempotency.ts';

/** An order and its pay-per-call part. */
export interface SkillPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

/** The application that calls. */
export interface SkillCaller {
  clientId: string;
  project: string;
  /** Of what was read with its token. */
  terms?: AppTerms | undefined;
}

/** Request headers of a call, in lower case. */
export type CallHeaders = Readonly<Record<string, string | undefined>>;

/** Why a call with a proof got no content. */
export type Failure = 'malformed' | 'invalid' | 'payload' | 'mismatch' | 'unpaid' | 'unknown' | 'expired' | 'refunded';

/** A call as its dialects see it. */
export interface Call {
  headers: CallHeaders;
  /** All proofs that came with it. */
  proofs: readonly Proof[];
  /** SHA-256 of the body as it came, in standard base64; undefined without a body. */
  bodyDigest?: string | undefined;
}

/** What a caller sent to prove a payment. Whether money came only the channel says. */
export interface Proof {
  scheme: PaymentScheme;
  /** The header that carried it. */
  header: string;
  /** The order that it names; undefined when it cannot be read and its dialect answers that with 402. */
  outTradeNo: string | undefined;
  /** Finds the order where the proof does not name it; throws a refusal. */
  find?(): Promise<string>;
  /** The client's own key of this payment, under which it sends only this payload. */
  once?: { key: string; payload: object };
  /** Throws ProofInvalid or ProofRejected unless it is of this offer. */
  check(pair: SkillPair, call: Call, now: Date): void;
}

/** What a dialect adds to a 402: headers, and members of the problem document. */
export interface Asked {
  headers: Record<string, string>;
  members?: Record<string, unknown>;
}

/** Added by a dialect to the 200 with the content: headers, and members beside `data`. */
interface Given {
  headers?: Record<string, string>;
  members?: Record<string, unknown>;
}

/** What a dialect adds to an answer to its proof that brought no content. */
export interface Failed {
  headers?: Record<string, string>;
  /** Takes the place of the problem's `type`. */
  type?: string;
}

/** One way to ask for a payment over HTTP, and to prove it. Dialects know nothing of each other. */
export interface PaymentScheme {
  name: string;
  /** Headers of its answers, for pages of other origins. */
  exposes: readonly string[];
  /**
   * Fetches what a remote service must give before a payment can be asked for, and keeps it in the row. Runs outside any
   * transaction, before each 402, so it returns at once when the row has it; a remote
   * service that says nothing is no reason to throw.
   */
  prepare?(pair: SkillPair): Promise<SkillPair>;
  /** What the 402 of an order carries; of the same row always the same. */
  ask(pair: SkillPair, call: Call): Asked;
  /** The same without what a client can do without, for a 402 that has little room. */
  brief?(pair: SkillPair, call: Call): Asked;
  /** The proof of a request, undefined when there is none; throws ProofInvalid. */
  read?(headers: CallHeaders, caller: SkillCaller): Proof | undefined;
  /** Additions to the 200 with the content. */
  paid?(pair: SkillPair, given: { content: unknown; replayed: boolean }): Given;
  /** What the answer carries when the proof brought no content. */
  failed?(pair: SkillPair, why: Failure): Failed;
}

/** What was wrong with the proofs of a call that named no order: each says it of whatever offer. */
export function firstFault(call: Call, pair: SkillPair, now: Date): Failure {
  try {
    for (const proof of call.proofs) proof.check(pair, call, now);
    return 'unpaid';
  } catch (error) {
    if (error instanceof ProofRejected) return error.why;
    throw error;
  }
}

/** A proof that its dialect answers with the 402 of the order, not with 400. */
export class ProofRejected extends Error {
  readonly why: Failure;
  constructor(why: Failure) {
    super(`The proof was rejected: ${why}.`);
    this.name = 'ProofRejected';
    this.why = why;
  }
}

/**
 * Most bytes of the headers that dialects add to a 402. With the service's other headers, some 660 bytes and 350 more for
 * pages of other origins, they stay below 4 KB, which is all that common reverse proxies read of an answer's head.
 */
const HEADER_ROOM = 3_050;

/**
 * What all dialects together add to the 402 of an order. When it is too much, dialects that can be brief become so, the
 * last first, until it fits; of the same order it is always the same.
 */
export function askAll(schemes: readonly PaymentScheme[], pair: SkillPair, call: Call): Asked {
  const asked = schemes.map((scheme) => scheme.ask(pair, call));
  for (let last = schemes.length - 1; last >= 0 && sizeOf(asked) > HEADER_ROOM; last -= 1)
    asked[last] = schemes[last]?.brief?.(pair, call) ?? asked[last] ?? { headers: {} };
  return {
    headers: Object.assign({}, ...asked.map(({ headers }) => headers)) as Asked['headers'],
    members: Object.assign({}, ...asked.map(({ members }) => members)) as NonNullable<Asked['members']>,
  };
}

/** Each header has its name, a colon, a space and a line end. */
function sizeOf(asked: readonly Asked[]): number {
  const pairs = asked.flatMap(({ headers }) => Object.entries(headers));
  return pairs.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
}

/** Where the payer goes to pay an entry; another entry than the order's own is chosen there, with an order of its own. */
export function payUrlOf(publicUrl: string, { order }: SkillPair, { payWay }: OfferEntry): string {
  const own = `${publicUrl}/pay/${order.orderNo}`;
  return payWay === order.payWay ? own : `${own}?payWay=${payWay}`;
}

/** Whether a text has the form of a pay-per-call number. */
export function isOutTradeNo(text: string): boolean {
  return /^X\d{14}[0-9A-Z]{10}$/.test(text);
}
