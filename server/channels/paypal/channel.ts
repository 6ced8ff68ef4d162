/** Creates the channel of one PayPal account, and looks up refunds by PayPal's id. */
import {
  type CaptureRef,
  type Channel,
  type ChannelInput,
  type CloseOutcome,
  type FetchBudget,
  NOTIFICATION_STATUS,
  type Notification,
  NotificationUndecided,
  type NotificationVerdict,
  type NotificationsRegistered,
  type OrderRef,
  type Outcome,
  type PlaceOrder,
  type RefundOrder,
  type RefundOutcome,
  type RefundRef,
} from '../../payments/channel.ts';
import {
  type Expected,
  captureEnds,
  captureOutcome,
  closeOutcome,
  createDoubt,
  declined,
  orderOutcome,
  refundEnds,
  refundInOrder,
  refundOutcome,
  refundState,
  refusesForCertain,
  captureMismatch,
} from './answers.ts';
import { paypalBills } from './bills.ts';
import { paypalDisputes } from './disputes.ts';
import { createCertificateCache, findOrMakeWebhook, readEvent, verifyWebhook } from './notification.ts';
import { probe } from './probe.ts';
import {
  type Call,
  type Refused,
  type Reply,
  captureIdOf,
  createCall,
  createTokenSource,
  readCapture,
  readOrder,
  readRefund,
  readVerification,
  unknown,
} from './reply.ts';
import * as requests from './requests.ts';
import { getCaptureRequest, getRefundRequest } from './requests.ts';
import { type PaypalSettings, readSettings } from './settings.ts';
import type { Transmission } from './signature.ts';

type FoundRefund = Required<Pick<Notification, 'orderNo' | 'refundNo' | 'refund'>>;

const OUR_NUMBER = /^[A-Za-z0-9_]{6,32}$/;

/**
 * The result of a refund lookup. `silent`: PayPal did not respond. `unreadable`: the refund or its capture does not
 * exist or cannot be read. `foreign`: the capture belongs to another payee or to an order of another system.
 */
type LookedUp = FoundRefund | 'silent' | 'unreadable' | 'foreign';

/**
 * Reads a refund and its capture; the capture has the order number. `refundNo` is null if the refund was not made
 * through this service.
 */
async function lookUpRefund(call: Call, settings: PaypalSettings, refundId: string): Promise<LookedUp> {
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
  // A refund that the merchant makes in PayPal's portal may copy the invoice id of its capture, which is the order
  // number. Such an invoice id is not a refund number.
  const carriesOurs = refund.invoice_id !== undefined && ![orderNo, capture.invoice_id].includes(refund.invoice_id);
  const state = refundState(refund);
  if (state.kind === 'unknown') return 'unreadable';
  return { orderNo, refundNo: carriesOurs ? (refund.invoice_id ?? null) : null, refund: state };
}

/**
 * Queries a refund by PayPal's refund id, even if the refund was not made through this service. If the refund belongs
 * to a different capture (payment) than the one of the order, this capture is queried too. If the capture has the order
 * number and the payee of the order, the order was paid twice. Then the outcome contains the second payment in
 * `payment`; amounts in minor units.
 */
async function refundById(
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
  const stranger = capture && captureMismatch(capture, order, settings);
  const paid = capture && captureOutcome(capture);
  if (stranger || paid?.kind !== 'paid')
    return unknown('mismatch', stranger ?? 'The capture of the refund is not a payment.');
  return { ...state, payment: { channelNo: paid.channelNo, amount: paid.amount } };
}

/** Finds or creates the webhook of the REST app. The configuration needs only the client id and the client secret. */
export async function registerPaypalNotifications(input: ChannelInput): Promise<NotificationsRegistered> {
  const settings = readSettings({ ...input, fields: { webhookId: UNREGISTERED, ...input.fields } });
  const tokens = createTokenSource(requests.tokenRequest(settings), input.send, input.now);
  return findOrMakeWebhook(createCall(input.send, tokens), settings, input.notifyUrl);
}

const UNREGISTERED = 'UNREGISTERED';

/** The body of the response to a webhook. PayPal reads only the HTTP status. */
const ACK_WORDS: Readonly<Record<NotificationVerdict, string>> = { accepted: 'ok', refused: 'refused', again: 'again' };

/**
 * Creates the channel of one PayPal account (Orders v2). The channel caches the access token and the webhook
 * certificates, so keep one channel per configuration version. Throws ChannelMisconfigured for an unusable
 * configuration.
 */
