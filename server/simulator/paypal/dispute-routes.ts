import type { Context } from 'koa';
import { z } from 'zod';
import { rawBodyOf } from '../body.ts';
import { isOfKind } from '../file-kind.ts';
import type { Core } from '../half.ts';
import { readParts } from '../multipart.ts';
import type { Trade } from '../trade.ts';
import { presentAction, presentDispute, presentDisputeInfo } from './dispute-events.ts';
import { disputesOf, type SimulatedDispute } from './dispute-state.ts';
import { acceptClaim, provideEvidence, sendMessage } from './disputes.ts';
import { notFound, refuse } from './refusals.ts';
import { json, type AddRoute, type Request } from './route.ts';

const MOST_DAYS = 180;
const Instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const ListQuery = z.object({
  start_time: Instant.optional(),
  disputed_transaction_id: z
    .string()
    .regex(/^[0-9A-Z_]{1,255}$/)
    .optional(),
  update_time_after: Instant.optional(),
  update_time_before: Instant.optional(),
  page_size: z.coerce.number().int().min(1).max(50).default(10),
  next_page_token: z
    .string()
    .regex(/^[A-Za-z0-9+/=]{1,255}$/)
    .optional(),
});

const Evidence = z.object({
  evidences: z
    .array(z.object({ evidence_type: z.string().regex(/^[0-9A-Z_]{1,255}$/), notes: z.string().min(1).max(2000) }))
    .min(1)
    .max(100),
});
const Message = z.object({ message: z.string().min(1).max(2000) });
const Claim = z.object({ note: z.string().min(1).max(2000), accept_claim_type: z.literal('REFUND').optional() });

interface Found {
  trade: Trade;
  dispute: SimulatedDispute;
}

/** Adds the calls about disputes. Paths, limits and the two ways to list: PayPal's OpenAPI description of Disputes v1. */
export function addDisputes(add: AddRoute, core: Core): void {
  const path = '/v1/customer/disputes';
  const orderNo = (request: Request) => search(core, request)?.trade.orderNo;

  add('get', path, {
    call: 'dispute',
    act: (request, fault) => json(200, fault === 'query-lag' ? { items: [], links: [] } : list(core, request)),
  });
  add('get', `${path}/:id`, {
    call: 'dispute',
    orderNo,
    act(request, fault) {
      if (fault === 'query-lag') throw notFound();
      const { trade, dispute } = find(core, request);
      return json(200, presentDispute(core, trade, dispute));
    },
  });
  const action = (verb: string, act: (found: Found, request: Request) => void, readBody?: (ctx: Context) => unknown) =>
    add('post', `${path}/:id/${verb}`, {
      call: 'dispute-deed',
      orderNo,
      ...(readBody ? { readBody } : {}),
      act(request) {
        const found = find(core, request);
        act(found, request);
        return json(200, presentAction(core, found.dispute));
      },
    });
  action(
    'provide-evidence',
    ({ trade, dispute }, { body }) => {
      const { input, files } = body as Form;
      const { evidences } = read(Evidence, input);
      const notes = evidences.map((one) => one.notes);
      provideEvidence(core, trade, dispute, { notes, files });
    },
    readForm,
  );
  action(
    'send-message',
    ({ trade, dispute }, { body }) => sendMessage(core, trade, dispute, read(Message, (body as Form).input).message),
    readForm,
  );
  action('accept-claim', ({ trade, dispute }, { body }) => {
    read(Claim, body);
    acceptClaim(core, trade, dispute);
  });
}

function list(core: Core, { account, query }: Request): Record<string, unknown> {
  const asked = read(ListQuery, query);
  const { start_time: start, disputed_transaction_id: about, update_time_after: after } = asked;
  if (start !== undefined && about !== undefined)
    throw refuse(400, 'INVALID_REQUEST', 'Specify either start_time or disputed_transaction_id, not both.');
  const oldest = core.clock.now() - MOST_DAYS * 86_400_000;
  if ((start ?? oldest) < oldest || (after ?? oldest) < oldest)
    throw refuse(400, 'INVALID_REQUEST', 'The time must be within the last 180 days.');
  const all = [...core.ledger.trades.values()]
    .filter(({ payWay, account: name }) => payWay === 'paypal' && name === account.name)
    .flatMap((trade) => disputesOf(trade).map((dispute) => ({ trade, dispute })))
    .filter(({ trade }) => about === undefined || trade.payments.some(({ number }) => number === about))
    .filter(({ dispute }) => dispute.createdAt >= (start ?? 0) && dispute.updatedAt >= (after ?? 0))
    .filter(({ dispute }) => dispute.updatedAt <= (asked.update_time_before ?? Infinity))
    .toSorted((a, b) => b.dispute.createdAt - a.dispute.createdAt);
  const from = asked.next_page_token ? Number(Buffer.from(asked.next_page_token, 'base64').toString()) : 0;
  const page = all.slice(from, from + asked.page_size);
  const next = Buffer.from(String(from + asked.page_size)).toString('base64');
  const href = `${core.url}/paypal/v1/customer/disputes?next_page_token=${encodeURIComponent(next)}`;
  return {
    items: page.map(({ trade, dispute }) => presentDisputeInfo(core, trade, dispute)),
    links: all.length > from + asked.page_size ? [{ href, rel: 'next', method: 'GET' }] : [],
  };
}

function search(core: Core, { account, params }: Request): Found | undefined {
  for (const trade of core.ledger.trades.values()) {
    if (trade.payWay !== 'paypal' || trade.account !== account.name) continue;
    const dispute = disputesOf(trade).find(({ id }) => id === params['id']);
    if (dispute) return { trade, dispute };
  }
  return undefined;
}

function find(core: Core, request: Request): Found {
  const found = search(core, request);
  if (!found) throw notFound();
  return found;
}

/** What a form brings: the JSON of its part `input`, and how many files. */
interface Form {
  input: unknown;
  files: number;
}

const MEGABYTE = 1024 * 1024;

/** The part `input`: JSON with its own type, as PayPal's guide sends it. Files: "Supported file types and sizes" of disputes. */
function readForm(ctx: Context): Form {
  const parts = readParts(ctx.get('content-type'), rawBodyOf(ctx));
  if (!parts) throw refuse(415, 'UNSUPPORTED_MEDIA_TYPE', 'The request payload is not multipart/form-data.');
  const input = parts.find(({ name }) => name === 'input');
  if (!input || !/^application\/json$/i.test(input.type))
    throw refuse(400, 'INVALID_REQUEST', 'The part input is missing, or is not JSON.');
  const files = parts.filter(({ name }) => name !== 'input');
  for (const { bytes, fileName = '' } of files)
    if (bytes.length >= 10 * MEGABYTE || !isOfKind(bytes, fileName, ['jpg', 'gif', 'png', 'pdf']))
      throw refuse(400, 'INVALID_REQUEST', 'A file is too large, or of a type that is not supported.');
  if (files.reduce((sum, { bytes }) => sum + bytes.length, 0) > 50 * MEGABYTE)
    throw refuse(400, 'INVALID_REQUEST', 'The files are too large.');
  try {
    return { input: JSON.parse(input.bytes.toString('utf8')) as unknown, files: files.length };
  } catch {
    throw refuse(400, 'MALFORMED_REQUEST_JSON', 'The request JSON is not well formed.');
  }
}

function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const field = `/${parsed.error.issues[0]?.path.map(String).join('/') ?? ''}`;
  throw refuse(400, 'INVALID_PARAMETER_VALUE', 'The value of a field is invalid.', field);
}
