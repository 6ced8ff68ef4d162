/** Sends requests to PayPal with an access token, classifies the responses by status, and parses their bodies. */
import { z } from 'zod';
import {
  type Transport,
  TransportFailed,
  type UnknownCause,
  type WireAnswer,
  type WireRequest,
} from '../../payments/channel.ts';
import { hasUniqueMembers } from '../unique-members.ts';

/** Thrown for a text that is not JSON, or that has an object with a duplicate field name. */
export class UnreadableJson extends Error {
  readonly why: 'unparsable' | 'duplicate_key';
  constructor(why: UnreadableJson['why'], detail: string) {
    super(detail);
    this.name = 'UnreadableJson';
    this.why = why;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Parses UTF-8 JSON. Throws UnreadableJson if the text is not JSON or if an object has a duplicate field name. */
export function readJson(bytes: Buffer): unknown {
  const text = decode(bytes);
  const value = parse(text);
  if (!hasUniqueMembers(text, value))
    throw new UnreadableJson('duplicate_key', `Duplicate member ${duplicateMember(text)}.`);
  return value;
}

function decode(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new UnreadableJson('unparsable', 'The body is not valid UTF-8.');
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new UnreadableJson('unparsable', 'The body is not valid JSON.');
  }
}

function duplicateMember(text: string): string | undefined {
  const open: (Set<string> | null)[] = [];
  let lastString = '';
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token !== ':') lastString = token;
    else if (!remember(open.at(-1), lastString)) return lastString;
  }
  return undefined;
}

function remember(names: Set<string> | null | undefined, quoted: string): boolean {
  const name = JSON.parse(quoted) as string;
  if (names?.has(name)) return false;
  names?.add(name);
  return true;
}

const Id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const Text = z.string().optional().catch(undefined);
const Amount = z.object({ currency_code: z.string(), value: z.string() });
const Details = z.object({ reason: Text }).optional().catch(undefined);
const Payee = z.object({ merchant_id: Text }).optional().catch(undefined);
export const Time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
/** The links of a PayPal resource. If they cannot be read, the list is empty. */
export const Links = z
  .array(z.object({ rel: z.string(), href: z.string() }))
  .catch([])
  .default([]);

const Breakdown = z
  .object({
    paypal_fee: Amount.optional(),
    paypal_fee_in_receivable_currency: Amount.optional(),
    net_amount: Amount.optional(),
    receivable_amount: Amount.optional(),
  })
  .optional()
  .catch(undefined);

const Capture = z.object({
  id: Id,
  status: z.string(),
  status_details: Details,
  amount: Amount,
  custom_id: Text,
  invoice_id: Text,
  create_time: Time,
  update_time: Time.optional().catch(undefined),
  payee: Payee,
  seller_receivable_breakdown: Breakdown,
});

const Refund = z.object({
  id: Id,
  status: z.string(),
  status_details: Details,
  amount: Amount,
  invoice_id: Text,
  create_time: Time,
  links: Links,
});

const Unit = z.object({
  custom_id: Text,
  invoice_id: Text,
  amount: Amount.optional(),
  payee: Payee,
  payments: z
    .object({ captures: z.array(Capture).default([]), refunds: z.array(Refund).default([]) })
    .default({ captures: [], refunds: [] }),
});

const Order = z.object({
  id: Id,
  status: z.string(),
  payer: z.object({ payer_id: Text }).optional().catch(undefined),
  links: Links,
  purchase_units: z.tuple([Unit]),
});

const Verification = z.object({ verification_status: z.enum(['SUCCESS', 'FAILURE']) });

const Token = z.object({ access_token: z.string().min(1).max(8192), expires_in: z.number().positive() });

const Refusal = z.object({
  name: z.string(),
  message: Text,
  debug_id: Text,
  details: z
    .array(z.object({ issue: Text, description: Text, field: Text }))
    .catch([])
    .default([]),
});

