/** PayPal's disputes: the requests, the meaning of the responses, and the dispute adapter (`DisputeDesk`). */
import { z } from 'zod';
import type {
  ChannelDispute,
  DisputeAction,
  DisputeDesk,
  DisputeOutcome,
  DisputePage,
  DisputeState,
  EvidenceFile,
  ListedDispute,
  LostMoney,
  WireRequest,
} from '../../payments/channel.ts';
import { type Money, readMajorText } from '../../money.ts';
import { type TypedFile, multipartForm, typedFiles } from '../evidence.ts';
import { type Call, type Reply, type Unknown, unknown } from './reply.ts';
import type { PaypalSettings } from './settings.ts';

const JSON_TYPE = 'application/json';

function getDisputeRequest(settings: PaypalSettings, id: string): WireRequest {
  return get(settings, `/v1/customer/disputes/${encodeURIComponent(id)}`);
}

/**
 * Requests one page of at most 50 disputes. `pageToken` is in the link to the next page that PayPal returns with each
 * page.
 */
function listDisputesRequest(
  settings: PaypalSettings,
  which: { update_time_after: string } | { disputed_transaction_id: string },
  pageToken?: string,
): WireRequest {
  const query = new URLSearchParams({ ...which, page_size: '50' });
  if (pageToken !== undefined) query.set('next_page_token', pageToken);
  return get(settings, `/v1/customer/disputes?${query.toString()}`);
}

/**
 * Builds `POST …/provide-evidence`: a form with a part `input` (JSON with a note of at most 2000 characters) and one
 * part per file. Source: PayPal's OpenAPI description of Disputes v1 and its guide.
 */
function evidenceRequest(
  settings: PaypalSettings,
  id: string,
  notes: string,
  files: readonly TypedFile[] = [],
): WireRequest {
  return postForm(settings, id, 'provide-evidence', { evidences: [{ evidence_type: 'OTHER', notes }] }, files);
}

/** Builds `POST …/send-message`: a message to the payer. PayPal accepts messages only before it reviews the dispute. */
function messageRequest(settings: PaypalSettings, id: string, message: string): WireRequest {
  return postForm(settings, id, 'send-message', { message });
}

/** The merchant accepts the claim, and PayPal refunds the disputed amount to the payer. */
function acceptRequest(settings: PaypalSettings, id: string, note: string): WireRequest {
  const body = JSON.stringify({ note, accept_claim_type: 'REFUND' });
  return post(settings, id, 'accept-claim', { 'content-type': JSON_TYPE }, { body });
}

function postForm(
  settings: PaypalSettings,
  id: string,
  verb: string,
  input: object,
  files: readonly TypedFile[] = [],
): WireRequest {
  const { contentType, bytes } = multipartForm([
    { name: 'input', type: JSON_TYPE, content: JSON.stringify(input) },
    ...files.map(({ name, kind, bytes }, index) => ({
      name: `file${index + 1}`,
      type: kind,
      fileName: name,
      content: bytes,
    })),
  ]);
  return post(settings, id, verb, { 'content-type': contentType }, { bytes });
}

function get({ apiUrl }: PaypalSettings, path: string): WireRequest {
  return { method: 'GET', url: apiUrl + path, headers: { accept: JSON_TYPE }, about: { call: 'dispute' } };
}

function post(
  { apiUrl }: PaypalSettings,
  id: string,
  verb: string,
  headers: Record<string, string>,
  sent: Pick<WireRequest, 'body' | 'bytes'>,
): WireRequest {
  const url = `${apiUrl}/v1/customer/disputes/${encodeURIComponent(id)}/${verb}`;
  return {
    method: 'POST',
    url,
    headers: { accept: JSON_TYPE, ...headers },
    ...sent,
    about: { call: `dispute ${verb}` },
  };
}

const Text = z.string().optional().catch(undefined);
const Id = z.string().regex(/^[A-Za-z0-9-]{1,128}$/);
const Time = z.iso.datetime({ offset: true }).transform((text) => new Date(text));
const Amount = z.object({ currency_code: z.string(), value: z.string() });
const Links = z
  .array(z.object({ rel: z.string() }))
  .catch([])
  .default([]);

const Dispute = z.object({
  dispute_id: Id,
  create_time: Time,
  update_time: Time.optional().catch(undefined),
  disputed_transactions: z.array(
    z.object({
      seller_transaction_id: Id.optional().catch(undefined),
      custom: Text,
      invoice_number: Text,
      seller: z.object({ merchant_id: Text }).optional().catch(undefined),
    }),
  ),
  reason: z.string(),
  status: z.string(),
  dispute_amount: Amount,
  dispute_outcome: z.object({ outcome_code: Text, amount_refunded: Amount.optional() }).optional(),
  money_movements: z
    .array(
      z.object({
        affected_party: Text,
        type: Text,
        reason: Text,
        amount: Amount.optional(),
        initiated_time: Time.optional().catch(undefined),
      }),
    )
    .optional(),
  seller_response_due_date: Time.optional().catch(undefined),
  links: Links,
});

