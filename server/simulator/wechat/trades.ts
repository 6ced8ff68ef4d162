/**
 * Trades (orders in the simulated WeChat Pay): how they are created, queried and closed. Also payments with the payer's
 * payment code, and the page of an h5_url.
 */
import type { Context } from 'koa';
import type { Answer } from '../exchange.ts';
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { type Trade, paymentOf, refundableMinor, refundedMinor } from '../trade.ts';
import { DECLINED_BY_AMOUNT, fixedOutcome, randomDigits } from '../trades.ts';
import { readMerchant } from './account.ts';
import { type TradeDetails, describeTrade, detailsOf, isFor, withWrongAmount } from './answers.ts';
import {
  type WechatRequest,
  CLOSE_BODIES,
  CODEPAY_BODIES,
  CREATE_BODIES,
  type CallRoute,
  type CodepayBody,
  type CreateBody,
  type Names,
  type Planned,
  QUERIES,
  REVERSE_BODIES,
  badParameter,
  empty,
  namesIn,
  namesOf,
  notOpened,
  productNeeds,
  readBody,
  refuse,
  refuseNames,
  settled,
  success,
} from './requests.ts';

/** The path of an h5_url in the simulator; WeChat Pay uses the host wx.tenpay.com. */
export const H5_PATH = '/wechat/cgi-bin/mmpayweb-bin/checkmweb';

/** How long an h5_url can be opened after the create request ("H5下单", h5_url). */
const URL_LIFE_MS = 5 * 60_000;

/** Each create request returns a different h5_url, which expires after five minutes. */
function newH5Url(core: Core, trade: Trade): string {
  const issued = `${core.clock.now()}${randomDigits(6)}`;
  return `${core.url}${H5_PATH}?prepay_id=wx${trade.id}&package=${issued}`;
}

/**
 * Opens an h5_url in the payer's browser and redirects to the payer page of the trade. Refuses an expired URL and a
 * missing referer. Also refuses a referer or redirect_url on a domain that the merchant has not registered. WeChat Pay
 * does the same, according to its documentation ("H5支付", 常见问题), but the HTTP status is not documented.
 */
export function openH5(ctx: Context, core: Core): void {
  const trade = tradeOf(core, textOf(ctx, 'prepay_id'));
  const redirectUrl = textOf(ctx, 'redirect_url');
  const refusal = trade
    ? whyRefused(core, trade, { issued: textOf(ctx, 'package'), referer: ctx.get('referer'), redirectUrl })
    : '支付请求已失效，请重新发起支付';
  if (!trade || refusal !== undefined) return show(ctx, refusal ?? '');
  if (redirectUrl !== '' && trade.returnUrl !== redirectUrl) {
    trade.returnUrl = redirectUrl;
    core.trades.record(trade, 'updated');
  }
  ctx.redirect(core.payUrl(trade));
}

function tradeOf(core: Core, prepayId: string): Trade | undefined {
  const trade = core.trades.byId(prepayId.replace(/^wx/, ''));
  return trade?.payWay === 'wechat' && trade.scene === 'h5' ? trade : undefined;
}

function whyRefused(
  core: Core,
  trade: Trade,
  { issued, referer, redirectUrl }: { issued: string; referer: string; redirectUrl: string },
): string | undefined {
  const age = core.clock.now() - Number(issued.slice(0, -6));
  if (!(age >= 0 && age <= URL_LIFE_MS)) return '支付请求已失效，请重新发起支付';
  if (referer === '') return '商家参数格式有误，请联系商家解决';
  const account = core.accounts.get('wechat', trade.account);
  const domains = account ? readMerchant(account).h5Domains : [];
  const isRegistered = [referer, ...(redirectUrl === '' ? [] : [redirectUrl])].every((url) => isOf(url, domains));
  return isRegistered ? undefined : '商家存在未配置的参数，请联系商家解决';
}

