import { fixedOutcome } from '../fixed.ts';
import type { FaultName } from '../faults.ts';
import type { Answer } from '../exchange.ts';
import { paymentOf, type Trade } from '../trade.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { newH5Url } from './h5-page.ts';
import { describeTrade, detailsOf } from './present.ts';
import { badParameter, empty, refuse, tell } from './refusals.ts';
import { CloseBody, CreateBody, productNeeds, readBody } from './schemas.ts';
import { withWrongAmount } from './seal.ts';

const MINUTE = 60_000;
/** A trade whose merchant gave no time_expire can be paid for two hours. */
const USUAL_LIFE = 120 * MINUTE;

/** Creating, finding and closing trades. */
export const TRADE_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/pay\/transactions\/(native|jsapi|h5|app)$/, call: 'create', plan: planCreate },
  { method: 'GET', path: /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)$/, call: 'query', plan: planQuery },
  { method: 'GET', path: /^\/v3\/pay\/transactions\/id\/([^/]+)$/, call: 'query', plan: planQueryById },
  { method: 'POST', path: /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)\/close$/, call: 'close', plan: planClose },
];

function planCreate(asked: Asked): Planned {
  const read = readBody(CreateBody, asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const { body } = read;
  const product = asked.parts[0] ?? '';
  const lacks = productNeeds(product, body);
  if (lacks) return settled(badParameter(lacks, 'missing'), body.out_trade_no);
  return { orderNo: body.out_trade_no, act: () => create(asked, product, body) };
}

function create(asked: Asked, product: string, body: CreateBody): Answer {
  const { core, account, merchant } = asked;
  const refused = refuseCreate(asked, body);
  if (refused) return refused;
  const request = JSON.stringify({ product, ...body });
  const known = core.trades.find(body.out_trade_no, { payWay: 'wechat', account: account.name });
  if (known) return repeatCreate(asked, known, request);
  const tooEarly = refuseExpiry(asked, body);
  if (tooEarly) return tooEarly;
  if (fixedOutcome(body.amount.total, 'CNY', 'wechat') === 'declined') {
    return refuse(403, 'RULE_LIMIT', '业务规则限制');
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
      mchid: merchant.mchid,
      appid: body.appid,
      product,
      openid: body.payer?.openid ?? 'oSimulatedPayer',
      ...(body.attach === undefined ? {} : { attach: body.attach }),
      request,
    },
  });
  core.startFixed(trade);
  return { ...credentialOf(asked, trade), silent: trade.fixed === 'silent' };
}

function refuseCreate(asked: Asked, body: CreateBody): Answer | undefined {
  const { merchant } = asked;
  if (body.mchid !== merchant.mchid) return badParameter('/mchid', 'mchid is not that of the signature');
  if (!merchant.appIds.includes(body.appid)) return refuse(400, 'APPID_MCHID_NOT_MATCH', '商户号与appid不匹配');
  return isOfAnotherApp(asked, body) ? refuse(400, 'PARAM_ERROR', 'appid和openid不匹配') : undefined;
}

/** Only of a new trade: until it expires the same request may be made again ("H5下单", time_expire). */
function refuseExpiry({ core }: Asked, { time_expire: expire }: CreateBody): Answer | undefined {
  if (!expire) return undefined;
  const ahead = Date.parse(expire) - core.clock.now();
  // The way here takes a moment of the minute that the channel asks for.
  return ahead >= MINUTE - 1000 ? undefined : badParameter('/time_expire', 'time_expire is less than a minute ahead');
}

/** An openid is a payer in the eyes of one app ("JSAPI下单", payer.openid); here it belongs to the app that it first came with. */
function isOfAnotherApp({ core, account }: Asked, { appid, payer }: CreateBody): boolean {
  if (!payer) return false;
  const ofPayer = [...core.ledger.trades.values()].find(
    (trade) => trade.payWay === 'wechat' && trade.account === account.name && detailsOf(trade).openid === payer.openid,
  );
  return ofPayer !== undefined && detailsOf(ofPayer).appid !== appid;
}

/** The same order may be asked for again while nobody has paid it. */
function repeatCreate(asked: Asked, trade: Trade, request: string): Answer {
  if (trade.state === 'paid') return refuse(400, 'ORDERPAID', '该订单已支付');
  if (trade.state === 'closed') return refuse(400, 'ORDER_CLOSED', '该订单已关闭');
  if (detailsOf(trade).request !== request) return refuse(403, 'OUT_TRADE_NO_USED', '商户订单号重复');
  return credentialOf(asked, trade);
}

/** The address of the payer's page stands for what a phone would open. */
function credentialOf({ core }: Asked, trade: Trade): Answer {
  const { product } = detailsOf(trade);
  if (product === 'native') return tell({ code_url: core.payUrl(trade) });
  return product === 'h5' ? tell({ h5_url: newH5Url(core, trade) }) : tell({ prepay_id: `wx${trade.id}` });
}

function planQuery(asked: Asked): Planned {
  const orderNo = asked.parts[0] ?? '';
  return { orderNo, act: (fault) => query(asked, findTrade(asked, orderNo), fault) };
}

function planQueryById(asked: Asked): Planned {
  const { core, account, parts } = asked;
  const trade = [...core.ledger.trades.values()].find(
    (candidate) =>
      candidate.payWay === 'wechat' && candidate.account === account.name && paymentOf(candidate)?.number === parts[0],
  );
  return { orderNo: trade?.orderNo, act: (fault) => query(asked, trade, fault) };
}

function query({ query: parameters, merchant }: Asked, trade: Trade | undefined, fault: FaultName | undefined): Answer {
  if (parameters.get('mchid') !== merchant.mchid) return badParameter('mchid', 'mchid is not that of the signature');
  if (!trade) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  const described = describeTrade(trade, fault === 'query-lag');
  return tell(fault === 'wrong-amount' ? withWrongAmount(described) : described);
}

function planClose(asked: Asked): Planned {
  const orderNo = asked.parts[0] ?? '';
  const read = readBody(CloseBody, asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue), orderNo);
  return { orderNo, act: () => close(asked, orderNo, read.body.mchid) };
}

function close(asked: Asked, orderNo: string, mchid: string): Answer {
  if (mchid !== asked.merchant.mchid) return badParameter('/mchid', 'mchid is not that of the signature');
  const trade = findTrade(asked, orderNo);
  if (!trade) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  if (trade.state === 'paid') return refuse(400, 'ORDER_PAID', '该订单已支付');
  if (detailsOf(trade).closed) return refuse(400, 'ORDER_CLOSED', '该订单已关闭');
  trade.details['closed'] = true;
  if (trade.state === 'closed') asked.core.trades.record(trade, 'updated');
  else asked.core.trades.close(trade);
  return empty(204);
}

function findTrade({ core, account }: Asked, orderNo: string): Trade | undefined {
  return core.trades.find(orderNo, { payWay: 'wechat', account: account.name });
}
