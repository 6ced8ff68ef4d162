/** Defines the routes of PayPal's API. Checks the bodies of requests. */
import type { Context } from 'koa';
import { z } from 'zod';
import { exponentOf } from '../../money.ts';
import type { Account } from '../accounts.ts';
import type { Answer } from '../exchange.ts';
import type { Call, FaultName } from '../faults.ts';
import { type PaypalRefusal, refuse } from './answers.ts';

export interface Request {
  account: Account;
  params: Readonly<Record<string, string>>;
  /** The parsed JSON body; undefined for a GET and a DELETE. */
  body: unknown;
  query: Readonly<Record<string, unknown>>;
  requestId: string | undefined;
  /** True if the caller wants the complete resource in the response (`Prefer: return=representation`). */
  whole: boolean;
  header(name: string): string | undefined;
}

/** `call` is the name by which a fault is set. `orderNo` is needed because a fault can be limited to one order. */
export interface Route {
  call: Call;
  orderNo?(request: Request): string | undefined;
  /** Reads the body. Absent = the body of a POST is JSON. */
  readBody?(ctx: Context): unknown;
  act(request: Request, fault: FaultName | undefined, word: string | undefined): Answer;
}

/** Adds a route that requires an access token. */
export type AddRoute = (method: 'get' | 'post' | 'patch' | 'delete', path: string, route: Route) => void;