function isOf(url: string, domains: readonly string[]): boolean {
  const host = URL.parse(url)?.hostname ?? '';
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

function show(ctx: Context, words: string): void {
  ctx.status = 403;
  ctx.type = 'text/html; charset=utf-8';
  ctx.set('content-security-policy', "default-src 'none'");
  ctx.set('cache-control', 'no-store');
  ctx.body = `<!DOCTYPE html><html lang="zh"><head><meta charset="utf-8"><title>${words}</title></head><body><p>${words}</p></body></html>\n`;
}

function textOf(ctx: Context, name: string): string {
  const value = ctx.query[name];
  return typeof value === 'string' ? value : '';
}

const MINUTE = 60_000;
/** How long a trade without time_expire can be paid: two hours. */
const USUAL_LIFE = 120 * MINUTE;

export const TRADE_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/pay\/transactions\/(native|jsapi|h5|app)$/, call: 'create', plan: planCreate },
  { method: 'GET', path: /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)$/, call: 'query', plan: planQuery },
  { method: 'GET', path: /^\/v3\/pay\/transactions\/id\/([^/]+)$/, call: 'query', plan: planQueryById },
  { method: 'POST', path: /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)\/close$/, call: 'close', plan: planClose },
];

function planCreate(request: WechatRequest): Planned {
  const read = readBody<CreateBody>(CREATE_BODIES[request.mode], request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const { body } = read;
  const product = request.parts[0] ?? '';
  const lacks = productNeeds(product, body);
  if (lacks) return settled(badParameter(lacks, 'missing'), body.out_trade_no);
  return { orderNo: body.out_trade_no, act: () => create(request, product, body) };
}

function create(request: WechatRequest, product: string, body: CreateBody): Answer {
  const { core, account } = request;
  const refused = refuseCreate(request, product, body);
  if (refused) return refused;
  const sentBody = JSON.stringify({ product, ...body });
  const known = core.trades.find(body.out_trade_no, { payWay: 'wechat', account: account.name });
  if (known) return repeatCreate(request, known, sentBody);
  const tooEarly = refuseExpiry(request, body);
  if (tooEarly) return tooEarly;
  if (fixedOutcome(body.amount.total, 'CNY') === 'declined') {
    return refuse(403, 'RULE_LIMIT', `业务规则限制（${DECLINED_BY_AMOUNT.zh}）`);
  }
  const trade = core.trades.create({
    payWay: 'wechat',
    account: account.name,
    orderNo: body.out_trade_no,
    scene: product,
    subject: body.description,
    minor: body.amount.total,
    currency: 'CNY',
    state: 'open',
    notifyUrl: body.notify_url,
    expiresAt: body.time_expire ? Date.parse(body.time_expire) : core.clock.now() + USUAL_LIFE,
    details: {
      ...namesIn(body),
      product,
      ...payerOf(body),
      ...(body.attach === undefined ? {} : { attach: body.attach }),
      request: sentBody,
    },
  });
  core.startFixed(trade);
  return { ...credentialOf(request, trade), silent: trade.fixed === 'silent' };
}

function refuseCreate(request: WechatRequest, product: string, body: CreateBody): Answer | undefined {
  const { merchant } = request;
  const wrong = refuseNames(merchant, namesIn(body));
  if (wrong) return wrong;
  if (!merchant.products.includes(product)) return notOpened();
  // WeChat Pay refuses a malformed openid; the message is inferred.
  if (!Object.values(body.payer ?? {}).every((openid) => /^[\w-]+$/.test(openid)))
    return refuse(400, 'PARAM_ERROR', '无效的openid');
  return isOfAnotherApp(request, body) ? refuse(400, 'PARAM_ERROR', 'appid和openid不匹配') : undefined;
}

/** The payer of a partner's trade always has an openid of the partner's app. */
function payerOf(body: CreateBody): Pick<TradeDetails, 'openid' | 'subOpenid'> {
  const invented = 'oSimulatedPayer';
  if (!('sp_mchid' in body)) return { openid: body.payer?.openid ?? invented };
  const { sp_openid: openid = invented, sub_openid: subOpenid } = body.payer ?? {};
  return body.sub_appid === undefined ? { openid } : { openid, subOpenid: subOpenid ?? `${invented}OfSub` };
}

/** Checks only a new trade: WeChat Pay accepts a repeated request until the trade expires ("H5下单", time_expire). */
function refuseExpiry({ core }: WechatRequest, { time_expire: expire }: CreateBody): Answer | undefined {
  if (!expire) return undefined;
  const ahead = Date.parse(expire) - core.clock.now();
  // WeChat Pay requires one minute. One second less is accepted, because the request takes time.
  return ahead >= MINUTE - 1000 ? undefined : badParameter('/time_expire', 'time_expire is less than a minute ahead');
}

/**
 * Whether an openid of the request was first used with another app. According to WeChat Pay's documentation, an openid
 * belongs to one app ("JSAPI下单", payer.openid).
 */
function isOfAnotherApp({ core, account }: WechatRequest, body: CreateBody): boolean {
  if (!body.payer) return false;
  const named = payersIn({ ...namesIn(body), ...payerOf(body) });
  const known = [...core.ledger.trades.values()]
    .filter((trade) => trade.payWay === 'wechat' && trade.account === account.name)
    .flatMap((trade) => payersIn(detailsOf(trade)));
  return named.some(({ app, openid }) => known.some((one) => one.openid === openid && one.app !== app));
}

function payersIn(details: Names & Pick<TradeDetails, 'openid' | 'subOpenid'>) {
  const { appid, openid, subAppid, subOpenid } = details;
  const all = [
    { app: appid, openid },
    { app: subAppid, openid: subOpenid },
  ];
  return all.filter((one) => one.openid !== undefined && !one.openid.startsWith('oSimulatedPayer'));
}

/** Handles a repeated create request. An equal request may be repeated while the order is unpaid. */
function repeatCreate(request: WechatRequest, trade: Trade, sentBody: string): Answer {
  if (trade.state === 'paid') return refuse(400, 'ORDERPAID', '该订单已支付');
  if (trade.state === 'closed') return refuse(400, 'ORDER_CLOSED', '该订单已关闭');
  if (detailsOf(trade).request !== sentBody) return refuse(403, 'OUT_TRADE_NO_USED', '商户订单号重复');
  return credentialOf(request, trade);
}

/** Returns the payment data for a create request. In the simulator a code_url is the URL of the payer page. */
function credentialOf({ core }: WechatRequest, trade: Trade): Answer {
  const { product } = detailsOf(trade);
  if (product === 'native') return success({ code_url: core.payUrl(trade) });
  return product === 'h5' ? success({ h5_url: newH5Url(core, trade) }) : success({ prepay_id: `wx${trade.id}` });
}

function planQuery(request: WechatRequest): Planned {
  const orderNo = request.parts[0] ?? '';
  return { orderNo, act: (fault) => query(request, findTrade(request, orderNo), fault) };
}

function planQueryById(request: WechatRequest): Planned {
  const { core, account, parts } = request;
  const trade = [...core.ledger.trades.values()].find(
    (candidate) =>
      candidate.payWay === 'wechat' && candidate.account === account.name && paymentOf(candidate)?.number === parts[0],
  );
  return { orderNo: trade?.orderNo, act: (fault) => query(request, trade, fault) };
}

function query(request: WechatRequest, trade: Trade | undefined, fault: FaultName | undefined): Answer {
  const read = readQuery(request);
  if ('status' in read) return read;
  if (!trade || !isFor(trade, read)) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  const described = describeTrade(trade, fault === 'query-lag');
  return success(fault === 'wrong-amount' ? withWrongAmount(described) : described);
}

function readQuery({ query: parameters, merchant, mode }: WechatRequest): Names | Answer {
  const read = QUERIES[mode].safeParse(Object.fromEntries(parameters));
  if (!read.success) return badParameter(String(read.error.issues[0]?.path[0] ?? ''), 'missing');
  const names = namesIn(read.data);
  return refuseNames(merchant, names) ?? names;
}

function planClose(request: WechatRequest): Planned {
  const orderNo = request.parts[0] ?? '';
  const read = readBody<Parameters<typeof namesIn>[0]>(CLOSE_BODIES[request.mode], request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue), orderNo);
  return { orderNo, act: () => close(request, orderNo, namesIn(read.body)) };
}

