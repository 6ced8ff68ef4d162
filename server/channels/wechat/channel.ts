import {
  type Channel,
  type ChannelInput,
  type CloseOutcome,
  NOTIFICATION_STATUS,
  type NotificationAck,
  type NotificationVerdict,
  type NotificationsRegistered,
  type OrderRef,
  type Outcome,
  type PlaceOrder,
  type RefundOutcome,
  type RefundRef,
} from '../../payments/channel.ts';
import { readFeeRate } from '../fee-rate.ts';
import {
  readCertificates,
  readClosed,
  readCodePaid,
  readPlaced,
  readQueried,
  readRefundLookedUp,
  readRefundMade,
  readRefundQueried,
  readRefunded,
  readReversed,
} from './answers.ts';
import { wechatBills } from './bills.ts';
import { createAsk, createDownloader, createJudge, createSender } from './reply.ts';
import { readNotification, registerComplaintNotifications } from './notification.ts';
import { wechatComplaints } from './disputes.ts';
import * as requests from './requests.ts';
import { needsAddress } from './requests.ts';
import { probe } from './probe.ts';
import { appIdsOf, readSettings } from './settings.ts';

/**
 * Creates the channel of one WeChat Pay merchant or of one sub-merchant of a partner (API v3). The channel caches
 * WeChat Pay's keys, so keep one channel per configuration version. Throws ChannelMisconfigured for an unusable
 * configuration.
 */
export function createWechatChannel(input: ChannelInput): Channel {
  const settings = readSettings(input);
  const rate = readFeeRate(input.fields, { withAmount: false });
  const { now } = input;
  const send = createSender(settings, input.send, now);
  const judge = createJudge(settings, now, async () =>
    readCertificates(await send(requests.certificatesRequest()), settings, now()),
  );
  const ask = createAsk(send, judge);
  const reader = { ...settings, appIds: appIdsOf(settings), judge };

  async function query(order: OrderRef): Promise<Outcome> {
    return readQueried(await ask(requests.queryRequest(settings, order)), settings, order, now());
  }

  /**
   * Closes a payment by payer's code. If the order is already paid, it is not reversed, because a reverse returns the
   * money. If a payment arrives between the query and the reverse, the reverse returns it, and a second query detects
   * this. `again` means that the result of an earlier reverse is unknown: a paid order is then reversed again, so that
   * the money is returned for certain.
   */
  async function reverse(order: OrderRef, again = false): Promise<CloseOutcome> {
    const before = await query(order);
    const ended = readEnded(before);
    if (ended && !(again && ended.kind === 'paid')) return ended;
    const reversed = readReversed(await ask(requests.reverseRequest(settings, order)), settings, order);
    if (reversed.kind !== 'closed') return reversed;
    const after = await query(order);
    if (after.kind === 'unknown') return after;
    if (after.kind === 'paid') return { ...reversed, returned: { channelNo: after.channelNo, at: after.at } };
    // A query shortly after a reverse may still return the old state. Such a response does not show whether the money
    // was returned, so the outcome is unknown.
    const isEnded = after.kind === 'closed' || after.kind === 'absent';
    return isEnded
      ? reversed
      : { kind: 'unknown', cause: 'busy', detail: `The order is reversed, but the query still returns ${after.kind}.` };
  }

  async function queryRefund(refund: RefundRef): Promise<RefundOutcome> {
    return readRefundQueried(await ask(requests.queryRefundRequest(settings, refund)), refund, now());
  }

  return {
    payWay: 'wechat',
    account: settings.mchid,
    appIds: (scene) => appIdsOf(settings, scene),
    async place(order) {
      const impossible = refusePlace(order);
      if (impossible) return impossible;
      const reply = await ask(requests.placeRequest(settings, order));
      return order.scene === 'code'
        ? readCodePaid(reply, settings, placedRef(order), now())
        : readPlaced(reply, settings, order, now());
    },
    query,
    close: async (order, again) =>
      order.scene === 'code' ? reverse(order, again) : readClosed(await ask(requests.closeRequest(settings, order))),
    refund: async (refund) => readRefundMade(await ask(requests.refundRequest(settings, refund)), refund, now()),
    queryRefund,
    async lookUpRefund(order, refundNo) {
      const refund = { ...order, refundNo };
      return readRefundLookedUp(await ask(requests.queryRefundRequest(settings, refund)), refund, now());
    },
    async retryAbnormalRefund(refund) {
      const found = await queryRefund(refund);
      if (found.kind !== 'abnormal') return found;
      const refundId = found.channelRefundNo ?? refund.channelRefundNo;
      if (!refundId)
        return { kind: 'unknown', cause: 'unparsable', detail: 'The response of WeChat Pay has no refund_id.' };
      return readRefunded(await ask(requests.abnormalRefundRequest(settings, refund, refundId)), refund, now());
    },
    disputes: wechatComplaints(ask, settings),
    ...(input.download && {
      bills: wechatBills({
        ask,
        settings,
        now,
        download: createDownloader(settings, input.download, now),
        rate,
      }),
    }),
    readNotification: (headers, rawBody, budget) => readNotification(reader, headers, rawBody, now(), budget),
    ackNotification,
    probe: (request) => probe({ settings, ask, send, mode: input.mode, notifyUrl: input.notifyUrl, now }, request),
  };
}

