import type { Notice, OrderRef, RefundOutcome } from '../../payments/channel.ts';
import { readCapture, readRefund, unknown, type PaypalRefund } from './answers.ts';
import type { Call } from './call.ts';
import { refundState } from './outcomes.ts';
import { getCaptureRequest, getRefundRequest } from './requests.ts';
import type { PaypalSettings } from './settings.ts';

/** A refund as PayPal itself tells it, with the numbers of ours that it belongs to. */
export type FoundRefund = Required<Pick<Notice, 'orderNo' | 'refundNo' | 'refund'>>;

const OUR_NUMBER = /^[A-Za-z0-9_]{6,32}$/;

/**
 * Asks PayPal about the refund that a webhook names, and about its capture for the order. `refundNo` is null for a
 * refund that was made elsewhere. Undefined when PayPal does not tell, or the capture is not this payee's.
 */
export async function lookUpRefund(
  call: Call,
  settings: PaypalSettings,
  refundId: string,
): Promise<FoundRefund | undefined> {
  const reply = await call(getRefundRequest(settings, refundId));
  const refund = reply.kind === 'ok' ? readRefund(reply.body) : undefined;
  const captureId = refund && captureIdOf(refund);
  if (!captureId || refund.id !== refundId) return undefined;
  const answer = await call(getCaptureRequest(settings, captureId));
  const capture = answer.kind === 'ok' ? readCapture(answer.body) : undefined;
  const orderNo = capture?.custom_id;
  const isOurs = !settings.merchantId || capture?.payee?.merchant_id === settings.merchantId;
  if (!capture || !orderNo || !OUR_NUMBER.test(orderNo) || !isOurs) return undefined;
  // A refund made in the portal may inherit the invoice id of its capture, which is the order's number.
  const carriesOurs = refund.invoice_id !== undefined && ![orderNo, capture.invoice_id].includes(refund.invoice_id);
  const state = refundState(refund);
  if (state.kind === 'unknown') return undefined;
  return { orderNo, refundNo: carriesOurs ? (refund.invoice_id ?? null) : null, refund: state };
}

/** A refund of this order by PayPal's own id, whoever made it. */
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
  if (order.channelTradeNo === null || captureIdOf(refund) !== order.channelTradeNo)
    return unknown('mismatch', "The refund is not one of the order's capture.");
  return refundState(refund);
}

function captureIdOf({ links }: PaypalRefund): string | undefined {
  const up = links.find(({ rel }) => rel === 'up')?.href ?? '';
  return /\/v2\/payments\/captures\/([A-Za-z0-9-]{1,64})$/.exec(up)?.[1];
}
