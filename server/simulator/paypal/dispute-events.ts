import type { Core } from '../half.ts';
import { majorOf, paymentOf, type Trade } from '../trade.ts';
import { canAccept, type SimulatedDispute } from './dispute-state.ts';
import { tell } from './events.ts';
import { apiUrlOf, sceneryOf } from './scenery.ts';

type Json = Record<string, unknown>;

/** Tells the merchant; the resource is the dispute as it is now. */
export function tellDispute(
  core: Core,
  trade: Trade,
  dispute: SimulatedDispute,
  what: 'CREATED' | 'UPDATED' | 'RESOLVED',
): void {
  tell(core, trade, `CUSTOMER.DISPUTE.${what}`, `Case # ${dispute.id}`, presentDispute(core, trade, dispute));
}

/**
 * A dispute as `GET /v1/customer/disputes/{id}` shows it. Members and words: PayPal's OpenAPI description of Disputes v1; the
 * links of each state, with underscores: a merchant's record of a run in PayPal's sandbox.
 */
export function presentDispute(core: Core, trade: Trade, dispute: SimulatedDispute): Json {
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

/** What of it the list shows. */
export function presentDisputeInfo(core: Core, trade: Trade, dispute: SimulatedDispute): Json {
  const whole = presentDispute(core, trade, dispute);
  const self = [linkTo(core, dispute.id)];
  return {
    ...Object.fromEntries(SUMMARY.flatMap((name) => (name in whole ? [[name, whole[name]]] : []))),
    links: self,
  };
}

/** The answer to an action: a link to the dispute. */
export function presentAction(core: Core, { id }: SimulatedDispute): Json {
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