/** Registers the notification URL of this service for complaints at WeChat Pay. */
export async function registerWechatNotifications(input: ChannelInput): Promise<NotificationsRegistered> {
  const settings = readSettings(input);
  const { now } = input;
  const send = createSender(settings, input.send, now);
  const judge = createJudge(settings, now, async () =>
    readCertificates(await send(requests.certificatesRequest()), settings, now()),
  );
  return registerComplaintNotifications({ ...input, ask: createAsk(send, judge) });
}

/** Returns the outcome if the order must not be reversed; undefined if the trade can still be paid. */
function readEnded(outcome: Outcome): CloseOutcome | undefined {
  if (outcome.kind === 'closed' || outcome.kind === 'unknown') return outcome;
  if (outcome.kind !== 'paid') return undefined;
  const { channelNo, at, amount, refundedTotal = 0n } = outcome;
  return refundedTotal >= amount.minor ? { kind: 'closed', returned: { channelNo, at } } : { kind: 'paid' };
}

function placedRef(order: PlaceOrder): OrderRef {
  return { ...order, channelOrderId: null, channelTradeNo: null };
}

/** Refuses an order that WeChat Pay cannot accept. The refusal is definite, because no request is sent. */
function refusePlace({ scene, openId, payCode, clientIp, amount, options }: PlaceOrder): Outcome | undefined {
  const refused = (code: string, reason: string): Outcome => ({ kind: 'declined', code, reason, definite: true });
  if (!requests.PRODUCTS[scene]) return refused('SCENE_UNKNOWN', `WeChat Pay does not support the scene ${scene}.`);
  if (amount.currency !== 'CNY') return refused('CURRENCY_UNKNOWN', 'WeChat Pay supports only the currency CNY.');
  if ((scene === 'jsapi' || scene === 'mini') && !openId)
    return refused('OPENID_MISSING', `The scene ${scene} requires openId, the openid of the payer.`);
  if (scene === 'code' && !payCode)
    return refused('PAY_CODE_MISSING', 'The scene code requires payCode, the code of the payer.');
  if (!clientIp && (scene === 'h5' || scene === 'code' || needsAddress(options.wechat)))
    return refused(
      'CLIENT_IP_MISSING',
      `clientIp is missing (scene ${scene}). The scenes h5 and code, and storeId and deviceId, require it.`,
    );
  return undefined;
}

function ackNotification(verdict: NotificationVerdict): NotificationAck {
  const isAccepted = verdict === 'accepted';
  const body = isAccepted ? '{"code":"SUCCESS","message":"OK"}' : '{"code":"FAIL","message":"not accepted"}';
  return { status: NOTIFICATION_STATUS[verdict], contentType: 'application/json', body };
}
