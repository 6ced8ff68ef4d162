import type { Core } from '../half.ts';
import type { FaultName } from '../faults.ts';
import { paymentOf, refundableMinor, type Trade } from '../trade.ts';
import { chinaTime } from './china-time.ts';
import { createTrade, requireProduct } from './create.ts';
import { exists, named, readText, receivedOf, tradeNoOf, yuan } from './model.ts';
import { TILL_PRODUCT } from './products.ts';
import { refused, success, type Content } from './reply.ts';
import type { AlipayRequest } from './request.ts';

/** A payer's code: 16 to 24 digits that begin with 25 to 30 (reference of alipay.trade.pay). */
const CODE = /^(2[5-9]|30)\d{14,22}$/;
/** A payment can be cancelled for a day; after that it is refunded (reference of alipay.trade.cancel). */
const CANCEL_MS = 86_400_000;

/** What the payer of a code does, by its last digit; any other digit pays at once. */
const PAYERS: Readonly<Record<string, 'asks-password' | 'has-no-money' | 'showed-it-long-ago'>> = {
  '1': 'asks-password',
  '2': 'has-no-money',
  '0': 'showed-it-long-ago',
};

/** alipay.trade.pay with the code that a payer shows: paid at once, or 10003 while the payer types a password. */
export function payByCode(
  core: Core,
  request: AlipayRequest,
  fault: FaultName | undefined,
): { content: Content; silent: boolean } {
  const { account, content } = request;
  if (content['scene'] !== 'bar_code' || (content['product_code'] ?? TILL_PRODUCT) !== TILL_PRODUCT)
    throw refused('INVALID_PARAMETER', 'scene is not bar_code, or product_code not FACE_TO_FACE_PAYMENT.');
  requireProduct(request, TILL_PRODUCT);
  const authCode = readText(content['auth_code'], 'auth_code', CODE);
  const number = readText(content['out_trade_no'], 'out_trade_no', /^\w{1,64}$/);
  const known = core.trades.find(number, { payWay: 'alipay', account: account.name });
  const payer = PAYERS[authCode.at(-1)!];
  if (known === undefined) refuseCode(core, authCode, payer);
  const { trade, isNew } = createTrade(core, request, 'code', { scanned: true, authCode });
  const isPaid = trade.state === 'paid';
  if (isNew && !isPaid && payer !== 'asks-password') core.half('alipay').pay(core, trade);
  return { content: answerOf(trade, fault), silent: isNew && trade.fixed === 'silent' };
}

/** A code works once, for a minute. */
function refuseCode(core: Core, authCode: string, payer: (typeof PAYERS)[string] | undefined): void {
  const isUsed = [...core.ledger.trades.values()].some(({ details }) => details['authCode'] === authCode);
  if (isUsed || payer === 'showed-it-long-ago') throw refused('PAYMENT_AUTH_CODE_INVALID', 'The code is used or old.');
  if (payer === 'has-no-money') throw refused('BUYER_BALANCE_NOT_ENOUGH', 'The payer has not enough money.');
}

function answerOf(trade: Trade, fault: FaultName | undefined): Content {
  const names = { out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade), buyer_logon_id: 'pay***@example.com' };
  const payment = paymentOf(trade);
  if (payment === undefined) return { ...success(names), code: '10003', msg: 'order success pay inprocess' };
  return success({
    ...names,
    buyer_user_id: '2088000000000001',
    total_amount: yuan(trade, payment.minor + (fault === 'wrong-amount' ? 1 : 0)),
    ...receivedOf(trade, payment),
    gmt_payment: chinaTime(payment.at),
  });
}

/**
 * alipay.trade.cancel: closes what is not paid, gives back what is, and says which (`action`). What it answers about a trade that
 * it does not have is not documented: here a success that names no action.
 */
export function cancel(core: Core, request: AlipayRequest): { content: Content } {
  const trade = named(core, request);
  const { out_trade_no: asked } = request.content;
  if (!exists(trade))
    return { content: success({ ...(typeof asked === 'string' ? { out_trade_no: asked } : {}), retry_flag: 'N' }) };
  const said = { out_trade_no: trade.orderNo, retry_flag: 'N', trade_no: tradeNoOf(trade) };
  const payment = paymentOf(trade);
  if (payment === undefined) {
    core.trades.close(trade);
    return { content: success({ ...said, action: 'close' }) };
  }
  if (core.clock.now() - payment.at > CANCEL_MS) throw refused('TRADE_CANCEL_TIME_OUT', 'It was paid over a day ago.');
  const minor = refundableMinor(trade);
  if (minor > 0) core.refund(trade, { refundNo: `${CANCELLED}${trade.orderNo}`, minor, reason: 'cancelled' });
  return { content: success({ ...said, action: minor > 0 ? 'refund' : 'close' }) };
}

/** How the refund of a cancelled payment is called here; whether a notice names one is not documented, and ours do not. */
export const CANCELLED = 'cancel_';