const Page = z.object({
  items: z.array(z.object({ dispute_id: Id, update_time: Text, status: Text })).default([]),
  links: z
    .array(z.object({ rel: z.string(), href: z.string() }))
    .catch([])
    .default([]),
});

type PaypalDispute = z.infer<typeof Dispute>;

function readDispute(body: unknown): PaypalDispute | undefined {
  return Dispute.safeParse(body).data;
}

function readDisputePage(body: unknown): { disputes: readonly ListedDispute[]; next: string | undefined } | undefined {
  const page = Page.safeParse(body).data;
  if (!page) return undefined;
  const href = page.links.find(({ rel }) => rel === 'next')?.href;
  const next = href === undefined ? undefined : (URL.parse(href)?.searchParams.get('next_page_token') ?? undefined);
  const disputes = page.items.map(({ dispute_id, update_time, status }) => ({
    channelDisputeNo: dispute_id,
    mark: [update_time, status].join(' '),
  }));
  return { disputes, next };
}

/**
 * Whether PayPal offers an action for this dispute now. PayPal writes the names of actions with underscores or hyphens.
 */
export function offers({ links }: PaypalDispute, action: string): boolean {
  return links.some(({ rel }) => rel.replaceAll('-', '_') === action);
}

const OUR_NUMBER = /^[A-Za-z0-9_]{6,32}$/;

/** Whether the dispute is about payments of this merchant. A payment without a stated payee is accepted. */
function isPayee({ disputed_transactions: transactions }: PaypalDispute, merchantId: string | null): boolean {
  return transactions.every(({ seller }) => !merchantId || !seller?.merchant_id || seller.merchant_id === merchantId);
}

/** The amounts are in minor units. For a dispute that cannot be used, the result is a text with the reason. */
function disputeOf(found: PaypalDispute): ChannelDispute | string {
  const amount = readAmount(found.dispute_amount);
  if (!amount) return 'The disputed amount cannot be read.';
  const tradeNos = found.disputed_transactions.flatMap(({ seller_transaction_id: id }) => (id ? [id] : []));
  const numbers = found.disputed_transactions.flatMap(({ custom, invoice_number }) => [custom, invoice_number]);
  const end = endOf(found);
  if (typeof end === 'string') return end;
  return {
    channelDisputeNo: found.dispute_id,
    tradeNos,
    orderNo: numbers.find((number) => number !== undefined && OUR_NUMBER.test(number)) ?? null,
    reason: found.reason,
    amount,
    dueAt: found.seller_response_due_date ?? null,
    openedAt: found.create_time,
    ...end,
  };
}

/**
 * The state of an unresolved dispute for each PayPal status. Any other status is `under_review`, so that an unknown
 * status never closes a dispute.
 */
const UNDER_WAY: Readonly<Record<string, DisputeState>> = {
  OPEN: 'open',
  WAITING_FOR_SELLER_RESPONSE: 'needs_answer',
};

/**
 * `LOST`: outcomes in which the merchant pays the payer. `KEPT`: outcomes in which the merchant keeps the money. With
 * `RESOLVED_WITH_PAYOUT` PayPal pays the payer itself.
 */
const LOST = new Set(['RESOLVED_BUYER_FAVOUR', 'ACCEPTED']);
const KEPT = new Set(['RESOLVED_SELLER_FAVOUR', 'RESOLVED_WITH_PAYOUT', 'CANCELED_BY_BUYER', 'DENIED', 'NONE']);

function endOf(found: PaypalDispute): Pick<ChannelDispute, 'state' | 'lost'> | string {
  if (found.status !== 'RESOLVED') return { state: UNDER_WAY[found.status] ?? 'under_review' };
  const code = found.dispute_outcome?.outcome_code ?? '';
  const booked = bookedLoss(found);
  if (booked) return booked.amount.minor > 0n ? { state: 'lost', lost: booked } : { state: 'won' };
  if (KEPT.has(code)) return { state: 'won' };
  const refunded = found.dispute_outcome?.amount_refunded;
  const amount = refunded && readAmount(refunded);
  if (!LOST.has(code) || !amount) return `The dispute is resolved with ${code || 'no outcome'}, and without an amount.`;
  if (amount.minor === 0n) return { state: 'won' };
  return { state: 'lost', lost: { amount, at: found.update_time ?? found.create_time, booked: false } };
}

/**
 * Returns the money that the merchant lost, without fees. Returns undefined if PayPal reports no movement of the
 * merchant's money, an unreadable amount, or several currencies.
 */