export function createPaypalChannel(input: ChannelInput): Channel {
  const settings = readSettings(input);
  const tokens = createTokenSource(requests.tokenRequest(settings), input.send, input.now);
  const call = createCall(input.send, tokens);
  const findKey = createCertificateCache(settings, input.send, input.now);

  return {
    payWay: 'paypal',
    account: settings.clientId,
    place,
    query,
    close: async (order) => closeOrder(order),
    capture,
    refund,
    queryRefund,
    disputes: paypalDisputes(call, settings),
    bills: paypalBills(call, settings, input.now),
    lookUpRefund: (order, refundId) => refundById(call, settings, order, refundId),
    readNotification,
    ackNotification: (verdict) => ({
      status: NOTIFICATION_STATUS[verdict],
      contentType: 'text/plain',
      body: ACK_WORDS[verdict],
    }),
    probe: (request) => probe({ settings, tokens, call, notifyUrl: input.notifyUrl, now: input.now }, request),
  };

  async function readNotification(
    headers: Record<string, string | undefined>,
    rawBody: Buffer,
    budget?: FetchBudget,
  ): Promise<Notification> {
    const verifier = {
      webhookId: settings.webhookId,
      findKey: (url: string) => findKey(url, budget),
      verifyAtPaypal,
    };
    const { notificationId, isTest, isChained } = await verifyWebhook(headers, rawBody, verifier);
    const { refundId, ...named } = readEvent(rawBody);
    const known = { notificationId, account: settings.clientId, isShared: true } as const;
    if (isTest) return { ...known, event: named.event, orderNo: null, refundNo: null, isTest };
    const amiss = isChained ? {} : ({ amiss: 'chain_incomplete' } as const);
    if (refundId === null) return { ...known, ...amiss, ...named };
    // If the webhook has an order number, the caller queries that order. A refund that was not made through this
    // service has to be looked up by PayPal's refund id.
    const found = await lookUpRefund(call, settings, refundId);
    if (found === 'silent' && named.orderNo === null)
      throw new NotificationUndecided('PayPal did not return the refund, so its order is unknown.');
    const isReversal = found === 'unreadable' && named.event === 'PAYMENT.CAPTURE.REVERSED';
    const lookedUp = typeof found === 'string' ? (isReversal ? { reversed: true as const } : {}) : found;
    return { ...known, ...amiss, ...named, ...lookedUp, refundId };
  }

  /** Lets PayPal verify a webhook. This is needed if PayPal's certificate chain lacks an intermediate certificate. */
  async function verifyAtPaypal(sent: Transmission, body: Buffer): Promise<boolean> {
    const reply = await call(requests.verifyWebhookRequest(settings, sent, body));
    const status = reply.kind === 'ok' ? readVerification(reply.body) : undefined;
    if (status === undefined) throw new NotificationUndecided('PayPal returned no result for the webhook signature.');
    return status === 'SUCCESS';
  }

  async function place(order: PlaceOrder): Promise<Outcome> {
    const reply = await call(requests.createOrderRequest(settings, order));
    if (reply.kind === 'refused') return refusedCreate(reply);
    const outcome = readOrderReply(reply, { ...order, channelOrderId: null });
    if (outcome.kind === 'pending' && !outcome.pay && !outcome.capturePending) {
      return unknown('unparsable', 'PayPal accepted the order but returned no approval link.');
    }
    return outcome;
  }

  function refusedCreate({ code, reason }: Refused): Outcome {
    if (refusesForCertain(code)) return declined(code, reason, true);
    return { ...declined(code, reason), doubt: createDoubt(code) };
  }

  async function query(order: OrderRef): Promise<Outcome> {
    // PayPal's order id is missing, so no payer got a link and no payment can exist.
    if (!order.channelOrderId) return { kind: 'absent' };
    const reply = await call(requests.getOrderRequest(settings, order.channelOrderId, order.orderNo));
    if (reply.kind !== 'refused') return readOrderReply(reply, order);
    if (reply.status !== 404) return unknown('rejected', `${reply.code}: ${reply.reason}`);
    return order.channelTradeNo ? queryCapture(order, order.channelTradeNo) : { kind: 'absent' };
  }

  /** Queries the capture, because PayPal deletes an order earlier than its capture. */
  async function queryCapture(order: OrderRef, captureId: string): Promise<Outcome> {
    const reply = await call(requests.getCaptureRequest(settings, captureId, order));
    if (reply.kind === 'refused') return reply.status === 404 ? { kind: 'absent' } : unknown('rejected', reply.code);
    if (reply.kind === 'unknown') return reply;
    const found = readCapture(reply.body);
    if (!found) return unknown('unparsable', 'The response is not a capture.');
    const stranger = captureMismatch(found, order, settings);
    return stranger ? unknown('mismatch', stranger) : captureOutcome(found);
  }

  async function closeOrder(order: OrderRef): Promise<CloseOutcome> {
    if (!order.channelOrderId) return { kind: 'closed' };
    return closeOutcome(await query(order));
  }

  async function capture(order: CaptureRef): Promise<Outcome> {
    const { channelOrderId } = order;
    // The order is queried first: only an approved order with the right number, payee and amount may be captured.
    const before = await query(order);
    if (before.kind !== 'approved' || !channelOrderId) return before;
    const reply = await call(requests.captureRequest(settings, channelOrderId, order));
    if (reply.kind !== 'refused') return readOrderReply(reply, order);
    if (reply.code === 'ORDER_ALREADY_CAPTURED') return readCaptured(order);
    const left = captureEnds(reply.code);
    return { ...declined(reply.code, reply.reason, left !== undefined), ...(left ? { left } : {}) };
  }

  /**
   * Reads the order after PayPal refused a capture with ORDER_ALREADY_CAPTURED. If the response does not contain the
   * capture yet, the outcome is unknown.
   */
  async function readCaptured(order: OrderRef): Promise<Outcome> {
    const outcome = await query(order);
    const lags = outcome.kind === 'approved' || (outcome.kind === 'pending' && !outcome.capturePending);
    return lags ? unknown('in_progress', 'The order was captured, but PayPal does not show the capture yet.') : outcome;
  }

  function readOrderReply(reply: Exclude<Reply, { kind: 'refused' }>, expected: Expected): Outcome {
    if (reply.kind === 'unknown') return reply;
    const order = readOrder(reply.body);
    return order ? orderOutcome(order, expected, settings) : unknown('unparsable', 'The response is not an order.');
  }

  async function refund(order: RefundOrder): Promise<RefundOutcome> {
    const captureId = order.paymentNo ?? order.channelTradeNo;
    if (!captureId)
      return {
        kind: 'refused',
        code: 'NO_CAPTURE',
        reason: 'The order has no capture, so there is nothing to refund.',
      };
    const reply = await call(requests.refundRequest(settings, captureId, order));
    if (reply.kind !== 'refused') return readRefundReply(reply, { ...order, channelRefundNo: null });
    return { kind: 'refused', code: reply.code, reason: reply.reason, definite: refundEnds(reply.code) };
  }

  async function queryRefund(ref: RefundRef): Promise<RefundOutcome> {
    if (!ref.channelRefundNo) return findRefund(ref);
    const reply = await call(requests.getRefundRequest(settings, ref.channelRefundNo, ref));
    if (reply.kind === 'refused') {
      return reply.status === 404 ? findRefund(ref) : unknown('rejected', `${reply.code}: ${reply.reason}`);
    }
    return readRefundReply(reply, ref);
  }

  /** Finds a refund whose PayPal id is unknown: PayPal's order lists its refunds, and the refund number selects one. */
  async function findRefund(ref: RefundRef): Promise<RefundOutcome> {
    if (!ref.channelOrderId) return unknown('mismatch', 'The PayPal order id needed to find the refund is unknown.');
    const reply = await call(requests.getOrderRequest(settings, ref.channelOrderId, ref.orderNo));
    if (reply.kind === 'unknown') return reply;
    if (reply.kind === 'refused' && reply.status === 404) return findRefundByCapture(ref);
    if (reply.kind === 'refused') return unknown('rejected', `${reply.code}: ${reply.reason}`);
    const order = readOrder(reply.body);
    return order ? refundInOrder(order, ref) : unknown('unparsable', 'The response is not an order.');
  }

  /**
   * Checks a refund whose order is deleted at PayPal. A capture does not list its refunds. If the capture has no
   * refunds at all, the refund is absent; otherwise the caller repeats the refund call, which returns the result of the
   * first call.
   */
  async function findRefundByCapture(ref: RefundRef): Promise<RefundOutcome> {
    const captureId = ref.paymentNo ?? ref.channelTradeNo;
    const reply = captureId ? await call(requests.getCaptureRequest(settings, captureId, ref)) : undefined;
    if (reply?.kind === 'unknown') return reply;
    const capture = reply?.kind === 'ok' ? readCapture(reply.body) : undefined;
    if (capture?.status === 'COMPLETED') return { kind: 'absent' };
    return { ...unknown('rejected', 'PayPal no longer shows the order of the refund.'), repeat: true };
  }

  function readRefundReply(reply: Exclude<Reply, { kind: 'refused' }>, ref: RefundRef): RefundOutcome {
    if (reply.kind === 'unknown') return reply;
    const found = readRefund(reply.body);
    return found ? refundOutcome(found, ref) : unknown('unparsable', 'The response is not a refund.');
  }
}
