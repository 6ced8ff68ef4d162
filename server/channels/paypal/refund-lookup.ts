import type { Notice, OrderRef, RefundOutcome } from '../../payments/channel.ts';
import { captureIdOf, readCapture, readRefund, unknown } from './answers.ts';
import type { Call } from './call.ts';
import { captureOutcome, refundState, strangerCapture } from './outcomes.ts';
import { getCaptureRequest, getRefundRequest } from './requests.ts';
import type { PaypalSettings } from './settings.ts';

/** A refund as PayPal itself tells it, with the numbers of ours that it belongs to. */
export type FoundRefund = Required<Pick<Notice, 'orderNo' | 'refundNo' | 'refund'>>;

const OUR_NUMBER = /^[A-Za-z0-9_]{6,32}$/;

/** `silent` = PayPal did not answer; `unreadable` = it shows no such refund; `foreign` = the capture is not one of this payee's orders. */
export type LookedUp = FoundRefund | 'silent' | 'unreadable' | 'foreign';

/**
 * Asks PayPal about the refund that a webhook names, and about its capture for the order. `refundNo` is null for a
 * refund that was made elsewhere.
 */
export async function lookUpRefund(call: Call, settings: PaypalSettings, refundId: string): Promise<LookedUp> {
  const reply = await call(getRefundRequest(settings, refundId));
  if (reply.kind === 'unknown') return 'silent';
  const refund = reply.kind === 'ok' ? readRefund(reply.body) : undefined;
  const captureId = refund && captureIdOf(refund.links);
  if (!captureId || refund.id !== refundId) return 'unreadable';
  const answer = await call(getCaptureRequest(settings, captureId));
  if (answer.kind === 'unknown') return 'silent';
  const capture = answer.kind === 'ok' ? readCapture(answer.body) : undefined;
  if (!capture) return 'unreadable';
  const orderNo = capture.custom_id;
  const isOurs = !settings.merchantId || capture.payee?.merchant_id === settings.merchantId;
  if (!orderNo || !OUR_NUMBER.test(orderNo) || !isOurs) return 'foreign';
  // A refund made in the portal may inherit the invoice id of its capture, which is the order's number.
  const carriesOurs = refund.invoice_id !== undefined && ![orderNo, capture.invoice_id].includes(refund.invoice_id);
  const state = refundState(refund);
  if (state.kind === 'unknown') return 'unreadable';
  return { orderNo, refundNo: carriesOurs ? (refund.invoice_id ?? null) : null, refund: state };
}

/**
 * A refund of this order by PayPal's own id, made here or elsewhere. A capture that is not the order's is asked about, too: with our
 * number and payee it is a second payment of the order, and the refund says so (`payment`, amounts in minor units).
 */
export async function refundById(
  call: Call,
  settings: PaypalSettings,
  order: OrderRef,
  refundId: string,
): Promise<RefundOutcome> {
  const reply = await call(getRefundRequest(settings, refundId));
  if (reply.kind === 'unknown') return reply;
  if (reply.kind === 'refused')
    return reply.status === 404 ? { kind: 'absent' } : unknown('rejected', `${reply.code}: ${reply.reason}`);
  const refund = readRefund(reply.body);
  if (!refund) return unknown('unparsable', 'The response is not a refund.');
  if (refund.id !== refundId) return unknown('mismatch', 'The refund has a different id.');
  const captureId = captureIdOf(refund.links);
  if (captureId === undefined) return unknown('mismatch', 'The refund names no capture.');
  const state = refundState(refund);
  if (captureId === order.channelTradeNo || state.kind !== 'succeeded') return state;
  const answer = await call(getCaptureRequest(settings, captureId));
  if (answer.kind === 'unknown') return answer;
  const capture = answer.kind === 'ok' ? readCapture(answer.body) : undefined;
  const stranger = capture && strangerCapture(capture, order, settings);
  const paid = capture && captureOutcome(capture);
  if (stranger || paid?.kind !== 'paid') return unknown('mismatch', stranger ?? 'The refund is of no payment.');
  return { ...state, payment: { channelNo: paid.channelNo, amount: paid.amount } };
}
