import { fixedOutcome } from '../fixed.ts';
import type { FaultName } from '../faults.ts';
import type { Answer } from '../exchange.ts';
import { paymentOf, type Trade } from '../trade.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { newH5Url } from './h5-page.ts';
import { namesIn, refuseNames, type Names } from './names.ts';
import { describeTrade, detailsOf, isFor, type TradeDetails } from './present.ts';
import { badParameter, empty, notOpened, refuse, tell } from './refusals.ts';
import { CLOSE_BODIES, CREATE_BODIES, type CreateBody, productNeeds, QUERIES, readBody } from './schemas.ts';
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
  const read = readBody<CreateBody>(CREATE_BODIES[asked.mode], asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const { body } = read;
  const product = asked.parts[0] ?? '';
  const lacks = productNeeds(product, body);
  if (lacks) return settled(badParameter(lacks, 'missing'), body.out_trade_no);
  return { orderNo: body.out_trade_no, act: () => create(asked, product, body) };
}

function create(asked: Asked, product: string, body: CreateBody): Answer {
  const { core, account } = asked;
  const refused = refuseCreate(asked, product, body);
  if (refused) return refused;
  const request = JSON.stringify({ product, ...body });
  const known = core.trades.find(body.out_trade_no, { payWay: 'wechat', account: account.name });
  if (known) return repeatCreate(asked, known, request);
  const tooEarly = refuseExpiry(asked, body);
  if (tooEarly) return tooEarly;
  if (fixedOutcome(body.amount.total, 'CNY') === 'declined') {
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
      ...namesIn(body),
      product,
      ...payerOf(body),
      ...(body.attach === undefined ? {} : { attach: body.attach }),
      request,
    },
  });
  core.startFixed(trade);
  return { ...credentialOf(asked, trade), silent: trade.fixed === 'silent' };
}

function refuseCreate(asked: Asked, product: string, body: CreateBody): Answer | undefined {
  const { merchant } = asked;
  const wrong = refuseNames(merchant, namesIn(body));
  if (wrong) return wrong;
  if (!merchant.products.includes(product)) return notOpened();
  // What no openid looks like is nobody's; the words of the refusal are our inference.
  if (!Object.values(body.payer ?? {}).every((openid) => /^[\w-]+$/.test(openid)))
    return refuse(400, 'PARAM_ERROR', '无效的openid');
  return isOfAnotherApp(asked, body) ? refuse(400, 'PARAM_ERROR', 'appid和openid不匹配') : undefined;
}

/** Who pays, as far as the request says. To a partner a payer has an openid of the partner's app, whichever app was named. */
function payerOf(body: CreateBody): Pick<TradeDetails, 'openid' | 'subOpenid'> {
  const somebody = 'oSimulatedPayer';
  if (!('sp_mchid' in body)) return { openid: body.payer?.openid ?? somebody };
  const { sp_openid: openid = somebody, sub_openid: subOpenid } = body.payer ?? {};
  return body.sub_appid === undefined ? { openid } : { openid, subOpenid: subOpenid ?? `${somebody}OfSub` };
}

/** Only of a new trade: until it expires the same request may be made again ("H5下单", time_expire). */
function refuseExpiry({ core }: Asked, { time_expire: expire }: CreateBody): Answer | undefined {
  if (!expire) return undefined;
  const ahead = Date.parse(expire) - core.clock.now();
  // The way here takes a moment of the minute that the channel asks for.
  return ahead >= MINUTE - 1000 ? undefined : badParameter('/time_expire', 'time_expire is less than a minute ahead');
}

/** An openid is a payer in the eyes of one app ("JSAPI下单", payer.openid); here it belongs to the app that it first came with. */
function isOfAnotherApp({ core, account }: Asked, body: CreateBody): boolean {
  if (!body.payer) return false;
  const named = payersIn({ ...namesIn(body), ...payerOf(body) });
  const known = [...core.ledger.trades.values()]
    .filter((trade) => trade.payWay === 'wechat' && trade.account === account.name)
    .flatMap((trade) => payersIn(detailsOf(trade)));
  return named.some(({ app, openid }) => known.some((one) => one.openid === openid && one.app !== app));
}

/** The openids of a payer that a request brought, with the app of each. */
function payersIn(details: Names & Pick<TradeDetails, 'openid' | 'subOpenid'>) {
  const { appid, openid, subAppid, subOpenid } = details;
  const all = [
    { app: appid, openid },
    { app: subAppid, openid: subOpenid },
  ];
  return all.filter((one) => one.openid !== undefined && !one.openid.startsWith('oSimulatedPayer'));
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

function query(asked: Asked, trade: Trade | undefined, fault: FaultName | undefined): Answer {
  const read = readQuery(asked);
  if ('status' in read) return read;
  if (!trade || !isFor(trade, read)) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  const described = describeTrade(trade, fault === 'query-lag');
  return tell(fault === 'wrong-amount' ? withWrongAmount(described) : described);
}

function readQuery({ query: parameters, merchant, mode }: Asked): Names | Answer {
  const read = QUERIES[mode].safeParse(Object.fromEntries(parameters));
  if (!read.success) return badParameter(String(read.error.issues[0]?.path[0] ?? ''), 'missing');
  const names = namesIn(read.data);
  return refuseNames(merchant, names) ?? names;
}

function planClose(asked: Asked): Planned {
  const orderNo = asked.parts[0] ?? '';
  const read = readBody<Parameters<typeof namesIn>[0]>(CLOSE_BODIES[asked.mode], asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue), orderNo);
  return { orderNo, act: () => close(asked, orderNo, namesIn(read.body)) };
}

function close(asked: Asked, orderNo: string, names: Names): Answer {
  const wrong = refuseNames(asked.merchant, names);
  if (wrong) return wrong;
  const trade = findTrade(asked, orderNo);
  if (!trade || !isFor(trade, names)) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
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
