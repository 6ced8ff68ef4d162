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
 * One WeChat Pay merchant, or one of a partner (API v3). The instance holds the platform's keys: keep it for the life of its configuration
 * version. Throws ChannelMisconfigured for a configuration that cannot work.
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
   * Ends the trade of a payer's code. One that is paid is told and not touched: a reverse would give the money back. What is
   * paid between the question and the reverse does go back, and is found by asking once more. `again`: an earlier reverse may
   * have been made, or may still be: one more makes certain that the money goes back.
   */
  async function reverse(order: OrderRef, again = false): Promise<CloseOutcome> {
    const before = await query(order);
    const ended = readEnded(before);
    if (ended && !(again && ended.kind === 'paid')) return ended;
    const said = readReversed(await ask(requests.reverseRequest(settings, order)), settings, order);
    if (said.kind !== 'closed') return said;
    const after = await query(order);
    if (after.kind === 'unknown') return after;
    if (after.kind === 'paid') return { ...said, returned: { channelNo: after.channelNo, at: after.at } };
    // A question that lags behind the reverse says nothing about the money.
    const isEnded = after.kind === 'closed' || after.kind === 'absent';
    return isEnded
      ? said
      : { kind: 'unknown', cause: 'busy', detail: `It is reversed, and still shown as ${after.kind}.` };
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

/** Has WeChat Pay tell complaints at the notification URL of the project. */
export async function registerWechatNotifications(input: ChannelInput): Promise<NotificationsRegistered> {
  const settings = readSettings(input);
  const { now } = input;
  const send = createSender(settings, input.send, now);
  const judge = createJudge(settings, now, async () =>
    readCertificates(await send(requests.certificatesRequest()), settings, now()),
  );
  return registerComplaintNotifications({ ...input, ask: createAsk(send, judge) });
}

/** What a trade that is not to be reversed any more says about its end; undefined = it can still be paid. */
function readEnded(said: Outcome): CloseOutcome | undefined {
  if (said.kind === 'closed' || said.kind === 'unknown') return said;
  if (said.kind !== 'paid') return undefined;
  const { channelNo, at, amount, refundedTotal = 0n } = said;
  return refundedTotal >= amount.minor ? { kind: 'closed', returned: { channelNo, at } } : { kind: 'paid' };
}

/** An order as a query would name it, before anything is known of it. */
function placedRef(order: PlaceOrder): OrderRef {
  return { ...order, channelOrderId: null, channelTradeNo: null };
}

/** What needs no answer from anybody: nothing was sent, so nothing can exist. */
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
