import type { Core } from '../half.ts';
import type { Payment, Trade } from '../trade.ts';
import { tell } from './events.ts';
import { presentCapture } from './present.ts';
import { sceneryOf } from './scenery.ts';
import { newPaypalId } from './secrets.ts';

/** Faults that decide what becomes of a capture. */
export type CaptureFault = 'capture-pending' | 'capture-declined';

/** How long a capture is pending when a fault asks for it. Scaled. */
const PENDING_MS = 60_000;

/** Takes the payer's money, or with a fault does not yet, or not at all; the merchant is told. */
export function takeMoney(
  core: Core,
  trade: Trade,
  requestId: string | undefined,
  fault: CaptureFault | undefined,
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
  if (state === 'pending') trade.details['ripeAt'] = core.clock.now() + PENDING_MS;
  core.trades.record(trade, fault, { number, minor: trade.minor });
  tellCapture(core, trade, state === 'pending' ? 'PAYMENT.CAPTURE.PENDING' : 'PAYMENT.CAPTURE.DECLINED', state);
  if (state === 'pending') core.clock.schedule(PENDING_MS, () => complete(core, trade));
}

/** Completes a pending capture whose time has come, also when the process that scheduled it is gone. */
export function ripen(core: Core, trade: Trade): void {
  const ripeAt = trade.details['ripeAt'];
  if (typeof ripeAt === 'number' && ripeAt <= core.clock.now()) complete(core, trade);
}

function complete(core: Core, trade: Trade): void {
  const payment = trade.payments.find(({ state }) => state === 'pending');
  if (!payment) return;
  payment.state = 'completed';
  core.trades.record(trade, 'captured', { number: payment.number, minor: payment.minor });
  tellCapture(core, trade, 'PAYMENT.CAPTURE.COMPLETED', 'completed');
}

function tellCapture(core: Core, trade: Trade, event: string, state: Payment['state']): void {
  const payment = trade.payments.find((candidate) => candidate.state === state);
  if (!payment) return;
  const summary = `Payment ${state} for ${payment.number}`;
  tell(core, trade, event, summary, presentCapture(trade, payment, sceneryOf(core, trade)));
}