/** An amount as PayPal writes it: decimal text in major units and an ISO 4217 code. */
export type PaypalAmount = z.infer<typeof Amount>;
export type PaypalOrder = z.infer<typeof Order>;
export type PaypalCapture = z.infer<typeof Capture>;
export type PaypalRefund = z.infer<typeof Refund>;
/** An access token and its lifetime in seconds. */
type PaypalToken = z.infer<typeof Token>;

export interface Unknown {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
  refusal?: { code: string; reason: string };
}

/**
 * PayPal refused with HTTP 4xx. `code` is PayPal's issue (error code), or `name` if there is none. `reason` includes
 * the debug id.
 */
export interface Refused {
  kind: 'refused';
  status: number;
  name: string;
  code: string;
  reason: string;
}

export type Reply = { kind: 'ok'; body: unknown } | Refused | Unknown;

/**
 * Only 200 and 201 with readable JSON are a success. After 429, 5xx or an unreadable response the result is unknown.
 */
function readReply(answer: WireAnswer): Reply {
  const { status } = answer;
  if (status === 200 || status === 201) return readBody(answer.body);
  if (status >= 300 && status < 400) return unknown('redirected', `HTTP ${status}`);
  if (status === 429) return unknown('busy', 'HTTP 429');
  if (status < 400 || status >= 500) return unknown('http_status', `HTTP ${status}`);
  return readRefusal(answer);
}

function readBody(bytes: Buffer): Reply {
  try {
    return { kind: 'ok', body: readJson(bytes) };
  } catch (error) {
    if (error instanceof UnreadableJson) return unknown(error.why, error.message);
    throw error;
  }
}

const IN_PROGRESS = new Set(['ORDER_COMPLETION_IN_PROGRESS', 'PREVIOUS_REQUEST_IN_PROGRESS', 'RESOURCE_CONFLICT']);

function readRefusal({ status, body }: WireAnswer): Refused | Unknown {
  const read = readBody(body);
  const parsed = read.kind === 'ok' ? Refusal.safeParse(read.body) : undefined;
  if (!parsed?.success) return unknown('http_status', `HTTP ${status} without a PayPal error`);
  const { name, message, debug_id, details } = parsed.data;
  const code = details[0]?.issue ?? name;
  const words = details[0]?.description ?? message ?? name;
  const where = details[0]?.field ? ` (${details[0].field})` : '';
  const reason = `${words}${where}${debug_id ? ` [debug ${debug_id}]` : ''}`.slice(0, 500);
  if (IN_PROGRESS.has(code) || IN_PROGRESS.has(name)) return unknown('in_progress', `${code}: ${reason}`);
  if (status === 401 || status === 403)
    return { ...unknown('misconfigured', `${code}: ${reason}`), refusal: { code, reason } };
  return { kind: 'refused', status, name, code, reason };
}

/** Builds the result of a call whose outcome is unknown. */
export function unknown(cause: UnknownCause, detail: string): Unknown {
  return { kind: 'unknown', cause, detail };
}

/** Reads an order from a successful response; undefined unless it has exactly one purchase unit. */
export function readOrder(body: unknown): PaypalOrder | undefined {
  return Order.safeParse(body).data;
}

/** Reads a capture from the body of a successful response. Returns undefined if the body is not a capture. */
export function readCapture(body: unknown): PaypalCapture | undefined {
  return Capture.safeParse(body).data;
}

/** Reads a refund from the body of a successful response. Returns undefined if the body is not a refund. */
export function readRefund(body: unknown): PaypalRefund | undefined {
  return Refund.safeParse(body).data;
}

/** Reads PayPal's result of a webhook verification. Returns undefined if the body has no result. */
export function readVerification(body: unknown): 'SUCCESS' | 'FAILURE' | undefined {
  return Verification.safeParse(body).data?.verification_status;
}

function readToken(body: unknown): PaypalToken | undefined {
  return Token.safeParse(body).data;
}

/** Returns the id of the refunded capture, which is at the end of the refund's link `up`. */
export function captureIdOf(links: PaypalRefund['links']): string | undefined {
  const up = links.find(({ rel }) => rel === 'up')?.href ?? '';
  return /\/v2\/payments\/captures\/([A-Za-z0-9-]{1,64})$/.exec(up)?.[1];
}

