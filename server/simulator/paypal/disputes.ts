/** Simulates PayPal's disputes: the actions of all parties, the webhook events, and the calls of the API. */
import type { Context } from 'koa';
import { z } from 'zod';
import type { Core } from '../channel-simulator.ts';
import { refundElsewhere } from '../refunds.ts';
import { SimulatorRefusal, isOfKind, rawBodyOf, readParts } from '../requests.ts';
import { type DisputeAction, type Trade, disputedMinor, majorOf, paymentOf, refundableMinor } from '../trade.ts';
import { newPaypalId } from './account.ts';
import { apiUrlOf, notFound, refuse, sceneryOf } from './answers.ts';
import { sendEvent } from './notifications.ts';
import { type AddRoute, type Request, json } from './requests.ts';

/** A dispute, stored in the details of its trade. Times are milliseconds of the simulated clock. */
interface SimulatedDispute {
  id: string;
  minor: number;
  reason: string;
  stage: 'INQUIRY' | 'CHARGEBACK';
  status: 'OPEN' | 'WAITING_FOR_SELLER_RESPONSE' | 'UNDER_REVIEW' | 'RESOLVED';
  outcome: string | null;
  /** The amount that the payer received because of the dispute; minor units. */
  refunded: number;
  /** The amount that PayPal took from the merchant because of the dispute; minor units. */
  taken: number;
  /** The id of the refund by which PayPal took `taken` from the merchant. */
  refundNumber: string | null;
  /** Whether `money_movements` in the response contains the amount taken. */
  movements: boolean;
  messages: { by: 'BUYER' | 'SELLER'; text: string; at: number }[];
  evidence: string[];
  files: number;
  dueAt: number | null;
  createdAt: number;
  updatedAt: number;
}

/** The disputes of a trade, oldest first. */
function disputesOf({ details }: Trade): SimulatedDispute[] {
  return (details['disputes'] as SimulatedDispute[] | undefined) ?? [];
}

/** Whether the merchant may accept the payer's claim. PayPal then refunds the payer. */
function canAccept({ status }: SimulatedDispute): boolean {
  return status === 'OPEN' || status === 'WAITING_FOR_SELLER_RESPONSE';
}

type Json = Record<string, unknown>;

function emitDisputeEvent(
  core: Core,
  trade: Trade,
  dispute: SimulatedDispute,
  what: 'CREATED' | 'UPDATED' | 'RESOLVED',
): void {
  sendEvent(core, trade, `CUSTOMER.DISPUTE.${what}`, `Case # ${dispute.id}`, presentDispute(core, trade, dispute));
}

/**
 * Fields and codes are from PayPal's OpenAPI description of Disputes v1. The links for each state are those that a
 * merchant recorded in PayPal's sandbox; the names of these links contain underscores.
 */
function presentDispute(core: Core, trade: Trade, dispute: SimulatedDispute): Json {
  const { id, status, outcome, messages, dueAt } = dispute;
  const amount = (minor: number) => ({ currency_code: trade.currency, value: majorOf(trade, minor) });
  const taken = {
    affected_party: 'SELLER',
    amount: amount(dispute.taken),
    type: 'DEBIT',
    reason: 'DISPUTE_SETTLEMENT',
  };
  const { customId, invoiceId } = trade.details;
  return {
    dispute_id: id,
    create_time: time(dispute.createdAt),
    update_time: time(dispute.updatedAt),
    disputed_transactions: [
      {
        seller_transaction_id: paymentOf(trade)?.number,
        gross_amount: amount(trade.minor),
        ...(invoiceId ? { invoice_number: invoiceId } : {}),
        ...(customId ? { custom: customId } : {}),
        seller: { merchant_id: sceneryOf(core, trade).merchantId },
      },
    ],
    reason: dispute.reason,
    status,
    dispute_state: STATES[status],
    dispute_amount: amount(dispute.minor),
    dispute_life_cycle_stage: dispute.stage,
    dispute_channel: 'INTERNAL',
    ...(outcome === null
      ? {}
      : { dispute_outcome: { outcome_code: outcome, amount_refunded: amount(dispute.refunded) } }),
    ...(outcome !== null && dispute.movements && dispute.taken > 0
      ? { money_movements: [{ ...taken, initiated_time: time(dispute.updatedAt) }] }
      : {}),
    ...(messages.length === 0
      ? {}
      : { messages: messages.map(({ by, text, at }) => ({ posted_by: by, content: text, time_posted: time(at) })) }),
    ...(dueAt === null ? {} : { seller_response_due_date: time(dueAt) }),
    links: linksOf(core, dispute),
  };
}