function close(request: WechatRequest, orderNo: string, names: Names): Answer {
  const wrong = refuseNames(request.merchant, names);
  if (wrong) return wrong;
  const trade = findTrade(request, orderNo);
  if (!trade || !isFor(trade, names)) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  if (trade.state === 'paid') return refuse(400, 'ORDER_PAID', '该订单已支付');
  if (detailsOf(trade).closed) return refuse(400, 'ORDER_CLOSED', '该订单已关闭');
  trade.details['closed'] = true;
  if (trade.state === 'closed') request.core.trades.record(trade, 'updated');
  else request.core.trades.close(trade);
  return empty(204);
}

function findTrade({ core, account }: WechatRequest, orderNo: string): Trade | undefined {
  return core.trades.find(orderNo, { payWay: 'wechat', account: account.name });
}

export const CODE_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/pay\/transactions\/codepay$/, call: 'create', plan: planPay },
  {
    method: 'POST',
    path: /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)\/reverse$/,
    call: 'close',
    plan: planReverse,
  },
];

function planPay(request: WechatRequest): Planned {
  const read = readBody<CodepayBody>(CODEPAY_BODIES[request.mode], request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  return { orderNo: read.body.out_trade_no, act: () => pay(request, read.body) };
}

/** Charges a payment code. Except for some test amounts (e.g. 0.01), the trade then waits for the payer's password. */
function pay(request: WechatRequest, body: CodepayBody): Answer {
  const { core, account, merchant } = request;
  const names = namesIn(body);
  const wrong = refuseNames(merchant, names);
  if (wrong) return wrong;
  if (!merchant.products.includes('codepay')) return notOpened();
  const known = findTrade(request, body.out_trade_no);
  if (known) return refuseRepeat(known);
  if (isUsed(request, body.payer.auth_code))
    return refuse(400, 'AUTH_CODE_INVALID', '每个二维码仅限使用一次，请刷新再试');
  if (fixedOutcome(body.amount.total, 'CNY') === 'declined')
    return refuse(403, 'NOT_ENOUGH', `余额不足（${DECLINED_BY_AMOUNT.zh}）`);
  const trade = core.trades.create({
    payWay: 'wechat',
    account: account.name,
    orderNo: body.out_trade_no,
    scene: 'codepay',
    subject: body.description,
    minor: body.amount.total,
    currency: 'CNY',
    state: 'open',
    // WeChat Pay sends no notification of a payment with a payment code.
    notifyUrl: null,
    details: {
      ...names,
      product: 'codepay',
      openid: 'oSimulatedPayer',
      ...(names.subAppid === undefined ? {} : { subOpenid: 'oSimulatedPayerOfSub' }),
      authCode: body.payer.auth_code,
      ...(body.attach === undefined ? {} : { attach: body.attach }),
      request: JSON.stringify(body),
    },
  });
  core.startFixed(trade);
  const status = paymentOf(trade) ? 200 : 202;
  return { ...success(describeTrade(trade)), status, silent: trade.fixed === 'silent' };
}

/** A payment code works once, even for the same order; the merchant must query the order. */
function refuseRepeat(trade: Trade): Answer {
  if (trade.state === 'paid') return refuse(400, 'ORDERPAID', '该订单已支付');
  if (trade.state === 'closed') return refuse(400, 'ORDER_CLOSED', '该订单已关闭');
  return refuse(403, 'OUT_TRADE_NO_USED', '商户订单号重复');
}

function isUsed({ core, account }: WechatRequest, authCode: string): boolean {
  return [...core.ledger.trades.values()].some(
    (trade) => trade.payWay === 'wechat' && trade.account === account.name && detailsOf(trade).authCode === authCode,
  );
}

function planReverse(request: WechatRequest): Planned {
  const orderNo = request.parts[0] ?? '';
  const read = readBody<Parameters<typeof namesIn>[0]>(REVERSE_BODIES[request.mode], request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue), orderNo);
  return { orderNo, act: () => reverse(request, orderNo, namesIn(read.body)) };
}

/** Closes an unpaid trade or refunds a paid trade in full. A repeated request returns the same response. */
function reverse(request: WechatRequest, orderNo: string, names: Names): Answer {
  const { core, merchant } = request;
  const { mchid, subMchid } = names;
  const wrong = refuseNames(merchant, { mchid, subMchid });
  if (wrong) return wrong;
  const trade = findTrade(request, orderNo);
  if (!trade || !isFor(trade, names)) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  const details = detailsOf(trade);
  const { appid = details.appid, subAppid } = names;
  const isSameApp = details.appid === appid && details.subAppid === subAppid;
  if (details.product !== 'codepay' || !isSameApp) return refuse(400, 'INVALID_REQUEST', '无效请求');
  const done = success({ ...namesOf(names), out_trade_no: orderNo });
  if (details.reversed) return done;
  if (refundedMinor(trade) > 0) return refuse(400, 'INVALID_REQUEST', '订单已转入退款');
  trade.details['reversed'] = true;
  if (trade.state === 'paid')
    core.refund(trade, { refundNo: `reverse${trade.id}`, minor: refundableMinor(trade), notifyUrl: null });
  else core.trades.close(trade);
  return done;
}
