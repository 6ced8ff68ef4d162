import type { FaultName } from './faults.ts';
import type { Core } from './channel-simulator.ts';
import { refundableMinor, type Refund, type RefundDraft, type RefundState, type Trade } from './trade.ts';

/** By default, how long a refund stays in its first state (ms), multiplied by the time factor. */
const LATER_MS = 60_000;

/** After one week WeChat Pay closes a refund ("申请退款": CLOSED). This time (ms) is not multiplied by the time factor. */
const CLOSED_AFTER_MS = 7 * 86_400_000;

/** For each fault: the first state of a refund, and the state that follows after some time. */
const COURSE: Readonly<Partial<Record<FaultName, readonly [RefundState, RefundState?]>>> = {
  'pending-refund': ['processing', 'succeeded'],
  'abnormal-refund': ['abnormal'],
  'closed-refund': ['processing', 'failed'],
  'refund-success-then-fail': ['succeeded', 'failed'],
  'success-after-failed': ['failed', 'succeeded'],
};

/**
 * Creates a refund, applies `fault` and notifies the merchant. Throws SimulatorRefusal `refund_too_much` if the refunds
 * would exceed the payment.
 */
export function makeRefund(core: Core, trade: Trade, draft: RefundDraft, fault?: FaultName): Refund {
  const { refundNo, minor, notifyUrl = trade.notifyUrl, reason = '', settleMs, notifiesBank, fromAvailable } = draft;
  const usual: readonly [RefundState, RefundState?] =
    settleMs === undefined ? ['succeeded'] : ['processing', 'succeeded'];
  const [state, next] = (fault && COURSE[fault]) ?? usual;
  const number = core.channelSimulator(trade.payWay).newRefundNumber(core);
  const facts = {
    number,
    refundNo,
    minor,
    notifyUrl,
    reason,
    ...(notifiesBank ? { notifiesBank } : {}),
    ...(fromAvailable ? { fromAvailable } : {}),
  };
  const refund = core.trades.refund(trade, { ...facts, state, origin: 'merchant' });
  if (state !== 'processing') core.channelSimulator(trade.payWay).notifyRefund(core, trade, refund);
  if (next !== undefined) {
    const delay = fault && COURSE[fault] ? LATER_MS : (settleMs ?? LATER_MS);
    const isClosed = fault === 'closed-refund';
    // The merchant may have changed the state in its portal meanwhile; that state is kept.
    const end = () => {
      if (refund.state !== state) return;
      if (isClosed) core.trades.moveRefund(trade, refund, next);
      else moveRefund(core, trade, refund, next);
    };
    core.clock.schedule(isClosed ? CLOSED_AFTER_MS : delay, end, !isClosed);
  }
  if (fault === 'foreign-refund' && refundableMinor(trade) > 0) refundElsewhere(core, trade, 1);
  return refund;
}

/** Makes a refund as the merchant does in the channel's portal, without the payment service. `minor` is minor units. */
export function refundElsewhere(core: Core, trade: Trade, minor: number): Refund {
  const channelSimulator = core.channelSimulator(trade.payWay);
  const number = channelSimulator.newRefundNumber(core);
  const draft = {
    number,
    refundNo: `portal${number}`,
    minor,
    state: 'succeeded',
    origin: 'portal',
    notifyUrl: trade.notifyUrl,
    reason: 'portal',
  } as const;
  const refund = core.trades.refund(trade, draft);
  channelSimulator.notifyRefund(core, trade, refund);
  return refund;
}

/** Changes the state of a refund and notifies the merchant. */
export function moveRefund(core: Core, trade: Trade, refund: Refund, state: RefundState): void {
  if (refund.state === state) return;
  core.trades.moveRefund(trade, refund, state);
  core.channelSimulator(trade.payWay).notifyRefund(core, trade, refund);
}