/** Builds the JSON of a dispute as an element of the list of disputes. It has fewer fields than the dispute itself. */
function presentDisputeInfo(core: Core, trade: Trade, dispute: SimulatedDispute): Json {
  const whole = presentDispute(core, trade, dispute);
  const self = [linkTo(core, dispute.id)];
  return {
    ...Object.fromEntries(SUMMARY.flatMap((name) => (name in whole ? [[name, whole[name]]] : []))),
    links: self,
  };
}

function presentAction(core: Core, { id }: SimulatedDispute): Json {
  return { links: [linkTo(core, id)] };
}

const SUMMARY = [
  'dispute_id',
  'create_time',
  'update_time',
  'reason',
  'status',
  'dispute_state',
  'dispute_amount',
  'dispute_life_cycle_stage',
  'dispute_channel',
  'seller_response_due_date',
] as const;

const STATES: Readonly<Record<SimulatedDispute['status'], string>> = {
  OPEN: 'OPEN_INQUIRIES',
  WAITING_FOR_SELLER_RESPONSE: 'REQUIRED_ACTION',
  UNDER_REVIEW: 'UNDER_PAYPAL_REVIEW',
  RESOLVED: 'RESOLVED',
};

function linksOf(core: Core, dispute: SimulatedDispute): Json[] {
  const { id, stage, status } = dispute;
  const isTalk = stage === 'INQUIRY' && status !== 'RESOLVED';
  return [
    linkTo(core, id),
    ...(isTalk ? [linkTo(core, id, 'send-message')] : []),
    ...(!isTalk && status === 'WAITING_FOR_SELLER_RESPONSE' ? [linkTo(core, id, 'provide-evidence')] : []),
    ...(canAccept(dispute) ? [linkTo(core, id, 'accept-claim')] : []),
  ];
}

function linkTo(core: Core, id: string, action?: string): Json {
  const href = `${apiUrlOf(core)}/v1/customer/disputes/${id}`;
  if (action === undefined) return { href, rel: 'self', method: 'GET' };
  return { href: `${href}/${action}`, rel: action.replaceAll('-', '_'), method: 'POST' };
}

function time(at: number): string {
  return new Date(at).toISOString();
}

const DAY_MS = 86_400_000;

/**
 * Applies an action of the payer, the merchant or PayPal to a dispute. `open` creates a dispute. Every other action
 * changes the newest dispute of the trade.
 */
export function actOnPaypalDispute(core: Core, trade: Trade, disputeAction: DisputeAction): object {
  if (disputeAction.act === 'open') return open(core, trade, disputeAction);
  const dispute = disputesOf(trade).at(-1);
  if (!dispute) throw new SimulatorRefusal(404, 'no_such_dispute', `Order ${trade.orderNo} has no dispute.`);
  switch (disputeAction.act) {
    case 'escalate':
      dispute.stage = 'CHARGEBACK';
      return ask(core, trade, dispute, disputeAction.dueDays);
    case 'ask':
      return ask(core, trade, dispute, disputeAction.dueDays);
    case 'review':
      return move(core, trade, dispute, { status: 'UNDER_REVIEW', dueAt: null });
    case 'appeal':
      return move(core, trade, dispute, { status: 'UNDER_REVIEW', outcome: null, dueAt: null });
    case 'cancel':
      return resolve(core, trade, dispute, 'CANCELED_BY_BUYER');
    case 'win':
      return win(core, trade, dispute);
    case 'lose':
      return lose(core, trade, dispute, disputeAction.refund);
  }
}

/**
 * Resolves the dispute in favour of the payer. PayPal takes the money from the merchant. If `how` is `payout`, PayPal
 * pays the payer with its own money instead.
 */
