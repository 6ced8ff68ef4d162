import type { Account } from '../accounts.ts';
import type { Core } from '../channel-simulator.ts';
import type { FaultName } from '../faults.ts';
import { paymentOf, refundableMinor, type Refund, type Trade } from '../trade.ts';
import { type TradeIndex, ripen } from './trades.ts';
import { sendEvent } from './notifications.ts';
import { readAmount, type RefundRequest } from './requests.ts';
import { notFound, presentRefund, refuse, sceneryOf } from './answers.ts';

const REFUND_WINDOW_MS = 180 * 86_400_000;

/** `repeated` is true if an earlier request with the same PayPal-Request-Id created the refund. */
export interface FoundRefund {
  trade: Trade;
  refund: Refund;
  repeated: boolean;
}

/** `POST /v2/payments/captures/{id}/refund`; without an amount it refunds what remains. Throws PaypalRefusal. */
export function makeRefund(
  core: Core,
  trade: Trade,
  request: RefundRequest,
  requestId: string | undefined,
  fault: FaultName | undefined,
): FoundRefund {
  const earlier = earlierRefund(trade, requestId);
  if (earlier) return { trade, refund: earlier, repeated: true };
  const minor = checkRefund(core, trade, request);
  const refundNo = request.invoice_id ?? requestId ?? '';
  // The request id is stored before the ledger writes the refund: after a crash, a repeated request finds the refund.
  const requests = requestsOf(trade);
  if (requestId !== undefined) requests[requestId] = refundNo;
  trade.details['refundRequests'] = requests;
  // At PayPal a refund fails only after it was completed, when the bank returns the money.
  const course = fault === 'abnormal-refund' ? 'refund-success-then-fail' : fault;
  const refund = core.refund(trade, { refundNo, minor, reason: request.note_to_payer ?? '' }, course);
  return { trade, refund, repeated: false };
}

/** Returns the trade of a capture, for `captures/{id}` and the paths below it; throws PaypalRefusal. */
export function tradeOfCapture(core: Core, index: TradeIndex, account: Account, captureId: string): Trade {
  const trade = index.byNumber(account, captureId);
  if (!trade?.payments.some(({ number }) => number === captureId)) throw notFound();
  ripen(core, trade);
  return trade;
}

/** `GET /v2/payments/refunds/{id}`: returns a refund; throws PaypalRefusal if the refund is unknown. */
export function getRefund(index: TradeIndex, account: Account, refundId: string): FoundRefund {
  const trade = index.byNumber(account, refundId);
  const refund = trade?.refunds.find(({ number }) => number === refundId);
  if (!trade || !refund) throw notFound();
  return { trade, refund, repeated: false };
}

/** Sends the webhook event for the current state of a refund. */
export function notifyRefund(core: Core, trade: Trade, refund: Refund): void {
  const events = {
    processing: 'PAYMENT.REFUND.PENDING',
    succeeded: 'PAYMENT.CAPTURE.REFUNDED',
    failed: 'PAYMENT.REFUND.FAILED',
    abnormal: 'PAYMENT.REFUND.FAILED',
  } as const;
  const resource = presentRefund(trade, refund, sceneryOf(core, trade));
  sendEvent(core, trade, events[refund.state], `Refund ${refund.number}`, resource);
}

function checkRefund(core: Core, trade: Trade, request: RefundRequest): number {
  const payment = paymentOf(trade);
  if (!payment) throw refuse(422, 'PENDING_CAPTURE', 'Cannot initiate a refund as the capture is pending.');
  const left = refundableMinor(trade);
  if (left <= 0) throw refuse(422, 'CAPTURE_FULLY_REFUNDED', 'The capture has already been fully refunded.');
  if (core.clock.now() - payment.at > REFUND_WINDOW_MS) {
    throw refuse(422, 'REFUND_TIME_LIMIT_EXCEEDED', 'You are over the time limit to perform a refund on this capture.');
  }
  if (trade.refunds.some(({ refundNo }) => refundNo === request.invoice_id)) {
    throw refuse(422, 'DUPLICATE_INVOICE_ID', 'The invoice ID has been used for another refund.', '/invoice_id');
  }
  if (trade.fixed === 'refunds-fail') {
    throw refuse(422, 'REFUND_FAILED_INSUFFICIENT_FUNDS', 'Capture could not be refunded due to insufficient funds.');
  }
  return amountOf(trade, request, left);
}

function amountOf(trade: Trade, { amount }: RefundRequest, left: number): number {
  if (amount === undefined) return left;
  const { minor, currency } = readAmount(amount, '/amount');
  if (currency !== trade.currency) {
    throw refuse(422, 'CURRENCY_MISMATCH', 'Refund currency must be the same as the capture.', '/amount/currency_code');
  }
  if (minor > left) {
    throw refuse(
      422,
      'REFUND_AMOUNT_EXCEEDED',
      'The refund amount must be less than or equal to the capture amount.',
      '/amount/value',
    );
  }
  return minor;
}

function earlierRefund(trade: Trade, requestId: string | undefined): Refund | undefined {
  const refundNo = requestId === undefined ? undefined : requestsOf(trade)[requestId];
  return refundNo === undefined ? undefined : trade.refunds.find((refund) => refund.refundNo === refundNo);
}

/** Returns a map from the PayPal-Request-Id of each refund request to the number of the refund that it created. */
function requestsOf({ details }: Trade): Record<string, string> {
  return { ...(details['refundRequests'] as Record<string, string> | undefined) };
}
