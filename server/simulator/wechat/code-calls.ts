import { fixedOutcome } from '../fixed.ts';
import type { Answer } from '../exchange.ts';
import { paymentOf, refundableMinor, refundedMinor, type Trade } from '../trade.ts';
import { settled, type Asked, type CallRoute, type Planned } from './calls.ts';
import { namesIn, namesOf, refuseNames, type Names } from './names.ts';
import { describeTrade, detailsOf, isFor } from './present.ts';
import { badParameter, notOpened, refuse, tell } from './refusals.ts';
import { CODEPAY_BODIES, type CodepayBody, readBody, REVERSE_BODIES } from './schemas.ts';

/** Paying by a code that the payer shows in a shop, and ending it. */
export const CODE_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/pay\/transactions\/codepay$/, call: 'create', plan: planPay },
  {
    method: 'POST',
    path: /^\/v3\/pay\/transactions\/out-trade-no\/([^/]+)\/reverse$/,
    call: 'close',
    plan: planReverse,
  },
];

function planPay(asked: Asked): Planned {
  const read = readBody<CodepayBody>(CODEPAY_BODIES[asked.mode], asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  return { orderNo: read.body.out_trade_no, act: () => pay(asked, read.body) };
}

/** The payer is asked for the password, unless the amount pays by itself; who pays, pays or declines on the phone. */
function pay(asked: Asked, body: CodepayBody): Answer {
  const { core, account, merchant } = asked;
  const names = namesIn(body);
  const wrong = refuseNames(merchant, names);
  if (wrong) return wrong;
  if (!merchant.products.includes('codepay')) return notOpened();
  const known = findTrade(asked, body.out_trade_no);
  if (known) return refuseRepeat(known);
  if (isUsed(asked, body.payer.auth_code))
    return refuse(400, 'AUTH_CODE_INVALID', '每个二维码仅限使用一次，请刷新再试');
  if (fixedOutcome(body.amount.total, 'CNY') === 'declined') return refuse(403, 'NOT_ENOUGH', '余额不足');
  const trade = core.trades.create({
    payWay: 'wechat',
    account: account.name,
    orderNo: body.out_trade_no,
    scene: 'codepay',
    subject: body.description,
    minor: body.amount.total,
    currency: 'CNY',
    state: 'open',
    // Payments by code are told by the answer and by queries alone.
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
  return { ...tell(describeTrade(trade)), status, silent: trade.fixed === 'silent' };
}

/** A code works once, for the same order, too: what became of it is a question. */
function refuseRepeat(trade: Trade): Answer {
  if (trade.state === 'paid') return refuse(400, 'ORDERPAID', '该订单已支付');
  if (trade.state === 'closed') return refuse(400, 'ORDER_CLOSED', '该订单已关闭');
  return refuse(403, 'OUT_TRADE_NO_USED', '商户订单号重复');
}

function isUsed({ core, account }: Asked, authCode: string): boolean {
  return [...core.ledger.trades.values()].some(
    (trade) => trade.payWay === 'wechat' && trade.account === account.name && detailsOf(trade).authCode === authCode,
  );
}

function planReverse(asked: Asked): Planned {
  const orderNo = asked.parts[0] ?? '';
  const read = readBody<Parameters<typeof namesIn>[0]>(REVERSE_BODIES[asked.mode], asked.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue), orderNo);
  return { orderNo, act: () => reverse(asked, orderNo, namesIn(read.body)) };
}

/** Ends an unpaid trade, gives a paid one back whole, and says the same again. */
function reverse(asked: Asked, orderNo: string, names: Names): Answer {
  const { core, merchant } = asked;
  const { mchid, subMchid } = names;
  const wrong = refuseNames(merchant, { mchid, subMchid });
  if (wrong) return wrong;
  const trade = findTrade(asked, orderNo);
  if (!trade || !isFor(trade, names)) return refuse(404, 'ORDER_NOT_EXIST', '订单不存在');
  const details = detailsOf(trade);
  const { appid = details.appid, subAppid } = names;
  const isSameApp = details.appid === appid && details.subAppid === subAppid;
  if (details.product !== 'codepay' || !isSameApp) return refuse(400, 'INVALID_REQUEST', '无效请求');
  const done = tell({ ...namesOf(names), out_trade_no: orderNo });
  if (details.reversed) return done;
  if (refundedMinor(trade) > 0) return refuse(400, 'INVALID_REQUEST', '订单已转入退款');
  trade.details['reversed'] = true;
  if (trade.state === 'paid')
    core.refund(trade, { refundNo: `reverse${trade.id}`, minor: refundableMinor(trade), notifyUrl: null });
  else core.trades.close(trade);
  return done;
}

function findTrade({ core, account }: Asked, orderNo: string): Trade | undefined {
  return core.trades.find(orderNo, { payWay: 'wechat', account: account.name });
}