function lose(core: Core, trade: Trade, dispute: SimulatedDispute, how: DisputeAction['refund']): SimulatedDispute {
  dispute.refunded = dispute.minor;
  if (how === 'payout') return resolve(core, trade, dispute, 'RESOLVED_WITH_PAYOUT');
  const minor = Math.min(dispute.minor, refundableMinor(trade));
  if (minor > 0 && dispute.taken === 0) take(core, trade, dispute, minor, how);
  return resolve(core, trade, dispute, 'RESOLVED_BUYER_FAVOUR');
}

/** Stores the merchant's evidence. After that PayPal reviews the dispute. */
function provideEvidence(
  core: Core,
  trade: Trade,
  dispute: SimulatedDispute,
  { notes, files }: { notes: readonly string[]; files: number },
): void {
  refuseUnless(dispute.status === 'WAITING_FOR_SELLER_RESPONSE' && dispute.stage !== 'INQUIRY');
  dispute.evidence.push(...notes);
  dispute.files += files;
  move(core, trade, dispute, { status: 'UNDER_REVIEW', dueAt: null });
}

/** Stores a message from the merchant to the payer. Messages are allowed only before PayPal reviews the dispute. */
function sendMessage(core: Core, trade: Trade, dispute: SimulatedDispute, text: string): void {
  refuseUnless(dispute.stage === 'INQUIRY' && dispute.status !== 'RESOLVED');
  dispute.messages.push({ by: 'SELLER', text, at: core.clock.now() });
  move(core, trade, dispute, {});
}

function acceptClaim(core: Core, trade: Trade, dispute: SimulatedDispute): void {
  refuseUnless(canAccept(dispute));
  lose(core, trade, dispute, 'told');
}

/** The error code and the message are from PayPal's list of errors of Disputes v1. */
function refuseUnless(isAllowed: boolean): void {
  if (isAllowed) return;
  throw refuse(422, 'ACTION_NOT_ALLOWED_IN_CURRENT_DISPUTE_STATE', 'This action is not allowed for this dispute ID.');
}