type TokenReply = { kind: 'token'; token: string } | Unknown;

export interface TokenSource {
  /** Returns the cached token, or fetches a token. Concurrent callers share one request. */
  get(): Promise<TokenReply>;
  renew(): Promise<TokenReply>;
  /** Removes this token from the cache after PayPal refused it. A newer token stays in the cache. */
  drop(token: string): void;
}

interface Held {
  token: string;
  renewAt: number;
  expiresAt: number;
}

const RENEW_AT = 0.9;

/**
 * Creates the token source of one PayPal client. The token is cached and renewed after 90 % of its lifetime, with one
 * request at a time.
 */
export function createTokenSource(request: WireRequest, send: Transport, now: () => Date): TokenSource {
  let held: Held | null = null;
  let renewing: Promise<TokenReply> | null = null;

  async function fetchToken(): Promise<TokenReply> {
    const sentAt = now().getTime();
    const reply = readTokenReply(await sendQuietly(send, request));
    if (reply.kind === 'unknown') return reply;
    const life = reply.seconds * 1000;
    held = { token: reply.token, renewAt: sentAt + life * RENEW_AT, expiresAt: sentAt + life };
    return { kind: 'token', token: reply.token };
  }

  function renew(): Promise<TokenReply> {
    renewing ??= fetchToken().finally(() => {
      renewing = null;
    });
    return renewing;
  }

  return {
    renew,
    async get() {
      if (held && now().getTime() < held.renewAt) return { kind: 'token', token: held.token };
      const reply = await renew();
      // The old token is still valid until it expires, so it is used if the renewal fails.
      if (reply.kind === 'unknown' && held && now().getTime() < held.expiresAt)
        return { kind: 'token', token: held.token };
      return reply;
    },
    drop(token) {
      if (held?.token === token) held = null;
    },
  };
}

/** A transport error becomes an unknown result; only other errors are thrown. */
async function sendQuietly(send: Transport, request: WireRequest): Promise<Reply & { status?: number }> {
  try {
    const answer = await send(request);
    return { ...readReply(answer), status: answer.status };
  } catch (error) {
    if (error instanceof TransportFailed) return unknown(error.why, error.message);
    throw error;
  }
}

function readTokenReply(
  reply: Reply & { status?: number },
): { kind: 'token'; token: string; seconds: number } | Unknown {
  if (reply.status === 401) return unknown('misconfigured', 'PayPal rejected clientId and clientSecret.');
  if (reply.kind === 'unknown') return { kind: 'unknown', cause: reply.cause, detail: reply.detail };
  if (reply.kind === 'refused')
    return unknown('rejected', `The token request was refused: ${reply.code}: ${reply.reason}`);
  const token = readToken(reply.body);
  if (!token) return unknown('unparsable', 'The token response contains no token.');
  return { kind: 'token', token: token.access_token, seconds: token.expires_in };
}

/** Sends a request with the access token. Errors of PayPal and of the network are returned and not thrown. */
export type Call = (request: WireRequest) => Promise<Reply & { status?: number }>;

/**
 * Creates the function that sends requests to PayPal with the access token. If PayPal returns 401, the token is renewed
 * and the request is sent once more. This is safe, because a request with a refused token has no effect.
 */
export function createCall(send: Transport, tokens: TokenSource): Call {
  return async (request) => {
    const first = await attempt(request);
    if (first.status !== 401) return first;
    const second = await attempt(request);
    return second.status === 401
      ? unknown('misconfigured', 'PayPal rejected a token that it had just issued.')
      : second;
  };

  async function attempt(request: WireRequest): Promise<Reply & { status?: number }> {
    const held = await tokens.get();
    if (held.kind === 'unknown') return held;
    const headers = { ...request.headers, authorization: `Bearer ${held.token}` };
    const reply = await sendQuietly(send, { ...request, headers });
    if (reply.status === 401) tokens.drop(held.token);
    return reply;
  }
}
