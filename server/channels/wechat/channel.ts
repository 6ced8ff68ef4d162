import type {
  Channel,
  ChannelInput,
  NoticeAck,
  NoticeVerdict,
  Outcome,
  PlaceOrder,
  RefundOutcome,
  RefundRef,
} from '../../payments/channel.ts';
import { NOTICE_STATUS } from '../../payments/channel.ts';
import { readClosed, readQueried, readRefunded, readRefundMade, readRefundQueried } from './answers.ts';
import { readCertificates } from './certificates.ts';
import { createAsk, createSender } from './client.ts';
import { createJudge } from './genuine.ts';
import { readNotice } from './notice.ts';
import { readPlaced } from './placed.ts';
import { probe } from './probe.ts';
import * as requests from './requests.ts';
import { appIdsOf, readSettings } from './settings.ts';

/**
 * One WeChat Pay merchant (API v3). The instance holds the platform's keys: keep it for the life of its configuration
 * version. Throws ChannelMisconfigured for a configuration that cannot work.
 */
export function createWechatChannel(input: ChannelInput): Channel {
  const settings = readSettings(input);
  const { now } = input;
  const send = createSender(settings, input.send, now);
  const judge = createJudge(settings, now, async () =>
    readCertificates(await send(requests.certificatesRequest()), settings, now()),
  );
  const ask = createAsk(send, judge);
  const reader = { ...settings, appIds: appIdsOf(settings), judge };

  async function queryRefund(refund: RefundRef): Promise<RefundOutcome> {
    return readRefundQueried(await ask(requests.queryRefundRequest(refund)), refund, now());
  }

  return {
    payWay: 'wechat',
    account: settings.mchid,
    appIds: (scene) => appIdsOf(settings, scene),
    async place(order) {
      const impossible = refusePlace(order);
      if (impossible) return impossible;
      return readPlaced(await ask(requests.placeRequest(settings, order)), settings, order, now());
    },
    query: async (order) => readQueried(await ask(requests.queryRequest(settings, order)), settings, order, now()),
    close: async (order) => readClosed(await ask(requests.closeRequest(settings, order))),
    refund: async (refund) => readRefundMade(await ask(requests.refundRequest(refund)), refund, now()),
    queryRefund,
    async lookUpRefund(order, refundNo) {
      const refund = { ...order, refundNo };
      return readRefundQueried(await ask(requests.queryRefundRequest(refund)), refund, now());
    },
    async retryAbnormalRefund(refund) {
      const found = await queryRefund(refund);
      if (found.kind !== 'abnormal') return found;
      const refundId = found.channelRefundNo ?? refund.channelRefundNo;
      if (!refundId)
        return { kind: 'unknown', cause: 'unparsable', detail: 'The response of WeChat Pay has no refund_id.' };
      return readRefunded(await ask(requests.abnormalRefundRequest(refund, refundId)), refund, now());
    },
    readNotice: (headers, rawBody, budget) => readNotice(reader, headers, rawBody, now(), budget),
    ackNotice,
    probe: () => probe(settings, ask, send, now),
  };
}

/** What needs no answer from anybody: nothing was sent, so nothing can exist. */
function refusePlace({ scene, openId, clientIp, amount }: PlaceOrder): Outcome | undefined {
  const refused = (code: string, reason: string): Outcome => ({ kind: 'declined', code, reason, definite: true });
  if (!requests.PRODUCTS[scene]) return refused('SCENE_UNKNOWN', `WeChat Pay does not support the scene ${scene}.`);
  if (amount.currency !== 'CNY') return refused('CURRENCY_UNKNOWN', 'WeChat Pay supports only CNY.');
  if (scene === 'jsapi' && !openId)
    return refused('OPENID_MISSING', 'The scene jsapi requires the openid of the payer.');
  if (scene === 'h5' && !clientIp)
    return refused('CLIENT_IP_MISSING', 'The scene h5 requires the IP address of the payer.');
  return undefined;
}

function ackNotice(verdict: NoticeVerdict): NoticeAck {
  const isAccepted = verdict === 'accepted';
  const body = isAccepted ? '{"code":"SUCCESS","message":"OK"}' : '{"code":"FAIL","message":"not accepted"}';
  return { status: NOTICE_STATUS[verdict], contentType: 'application/json', body };
}
