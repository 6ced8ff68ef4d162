import type { FaultName } from '../faults.ts';
import type { Core } from '../half.ts';
import type { Payment, Trade } from '../trade.ts';
import { tell } from './events.ts';
import { presentCapture } from './present.ts';
import { refuseWith } from './refusals.ts';
import { sceneryOf } from './scenery.ts';
import { newPaypalId } from './secrets.ts';

/** Faults that decide what becomes of a capture. */
export type CaptureFault = 'capture-pending' | 'capture-declined';

/** How long a capture is pending when a fault asks for it. Scaled. */
const PENDING_MS = 60_000;

/**
 * Issues after which the payer must choose another way to pay at PayPal ("Handle funding failures" and the Orders v2 error list at
 * developer.paypal.com): the order stays approved, and its capture is refused until the payer has agreed once more.
 */
const CHOOSE_AGAIN: ReadonlySet<string> = new Set([
  'INSTRUMENT_DECLINED',
  'PAYER_ACTION_REQUIRED',
  'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
]);

/** Reasons for which a capture waits until the merchant accepts it in its account (Payments v2, capture status details). */
const MERCHANT_DECIDES: ReadonlySet<string> = new Set([
  'INTERNATIONAL_WITHDRAWAL',
  'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION',
  'UNILATERAL',
  'VERIFICATION_REQUIRED',
]);

/** Refuses a capture as a fault says, or as an earlier one said that the payer has not answered; throws PaypalRefusal. */
export function refuseCapture(core: Core, trade: Trade, fault: FaultName | undefined, word: string | undefined): void {
  const issue = fault === 'refused' ? (word ?? 'TRANSACTION_REFUSED') : trade.details['refusedWith'];
  if (typeof issue !== 'string') return;
  const isForPayer = CHOOSE_AGAIN.has(issue);
  if (isForPayer && trade.state === 'approved') {
    trade.state = 'open';
    trade.details['refusedWith'] = issue;
    core.trades.decline(trade);
  }
  throw refuseWith(issue, isForPayer ? [{ href: core.payUrl(trade), rel: 'redirect', method: 'GET' }] : []);
}

/** Takes the payer's money, or with a fault does not yet, or not at all; the merchant is told. */
export function takeMoney(
  core: Core,
  trade: Trade,
  requestId: string | undefined,
  fault: CaptureFault | undefined,
  reason = 'PENDING_REVIEW',
): void {
  const number = core.trades.newNumber(newPaypalId);
  if (fault === undefined) {
    core.trades.pay(trade, { number, type: 'captured', requestNo: requestId });
    tellCapture(core, trade, 'PAYMENT.CAPTURE.COMPLETED', 'completed');
    return;
  }
  const state = fault === 'capture-pending' ? 'pending' : 'declined';
  trade.payments.push({ number, minor: trade.minor, state, at: core.clock.now(), requestNo: requestId ?? null });
  trade.state = state === 'pending' ? 'paid' : trade.state;
  const ripens = state === 'pending' && !MERCHANT_DECIDES.has(reason);
  if (state === 'pending') trade.details['pendingReason'] = reason;
  if (ripens) trade.details['ripeAt'] = core.clock.now() + PENDING_MS;
  core.trades.record(trade, fault, { number, minor: trade.minor });
  tellCapture(core, trade, state === 'pending' ? 'PAYMENT.CAPTURE.PENDING' : 'PAYMENT.CAPTURE.DECLINED', state);
  if (ripens) core.clock.schedule(PENDING_MS, () => moveCapture(core, trade, 'completed'));
}

/** Completes a pending capture whose time has come, also when the process that scheduled it is gone. */
export function ripen(core: Core, trade: Trade): void {
  const ripeAt = trade.details['ripeAt'];
  if (typeof ripeAt === 'number' && ripeAt <= core.clock.now()) moveCapture(core, trade, 'completed');
}

/** Ends a pending capture: PayPal has finished its review, or the merchant has accepted or denied the payment in its account. */
export function moveCapture(core: Core, trade: Trade, state: 'completed' | 'declined'): void {
  const payment = trade.payments.find((candidate) => candidate.state === 'pending');
  if (!payment) return;
  payment.state = state;
  const isTaken = state === 'completed';
  if (isTaken) payment.completedAt = core.clock.now();
  core.trades.record(trade, isTaken ? 'captured' : 'capture-declined', {
    number: payment.number,
    minor: payment.minor,
  });
  tellCapture(core, trade, isTaken ? 'PAYMENT.CAPTURE.COMPLETED' : 'PAYMENT.CAPTURE.DENIED', state);
}

function tellCapture(core: Core, trade: Trade, event: string, state: Payment['state']): void {
  const payment = trade.payments.find((candidate) => candidate.state === state);
  if (!payment) return;
  const summary = `Payment ${state} for ${payment.number}`;
  tell(core, trade, event, summary, presentCapture(trade, payment, sceneryOf(core, trade)));
}
