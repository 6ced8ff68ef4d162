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
 * Creates the channel of one WeChat Pay merchant, or of one merchant of a partner (API v3). It caches the platform's keys, so keep it as long
 * as its configuration version. Throws ChannelMisconfigured for an unusable configuration.
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
   * Ends a payment by payer's code. If it is already paid, the payment is reported and not reversed, because a reverse
   * returns the money. A payment that arrives between the query and the reverse is returned, and a second query finds
   * it. `again`: the result of an earlier reverse is unknown, so a paid order is reversed again to make sure that the
   * money is returned.
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
    // The query may lag behind the reverse, so its result does not decide about the money.
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

/** Registers the project's notification URL for complaints at WeChat Pay. */
export async function registerWechatNotifications(input: ChannelInput): Promise<NotificationsRegistered> {
  const settings = readSettings(input);
  const { now } = input;
  const send = createSender(settings, input.send, now);
  const judge = createJudge(settings, now, async () =>
    readCertificates(await send(requests.certificatesRequest()), settings, now()),
  );
  return registerComplaintNotifications({ ...input, ask: createAsk(send, judge) });
}

/** The close outcome of a trade that is not reversed: paid, closed or unknown; undefined = it can still be paid. */
function readEnded(outcome: Outcome): CloseOutcome | undefined {
  if (outcome.kind === 'closed' || outcome.kind === 'unknown') return outcome;
  if (outcome.kind !== 'paid') return undefined;
  const { channelNo, at, amount, refundedTotal = 0n } = outcome;
  return refundedTotal >= amount.minor ? { kind: 'closed', returned: { channelNo, at } } : { kind: 'paid' };
}

/** The reference of an order without numbers of the channel. */
function placedRef(order: PlaceOrder): OrderRef {
  return { ...order, channelOrderId: null, channelTradeNo: null };
}

/** Refuses an order that WeChat Pay cannot accept; definite, because nothing is sent. */
function refusePlace({ scene, openId, payCode, clientIp, amount, options }: PlaceOrder): Outcome | undefined {
  const refused = (code: string, reason: string): Outcome => ({ kind: 'declined', code, reason, definite: true });
  if (!requests.PRODUCTS[scene]) return refused('SCENE_UNKNOWN', `WeChat Pay does not support the scene ${scene}.`);
  if (amount.currency !== 'CNY') return refused('CURRENCY_UNKNOWN', 'WeChat Pay supports only CNY.');
  if ((scene === 'jsapi' || scene === 'mini') && !openId)
    return refused('OPENID_MISSING', `The scene ${scene} requires the openid of the payer.`);
  if (scene === 'code' && !payCode)
    return refused('PAY_CODE_MISSING', 'The scene code requires the code of the payer.');
  if (!clientIp && (scene === 'h5' || scene === 'code' || needsAddress(options.wechat)))
    return refused(
      'CLIENT_IP_MISSING',
      `WeChat Pay requires clientIp in the scene ${scene}, and with a shop or a device.`,
    );
  return undefined;
}

function ackNotification(verdict: NotificationVerdict): NotificationAck {
  const isAccepted = verdict === 'accepted';
  const body = isAccepted ? '{"code":"SUCCESS","message":"OK"}' : '{"code":"FAIL","message":"not accepted"}';
  return { status: NOTIFICATION_STATUS[verdict], contentType: 'application/json', body };
}
