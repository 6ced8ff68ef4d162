import type { Core } from '../half.ts';
import { disputedMinor, type DisputeDeed } from '../dispute-deed.ts';
import { refundElsewhere } from '../refunds.ts';
import { SimulatorRefusal } from '../refusal.ts';
import { paymentOf, refundableMinor, type Trade } from '../trade.ts';
import { tellDispute } from './dispute-events.ts';
import { canAccept, disputesOf, type SimulatedDispute } from './dispute-state.ts';
import { refuse } from './refusals.ts';
import { newPaypalId } from './secrets.ts';

const DAY_MS = 86_400_000;

/** What payer or PayPal do; `open` always begins a dispute, everything else is about the newest one. */
export function actOnPaypalDispute(core: Core, trade: Trade, deed: DisputeDeed): object {
  if (deed.act === 'open') return open(core, trade, deed);
  const dispute = disputesOf(trade).at(-1);
  if (!dispute) throw new SimulatorRefusal(404, 'no_such_dispute', `Order ${trade.orderNo} has no dispute.`);
  switch (deed.act) {
    case 'escalate':
      dispute.stage = 'CHARGEBACK';
      return ask(core, trade, dispute, deed.dueDays);
    case 'ask':
      return ask(core, trade, dispute, deed.dueDays);
    case 'review':
      return move(core, trade, dispute, { status: 'UNDER_REVIEW', dueAt: null });
    case 'appeal':
      return move(core, trade, dispute, { status: 'UNDER_REVIEW', outcome: null, dueAt: null });
    case 'cancel':
      return resolve(core, trade, dispute, 'CANCELED_BY_BUYER');
    case 'win':
      return win(core, trade, dispute);
    case 'lose':
      return lose(core, trade, dispute, deed.refund);
  }
}

/** The payer is right: PayPal takes the money from the merchant, or with `payout` pays it out of its own pocket. */
export function lose(
  core: Core,
  trade: Trade,
  dispute: SimulatedDispute,
  how: DisputeDeed['refund'],
): SimulatedDispute {
  dispute.refunded = dispute.minor;
  if (how === 'payout') return resolve(core, trade, dispute, 'RESOLVED_WITH_PAYOUT');
  const minor = Math.min(dispute.minor, refundableMinor(trade));
  if (minor > 0 && dispute.taken === 0) take(core, trade, dispute, minor, how);
  return resolve(core, trade, dispute, 'RESOLVED_BUYER_FAVOUR');
}

/** Evidence arrives: PayPal examines it. */
export function provideEvidence(
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

/** A message to the payer; only before PayPal examines the dispute. */
export function sendMessage(core: Core, trade: Trade, dispute: SimulatedDispute, text: string): void {
  refuseUnless(dispute.stage === 'INQUIRY' && dispute.status !== 'RESOLVED');
  dispute.messages.push({ by: 'SELLER', text, at: core.clock.now() });
  move(core, trade, dispute, {});
}

/** The merchant gives in. */
export function acceptClaim(core: Core, trade: Trade, dispute: SimulatedDispute): void {
  refuseUnless(canAccept(dispute));
  lose(core, trade, dispute, 'told');
}

/** Issue and message: PayPal's list of errors of Disputes v1. */
function refuseUnless(isAllowed: boolean): void {
  if (isAllowed) return;
  throw refuse(422, 'ACTION_NOT_ALLOWED_IN_CURRENT_DISPUTE_STATE', 'This action is not allowed for this dispute ID.');
}

function open(core: Core, trade: Trade, deed: DisputeDeed): SimulatedDispute {
  if (!paymentOf(trade))
    throw new SimulatorRefusal(409, 'not_paid', `Order ${trade.orderNo} is not paid, so nobody disputes it.`);
  const now = core.clock.now();
  const { reason = 'MERCHANDISE_OR_SERVICE_NOT_RECEIVED' } = deed;
  const dispute: SimulatedDispute = {
    id: `PP-R-${core.trades.newNumber(newPaypalId).slice(0, 3)}-${String(Math.floor(Math.random() * 1e8)).padStart(8, '0')}`,
    minor: disputedMinor(trade, deed),
    reason,
    // Unauthorised payments are examined at once; of all others payer and merchant talk first.
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
  if (deed.hold) {
    const hold = { number: core.trades.newNumber(newPaypalId), minor: dispute.minor, at: now, releasedAt: null };
    trade.holds = [...(trade.holds ?? []), hold];
  }
  core.trades.record(trade, 'updated', { number: dispute.id });
  tellDispute(core, trade, dispute, 'CREATED');
  return dispute;
}

function ask(core: Core, trade: Trade, dispute: SimulatedDispute, dueDays: number): SimulatedDispute {
  const dueAt = core.clock.now() + dueDays * DAY_MS;
  return move(core, trade, dispute, { status: 'WAITING_FOR_SELLER_RESPONSE', dueAt });
}

function take(core: Core, trade: Trade, dispute: SimulatedDispute, minor: number, how: DisputeDeed['refund']): void {
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

/** The merchant is right, and gets back what an earlier end took. */
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
  // What was held is free again, or was taken beside.
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
  tellDispute(core, trade, dispute, dispute.status === 'RESOLVED' ? 'RESOLVED' : 'UPDATED');
  return dispute;
}
