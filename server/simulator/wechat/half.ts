import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import { rawBodyOf } from '../body.ts';
import type { Core, Half } from '../half.ts';
import { write } from '../exchange.ts';
import { baseOf } from '../roots.ts';
import type { Trade } from '../trade.ts';
import { randomDigits } from '../trades.ts';
import { configOfMerchant, newMerchant, readMerchant, rotateMerchant } from './account.ts';
import { BILL_CALLS } from './bill-calls.ts';
import { CODE_CALLS } from './code-calls.ts';
import { CERTIFICATE_CALLS } from './certificate-calls.ts';
import { PREORDER_PATH } from '../../channels/wechat/signature.ts';
import { actOnComplaint, COMPLAINT_CALLS, endApproved } from './complaint-calls.ts';
import { COMPLAINT_NOTICE_CALLS } from './complaint-notices.ts';
import { enter, isRefused } from './gate.ts';
import { H5_PATH, openH5 } from './h5-page.ts';
import { describeRefundNotice, describeTrade, refundEvent } from './present.ts';
import { IMAGE_CALLS } from './image-calls.ts';
import { servePreorder } from './preorder.ts';
import { REFUND_CALLS, resumeRefunds } from './refund-calls.ts';
import { empty, refuse } from './refusals.ts';
import { sealAnswer, sealNotice } from './seal.ts';
import { TRADE_CALLS } from './trade-calls.ts';

const CALLS = [
  ...TRADE_CALLS,
  ...CODE_CALLS,
  ...REFUND_CALLS,
  ...CERTIFICATE_CALLS,
  ...COMPLAINT_CALLS,
  ...IMAGE_CALLS,
  ...COMPLAINT_NOTICE_CALLS,
  ...BILL_CALLS,
];

/** 15 s twice, 30 s, 3, 10 and 20 min, 30 min three times, 1 h, 3 h three times, 6 h twice. */
const SCHEDULE = [15, 15, 30, 180, 600, 1200, 1800, 1800, 1800, 3600, 10_800, 10_800, 10_800, 21_600, 21_600];

/** A partner's paths of basic payment are those of a direct merchant with one step more. */
const PARTNER = /^\/v3\/pay\/partner\//;

/** WeChat Pay, API v3, direct merchants and partners, below `/wechat`. */
export const wechatHalf: Half = {
  payWay: 'wechat',
  hosts: ['api.mch.weixin.qq.com', 'api2.mch.weixin.qq.com', 'api.wechatpay.cn', 'payapp.weixin.qq.com'],
  noticeSchedule: SCHEDULE,
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
    sendNotice(core, trade, 'TRANSACTION.SUCCESS', trade.notifyUrl, describeTrade(trade), core.noticeDelay(trade));
  },
  tellEvent: (core, trade, { type, resource }) => sendNotice(core, trade, type, trade.notifyUrl, resource),
  detailsOfAnother: (_core, { details }) => ({ ...details, closed: false }),
  decline: (core, trade) => core.trades.decline(trade),
  tellRefund(core, trade, refund) {
    if (refund.state === 'processing') return;
    if (refund.state === 'succeeded') endApproved(core, trade);
    sendNotice(core, trade, refundEvent(refund), refund.notifyUrl, describeRefundNotice(trade, refund));
  },
  dispute: actOnComplaint,
  newRefundNumber: (core) => core.trades.newNumber(() => `503${randomDigits(25)}`),
  signNotice(core, notice, fault) {
    const account = core.accounts.get('wechat', notice.account);
    if (!account) throw new Error(`The account ${notice.account} of a notice is gone.`);
    return sealNotice(core, readMerchant(account), notice, fault);
  },
  acknowledged: (status) => status === 200 || status === 204,
  rotate: rotateMerchant,
};

async function serve(ctx: Context, core: Core): Promise<void> {
  const asked = ctx.path.slice('/wechat'.length);
  const path = asked.replace(PARTNER, '/v3/pay/');
  const call = CALLS.find((one) => one.method === ctx.method && one.path.test(path));
  if (!call) return write(ctx, empty(CALLS.some((one) => one.path.test(path)) ? 405 : 404));
  const entered = enter(ctx, core, path);
  if (isRefused(entered)) return write(ctx, entered);
  const { account, merchant } = entered;
  const parts = (call.path.exec(path)?.slice(1) ?? []).map(decode);
  const { orderNo, act } = call.plan({
    core,
    mode: path === asked ? 'direct' : 'partner',
    account,
    merchant,
    parts,
    query: ctx.URL.searchParams,
    base: baseOf(ctx, core, 'wechat'),
    rawBody: rawBodyOf(ctx),
    contentType: ctx.get('content-type'),
  });
  const askedSerial = ctx.get('wechatpay-serial');
  await core.answer(ctx, {
    payWay: 'wechat',
    account: account.name,
    call: call.call,
    orderNo,
    act: (fault, word) =>
      fault === 'refused' && word !== undefined ? refuse(400, word, 'Refused, as a fault asks for.') : act(fault),
    // Files are not signed: that is what the hash is for.
    seal: (answer, fault) => (answer.file ? answer : sealAnswer(core, merchant, askedSerial, answer, fault)),
  });
}

/** Nobody but the merchant's own configuration is told when a request named no address. */
function sendNotice(
  core: Core,
  trade: Trade,
  event: string,
  url: string | null,
  facts: Record<string, unknown>,
  delay?: number,
): void {
  if (url !== null) core.notices.send(trade, { id: randomUUID(), event, url, facts }, delay);
}

/** A malformed escape is a name that nobody has. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