/** Builds a JSON response. */
export function json(status: number, body: unknown): Answer {
  return { status, body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
}

const Url = z.url({ protocol: /^https?$/ }).max(4000);
/**
 * A text with a limit in bytes of UTF-8. PayPal's OpenAPI document gives the limits for US-ASCII and counts other
 * characters as more than one. Reports of shops agree: Greek text and emoji are refused below 127 characters.
 */
const text = (most: number) =>
  z
    .string()
    .min(1)
    .refine((value) => Buffer.byteLength(value) <= most, { params: { isTooLong: true } });
const Reference = text(127);

const Amount = z.object({ currency_code: z.string().length(3), value: z.string().max(32) });

const OrderRequest = z.object({
  intent: z.literal('CAPTURE'),
  purchase_units: z
    .array(
      z.object({
        reference_id: z.string().max(256).default('default'),
        amount: Amount,
        description: text(127).optional(),
        custom_id: Reference.optional(),
        invoice_id: Reference.optional(),
        soft_descriptor: text(22).optional(),
      }),
    )
    .length(1),
  payment_source: z
    .object({
      paypal: z.object({
        experience_context: z.object({
          brand_name: text(127).optional(),
          locale: z
            .string()
            .min(2)
            .max(10)
            .regex(/^[a-z]{2}(?:-[A-Z][a-z]{3})?(?:-(?:[A-Z]{2}|\d{3}))?$/)
            .optional(),
          landing_page: z.enum(['LOGIN', 'GUEST_CHECKOUT', 'NO_PREFERENCE']).optional(),
          payment_method_preference: z.enum(['UNRESTRICTED', 'IMMEDIATE_PAYMENT_REQUIRED']).optional(),
          return_url: Url,
          cancel_url: Url,
          user_action: z.enum(['CONTINUE', 'PAY_NOW']).default('CONTINUE'),
          shipping_preference: z
            .enum(['GET_FROM_FILE', 'NO_SHIPPING', 'SET_PROVIDED_ADDRESS'])
            .default('GET_FROM_FILE'),
        }),
      }),
    })
    .optional(),
});

const RefundRequest = z.object({
  amount: Amount.optional(),
  invoice_id: Reference.optional(),
  custom_id: Reference.optional(),
  note_to_payer: text(255).optional(),
});

const WebhookRequest = z.object({
  url: Url,
  event_types: z.array(z.object({ name: z.string().min(1).max(127) })).min(1),
});

/** A JSON patch of a webhook: PayPal accepts only `replace` of the URL or of the whole list of events. */
const WebhookPatch = z
  .array(
    z.discriminatedUnion('path', [
      z.object({ op: z.literal('replace'), path: z.literal('/url'), value: Url }),
      z.object({ op: z.literal('replace'), path: z.literal('/event_types'), value: WebhookRequest.shape.event_types }),
    ]),
  )
  .min(1);

const VerifyRequest = z.object({
  auth_algo: z.string().max(100),
  cert_url: z.string().max(500),
  transmission_id: z.string().max(50),
  transmission_sig: z.string().max(500),
  transmission_time: z.string().max(100),
  webhook_id: z.string().max(50),
  webhook_event: z.record(z.string(), z.unknown()),
});

export type OrderRequest = z.infer<typeof OrderRequest>;
export type RefundRequest = z.infer<typeof RefundRequest>;
type WebhookRequest = z.infer<typeof WebhookRequest>;
type VerifyRequest = z.infer<typeof VerifyRequest>;

/** Reads the body of a create-order request; throws PaypalRefusal with PayPal's error code and the invalid field. */
export function readOrderRequest(body: unknown): OrderRequest {
  return read(OrderRequest, body);
}

/** Reads the body of a refund request; throws PaypalRefusal. */
export function readRefundRequest(body: unknown): RefundRequest {
  return read(RefundRequest, body);
}

/** Reads a webhook registration; throws PaypalRefusal. */
export function readWebhookRequest(body: unknown): WebhookRequest {
  return read(WebhookRequest, body);
}

/** Reads the changes of a webhook; throws PaypalRefusal. */
export function readWebhookPatch(body: unknown): z.infer<typeof WebhookPatch> {
  return read(WebhookPatch, body);
}

/** Reads a request to verify a webhook's signature; throws PaypalRefusal. */
export function readVerifyRequest(body: unknown): VerifyRequest {
  return read(VerifyRequest, body);
}

/**
 * Reads an amount into minor units. Throws PaypalRefusal for an unknown currency, too many decimals, or an amount that
 * is not above zero.
 */
export function readAmount(
  { currency_code, value }: z.infer<typeof Amount>,
  field: string,
): { minor: number; currency: string } {
  const exponent = exponentOf(currency_code);
  if (exponent === undefined)
    throw refuse(
      422,
      'INVALID_CURRENCY_CODE',
      'Currency code is invalid or is not currently supported.',
      `${field}/currency_code`,
    );
  const match = /^(\d{1,10})(?:\.(\d+))?$/.exec(value);
  if (!match)
    throw refuse(
      400,
      'INVALID_PARAMETER_SYNTAX',
      'The value of a field does not conform to the expected format.',
      `${field}/value`,
    );
  const decimals = match[2] ?? '';
  if (decimals.length > exponent) {
    throw refuse(
      422,
      'DECIMAL_PRECISION',
      'If the currency supports decimals, only two decimal place precision is supported.',
      `${field}/value`,
    );
  }
  const minor = Number(match[1] + decimals.padEnd(exponent, '0'));
  if (minor <= 0) throw refuse(422, 'CANNOT_BE_ZERO_OR_NEGATIVE', 'Must be greater than zero.', `${field}/value`);
  return { minor, currency: currency_code };
}

function read<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw issue === undefined ? refuse(400, 'INVALID_PARAMETER_VALUE', 'The body is invalid.') : translate(issue, body);
}

function translate(issue: z.core.$ZodIssue, body: unknown): PaypalRefusal {
  const field = `/${issue.path.map(String).join('/')}`;
  if (valueAt(body, issue.path) === undefined) {
    return refuse(400, 'MISSING_REQUIRED_PARAMETER', 'A required field / parameter is missing.', field);
  }
  if (
    issue.code === 'too_big' ||
    issue.code === 'too_small' ||
    (issue.code === 'custom' && issue.params?.['isTooLong'])
  ) {
    return refuse(400, 'INVALID_STRING_LENGTH', 'The value of a field is either too short or too long.', field);
  }
  return refuse(400, 'INVALID_PARAMETER_VALUE', 'The value of a field is invalid.', field);
}

function valueAt(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    body,
  );
}
