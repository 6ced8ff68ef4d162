/** The simulation of WeChat Pay: the list of all its API calls, and the platform certificates. */
import type { Context } from 'koa';
import { X509Certificate, randomUUID } from 'node:crypto';
import { WECHAT_BILL_RULES } from './bill-rules.ts';
import { PREORDER_PATH } from '../../channels/wechat/signature.ts';
import { write } from '../exchange.ts';
import type { FaultName } from '../faults.ts';
import { type Core, type ChannelSimulator, baseOf } from '../channel-simulator.ts';
import { rawBodyOf } from '../requests.ts';
import type { Trade } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { type SigningKey, configOfMerchant, newMerchant, readMerchant, rotateMerchant } from './account.ts';
import { servePreorder } from './agents.ts';
import {
  beijingTime,
  describeRefundNotification,
  describeTrade,
  encrypted,
  refundEvent,
  signAnswer,
} from './answers.ts';
import { BILL_CALLS } from './bills.ts';
import { COMPLAINT_CALLS, IMAGE_CALLS, actOnComplaint, endApproved } from './disputes.ts';
import { COMPLAINT_NOTIFICATION_CALLS, encryptNotification } from './notifications.ts';
import { REFUND_CALLS, resumeRefunds } from './refunds.ts';
import {
  type WechatRequest,
  type CallRoute,
  type Planned,
  empty,
  enter,
  isRefused,
  refuse,
  settled,
  success,
} from './requests.ts';
import { CODE_CALLS, H5_PATH, TRADE_CALLS, openH5 } from './trades.ts';

const CERTIFICATE_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: /^\/v3\/certificates$/, call: 'certificates', plan: planCertificates },
];

/** A merchant that uses only public keys has no platform certificates. */
function planCertificates({ merchant: { verifyMode, platformKeys, apiV3Key } }: WechatRequest): Planned {
  if (verifyMode === 'public-key')
    return settled(refuse(404, 'RESOURCE_NOT_EXISTS', '无可用的平台证书，请使用微信支付公钥'));
  return {
    act: (fault) => success({ data: platformKeys.map((key) => describeCertificate(key, apiV3Key, fault)) }),
  };
}

function describeCertificate(
  { serial, publicPem }: SigningKey,
  apiV3Key: string,
  fault: FaultName | undefined,
): object {
  const { validFromDate, validToDate } = new X509Certificate(publicPem);
  return {
    serial_no: serial,
    effective_time: beijingTime(validFromDate.getTime()),
    expire_time: beijingTime(validToDate.getTime()),
    encrypt_certificate: encrypted(publicPem, 'certificate', apiV3Key, fault),
  };
}

const CALLS = [
  ...TRADE_CALLS,
  ...CODE_CALLS,
  ...REFUND_CALLS,
  ...CERTIFICATE_CALLS,
  ...COMPLAINT_CALLS,
  ...IMAGE_CALLS,
  ...COMPLAINT_NOTIFICATION_CALLS,
  ...BILL_CALLS,
];

/** Seconds between deliveries of a notification. */
const SCHEDULE = [15, 15, 30, 180, 600, 1200, 1800, 1800, 1800, 3600, 10_800, 10_800, 10_800, 21_600, 21_600];

/** The basic payment paths of a partner: the paths of a direct merchant with `/partner` inserted. */
const PARTNER = /^\/v3\/pay\/partner\//;

export const wechatSimulator: ChannelSimulator = {
  payWay: 'wechat',
  billRules: WECHAT_BILL_RULES,
  hosts: ['api.mch.weixin.qq.com', 'api2.mch.weixin.qq.com', 'api.wechatpay.cn', 'payapp.weixin.qq.com'],
  notificationSchedule: SCHEDULE,
  mount(router, core) {
    router.get(H5_PATH, (ctx) => openH5(ctx, core));
    router.post(`/wechat${PREORDER_PATH}`, (ctx) => servePreorder(ctx, core));
    router.all('/wechat/{*rest}', (ctx) => serve(ctx, core));
    resumeRefunds(core);
  },
  newSecrets: (core, _name, options) => newMerchant(core, options),
  configFor: (account) => configOfMerchant(readMerchant(account)),
  pay(core, trade) {
    core.trades.pay(trade, { number: core.trades.newNumber(() => `4200${randomDigits(24)}`) });
    sendNotification(
      core,
      trade,
      'TRANSACTION.SUCCESS',
      trade.notifyUrl,
      describeTrade(trade),
      core.notificationDelay(trade),
    );
  },
  sendEvent: (core, trade, { type, resource }) => sendNotification(core, trade, type, trade.notifyUrl, resource),
  detailsOfAnother: (_core, { details }) => ({ ...details, closed: false }),
  decline: (core, trade) => core.trades.decline(trade),
  notifyRefund(core, trade, refund) {
    if (refund.state === 'processing') return;
    if (refund.state === 'succeeded') endApproved(core, trade);
    sendNotification(core, trade, refundEvent(refund), refund.notifyUrl, describeRefundNotification(trade, refund));
  },
  dispute: actOnComplaint,
  newRefundNumber: (core) => core.trades.newNumber(() => `503${randomDigits(25)}`),
  signNotification(core, notification, fault) {
    const account = core.accounts.get('wechat', notification.account);
    if (!account) throw new Error(`The account ${notification.account} of a notification no longer exists.`);
    return encryptNotification(core, readMerchant(account), notification, fault);
  },
  acknowledged: (status) => status === 200 || status === 204,
  rotate: rotateMerchant,
};

async function serve(ctx: Context, core: Core): Promise<void> {
  const requested = ctx.path.slice('/wechat'.length);
  const path = requested.replace(PARTNER, '/v3/pay/');
  const call = CALLS.find((one) => one.method === ctx.method && one.path.test(path));
  if (!call) return write(ctx, empty(CALLS.some((one) => one.path.test(path)) ? 405 : 404));
  const entered = enter(ctx, core, path);
  if (isRefused(entered)) return write(ctx, entered);
  const { account, merchant } = entered;
  const parts = (call.path.exec(path)?.slice(1) ?? []).map(decode);
  const { orderNo, act } = call.plan({
    core,
    mode: path === requested ? 'direct' : 'partner',
    account,
    merchant,
    parts,
    query: ctx.URL.searchParams,
    base: baseOf(ctx, core, 'wechat'),
    rawBody: rawBodyOf(ctx),
    contentType: ctx.get('content-type'),
  });
  const requestedSerial = ctx.get('wechatpay-serial');
  await core.answer(ctx, {
    payWay: 'wechat',
    account: account.name,
    call: call.call,
    orderNo,
    act: (fault, word) =>
      fault === 'refused' && word !== undefined
        ? refuse(400, word, 'The simulator refuses the call because of a fault that was set.')
        : act(fault),
    // A file is not signed: the earlier signed response, which has the download URL, contains its hash.
    sign: (answer, fault) => (answer.file ? answer : signAnswer(core, merchant, requestedSerial, answer, fault)),
  });
}

/** Sends a notification. Without a notify_url no notification is sent. */
function sendNotification(
  core: Core,
  trade: Trade,
  event: string,
  url: string | null,
  facts: Record<string, unknown>,
  delay?: number,
): void {
  if (url !== null) core.notifications.send(trade, { id: randomUUID(), event, url, facts }, delay);
}

/** Decodes a part of the path. A malformed escape stays as it is, so the part matches no order number. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