function bookedLoss({ money_movements: movements, create_time }: PaypalDispute): LostMoney | undefined {
  const own = (movements ?? []).filter(
    ({ affected_party, reason }) => affected_party === 'SELLER' && reason === 'DISPUTE_SETTLEMENT',
  );
  let sum: Money | undefined;
  let at = create_time;
  for (const { type, amount, initiated_time } of own) {
    const moved = amount && readAmount(amount);
    if (!moved || (sum && moved.currency !== sum.currency)) return undefined;
    const before: bigint = sum?.minor ?? 0n;
    sum = { minor: type === 'CREDIT' ? before - moved.minor : before + moved.minor, currency: moved.currency };
    if (initiated_time && initiated_time > at) at = initiated_time;
  }
  return sum && { amount: sum, at, booked: true };
}

function readAmount({ value, currency_code }: z.infer<typeof Amount>): Money | undefined {
  return readMajorText(value, currency_code);
}

/**
 * PayPal accepts less than 10 MB per file and 50 MB per call (developer.paypal.com, "Supported file types and sizes").
 */
const DOCUMENTS = {
  channel: 'PayPal',
  kinds: ['image/jpeg', 'image/gif', 'image/png', 'application/pdf'],
  mostFiles: 100,
  mostBytes: 10 * 1024 * 1024 - 1,
  mostBytesInAll: 50 * 1024 * 1024,
} as const;

/** Creates PayPal's dispute adapter. Without the feature "Disputes" of the REST app PayPal returns 403. */
export function paypalDisputes(call: Call, settings: PaypalSettings): DisputeDesk {
  return { read, list, listOf, answer, accept };

  async function read(id: string): Promise<DisputeOutcome> {
    const found = await find(id);
    if ('kind' in found) return found;
    const dispute = disputeOf(found);
    return typeof dispute === 'string' ? unknown('mismatch', dispute) : { kind: 'found', dispute };
  }

  function list(since: Date, page?: string): Promise<DisputePage> {
    return readPage(listDisputesRequest(settings, { update_time_after: since.toISOString() }, page));
  }

  function listOf(captureId: string, page?: string): Promise<DisputePage> {
    return readPage(listDisputesRequest(settings, { disputed_transaction_id: captureId }, page));
  }

  async function readPage(request: WireRequest): Promise<DisputePage> {
    const reply = await call(request);
    if (reply.kind !== 'ok') return notFound(reply);
    const found = readDisputePage(reply.body);
    return found ? { kind: 'listed', ...found } : unknown('unparsable', 'The response is not a list of disputes.');
  }

  /** Sends evidence to PayPal or a message to the payer, depending on what PayPal offers for the dispute now. */
  async function answer(id: string, text: string, files: readonly EvidenceFile[]): Promise<DisputeAction> {
    const typed = typedFiles(files, DOCUMENTS);
    if ('kind' in typed) return typed;
    const found = await find(id);
    if ('kind' in found) return found.kind === 'absent' ? gone() : found;
    if (offers(found, 'provide_evidence')) return disputeAction(await call(evidenceRequest(settings, id, text, typed)));
    if (typed.length > 0) return notNow(found, 'files');
    if (offers(found, 'send_message')) return disputeAction(await call(messageRequest(settings, id, text)));
    return notNow(found);
  }

  async function accept(id: string, note: string): Promise<DisputeAction> {
    const found = await find(id);
    if ('kind' in found) return found.kind === 'absent' ? gone() : found;
    return offers(found, 'accept_claim') ? disputeAction(await call(acceptRequest(settings, id, note))) : notNow(found);
  }

  async function find(id: string): Promise<PaypalDispute | Unknown | { kind: 'absent' }> {
    const reply = await call(getDisputeRequest(settings, id));
    if (reply.kind === 'refused' && reply.status === 404) return { kind: 'absent' };
    if (reply.kind !== 'ok') return notFound(reply);
    const found = readDispute(reply.body);
    if (!found) return unknown('unparsable', 'The response is not a dispute.');
    if (found.dispute_id !== id) return unknown('mismatch', 'The dispute has a different id.');
    return isPayee(found, settings.merchantId) ? found : { kind: 'absent' };
  }
}

function notFound(reply: Exclude<Reply, { kind: 'ok' }>): Unknown {
  return reply.kind === 'unknown' ? reply : unknown('rejected', `${reply.code}: ${reply.reason}`);
}

function disputeAction(reply: Reply): DisputeAction {
  if (reply.kind === 'refused') return { kind: 'refused', code: reply.code, reason: reply.reason };
  return reply.kind === 'ok' ? { kind: 'done' } : reply;
}

function gone(): DisputeAction {
  return { kind: 'refused', code: 'RESOURCE_NOT_FOUND', reason: 'PayPal has no dispute with this id.' };
}

/** Refuses an action that PayPal does not accept now, with the error code that PayPal uses for this case. */
function notNow({ status }: PaypalDispute, what = 'this action'): DisputeAction {
  const code = 'ACTION_NOT_ALLOWED_IN_CURRENT_DISPUTE_STATE';
  return {
    kind: 'refused',
    code,
    reason: `PayPal does not accept ${what} while the dispute has the status ${status}.`,
  };
}