function open(core: Core, trade: Trade, disputeAction: DisputeAction): SimulatedDispute {
  if (!paymentOf(trade))
    throw new SimulatorRefusal(409, 'not_paid', `Order ${trade.orderNo} is not paid, so it cannot be disputed.`);
  const now = core.clock.now();
  const { reason = 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED' } = disputeAction;
  const dispute: SimulatedDispute = {
    id: `PP-R-${core.trades.newNumber(newPaypalId).slice(0, 3)}-${String(Math.floor(Math.random() * 1e8)).padStart(8, '0')}`,
    minor: disputedMinor(trade, disputeAction),
    reason,
    // PayPal reviews an unauthorised payment immediately; in other disputes payer and merchant exchange messages first.
    stage: reason === 'UNAUTHORISED' ? 'CHARGEBACK' : 'INQUIRY',
    status: reason === 'UNAUTHORISED' ? 'UNDER_REVIEW' : 'OPEN',
    outcome: null,
    refunded: 0,
    taken: 0,
    refundNumber: null,
    movements: false,
    messages: [],
    evidence: [],
    files: 0,
    dueAt: null,
    createdAt: now,
    updatedAt: now,
  };
  trade.details['disputes'] = [...disputesOf(trade), dispute];
  if (disputeAction.hold) {
    const hold = { number: core.trades.newNumber(newPaypalId), minor: dispute.minor, at: now, releasedAt: null };
    trade.holds = [...(trade.holds ?? []), hold];
  }
  core.trades.record(trade, 'updated', { number: dispute.id });
  emitDisputeEvent(core, trade, dispute, 'CREATED');
  return dispute;
}

function ask(core: Core, trade: Trade, dispute: SimulatedDispute, dueDays: number): SimulatedDispute {
  const dueAt = core.clock.now() + dueDays * DAY_MS;
  return move(core, trade, dispute, { status: 'WAITING_FOR_SELLER_RESPONSE', dueAt });
}

function take(core: Core, trade: Trade, dispute: SimulatedDispute, minor: number, how: DisputeAction['refund']): void {
  dispute.taken = minor;
  dispute.movements = how === 'untold';
  if (how === 'told') dispute.refundNumber = refundElsewhere(core, trade, minor).number;
  else {
    const number = core.trades.newNumber(newPaypalId);
    const draft = { number, refundNo: `dispute${number}`, minor, notifyUrl: null, reason: 'dispute' };
    core.trades.refund(trade, { ...draft, state: 'succeeded', origin: 'dispute' });
    dispute.refundNumber = number;
  }
}

/** Resolves the dispute in favour of the merchant, who gets back the money that an earlier decision took. */
function win(core: Core, trade: Trade, dispute: SimulatedDispute): SimulatedDispute {
  const refund = trade.refunds.find(({ number }) => number === dispute.refundNumber);
  if (refund && dispute.taken > 0) {
    core.trades.moveRefund(trade, refund, 'failed');
    refund.doneAt = core.clock.now();
  }
  dispute.taken = 0;
  dispute.refunded = 0;
  return resolve(core, trade, dispute, 'RESOLVED_SELLER_FAVOUR');
}

function resolve(core: Core, trade: Trade, dispute: SimulatedDispute, outcome: string): SimulatedDispute {
  // PayPal holds the disputed amount until the dispute is resolved. If the merchant lost, `take` has already paid the
  // amount to the payer.
  for (const hold of trade.holds ?? []) hold.releasedAt ??= core.clock.now();
  return move(core, trade, dispute, { status: 'RESOLVED', outcome, dueAt: null });
}

function move(
  core: Core,
  trade: Trade,
  dispute: SimulatedDispute,
  change: Partial<SimulatedDispute>,
): SimulatedDispute {
  Object.assign(dispute, change, { updatedAt: core.clock.now() });
  core.trades.record(trade, 'updated', { number: dispute.id });
  emitDisputeEvent(core, trade, dispute, dispute.status === 'RESOLVED' ? 'RESOLVED' : 'UPDATED');
  return dispute;
}

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

/** Adds the calls about disputes. Source of paths and limits: PayPal's OpenAPI description of Disputes v1. */
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
  const filter = read(ListQuery, query);
  const { start_time: start, disputed_transaction_id: about, update_time_after: after } = filter;
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
    .filter(({ dispute }) => dispute.updatedAt <= (filter.update_time_before ?? Infinity))
    .toSorted((a, b) => b.dispute.createdAt - a.dispute.createdAt);
  const from = filter.next_page_token ? Number(Buffer.from(filter.next_page_token, 'base64').toString()) : 0;
  const page = all.slice(from, from + filter.page_size);
  const next = Buffer.from(String(from + filter.page_size)).toString('base64');
  const href = `${core.url}/paypal/v1/customer/disputes?next_page_token=${encodeURIComponent(next)}`;
  return {
    items: page.map(({ trade, dispute }) => presentDisputeInfo(core, trade, dispute)),
    links: all.length > from + filter.page_size ? [{ href, rel: 'next', method: 'GET' }] : [],
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

/** A form that was read. `input` is the parsed JSON of the form part with this name. `files` is the number of files. */
interface Form {
  input: unknown;
  files: number;
}

const MEGABYTE = 1024 * 1024;

/**
 * Reads a form. The part `input` is JSON with its own content type (PayPal's guide). The limits of the files are from
 * "Supported file types and sizes" in PayPal's documents about disputes.
 */
function readForm(ctx: Context): Form {
  const parts = readParts(ctx.get('content-type'), rawBodyOf(ctx));
  if (!parts) throw refuse(415, 'UNSUPPORTED_MEDIA_TYPE', 'The request payload is not multipart/form-data.');
  const input = parts.find(({ name }) => name === 'input');
  if (!input || !/^application\/json$/i.test(input.type))
    throw refuse(400, 'INVALID_REQUEST', 'The form part input is missing, or its type is not application/json.');
  const files = parts.filter(({ name }) => name !== 'input');
  for (const { bytes, fileName = '' } of files)
    if (bytes.length >= 10 * MEGABYTE || !isOfKind(bytes, fileName, ['jpg', 'gif', 'png', 'pdf']))
      throw refuse(400, 'INVALID_REQUEST', 'A file is not smaller than 10 MB, or is not jpg, gif, png or pdf.');
  if (files.reduce((sum, { bytes }) => sum + bytes.length, 0) > 50 * MEGABYTE)
    throw refuse(400, 'INVALID_REQUEST', 'The files are larger than 50 MB in total.');
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
