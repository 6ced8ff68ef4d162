import { z } from 'zod';
import type { UnknownCause, WireAnswer } from '../../payments/channel.ts';
import { readJson, UnreadableJson } from './json.ts';

const Id = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/);
const Text = z.string().optional().catch(undefined);
const Amount = z.object({ currency_code: z.string(), value: z.string() });
const Details = z.object({ reason: Text }).optional().catch(undefined);
const Payee = z.object({ merchant_id: Text }).optional().catch(undefined);
/** An instant as PayPal writes it. */
export const Time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
/** Links of a resource; none when they cannot be read. */
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
/** An order with exactly one purchase unit. */
export type PaypalOrder = z.infer<typeof Order>;
/** A capture: where the money is. */
export type PaypalCapture = z.infer<typeof Capture>;
/** A refund of a capture. */
export type PaypalRefund = z.infer<typeof Refund>;
/** An access token and its life in seconds. */
export type PaypalToken = z.infer<typeof Token>;

/** An answer that says nothing certain, and why. */
export interface Unknown {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
  refusal?: { code: string; reason: string };
}

/** A documented 4xx answer: `name` is the error's, `code` its issue (or the name), `reason` PayPal's own words and debug id. */
export interface Refused {
  kind: 'refused';
  status: number;
  name: string;
  code: string;
  reason: string;
}

/** What one call came to. */
export type Reply = { kind: 'ok'; body: unknown } | Refused | Unknown;

/** Sorts an answer of the REST API: only 200 and 201 with readable JSON are a success, 429, 5xx and nonsense are unknown. */
export function readReply(answer: WireAnswer): Reply {
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

/** Builds the outcome that says nothing. */
export function unknown(cause: UnknownCause, detail: string): Unknown {
  return { kind: 'unknown', cause, detail };
}

/** The order in a successful body; undefined when it is not one (or has not exactly one purchase unit). */
export function readOrder(body: unknown): PaypalOrder | undefined {
  return Order.safeParse(body).data;
}

/** The capture in a successful body; undefined when it is not one. */
export function readCapture(body: unknown): PaypalCapture | undefined {
  return Capture.safeParse(body).data;
}

/** The refund in a successful body; undefined when it is not one. */
export function readRefund(body: unknown): PaypalRefund | undefined {
  return Refund.safeParse(body).data;
}

/** What PayPal says about a webhook's signature; undefined when it does not say. */
export function readVerification(body: unknown): 'SUCCESS' | 'FAILURE' | undefined {
  return Verification.safeParse(body).data?.verification_status;
}

/** The access token in a successful body of the token call; undefined when it is not one. */
export function readToken(body: unknown): PaypalToken | undefined {
  return Token.safeParse(body).data;
}

/** The capture that a refund belongs to, by its link. */
export function captureIdOf(links: PaypalRefund['links']): string | undefined {
  const up = links.find(({ rel }) => rel === 'up')?.href ?? '';
  return /\/v2\/payments\/captures\/([A-Za-z0-9-]{1,64})$/.exec(up)?.[1];
}
