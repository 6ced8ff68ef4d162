import type { Answer } from '../exchange.ts';
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { moveRefund } from '../refunds.ts';
import { type Refund, type Trade, paymentOf, refundableMinor } from '../trade.ts';
import { describeRefund, isFor, withWrongAmount } from './answers.ts';
import {
  AbnormalBody,
  type WechatRequest,
  type CallRoute,
  type Planned,
  RefundBody,
  badParameter,
  readBody,
  refuse,
  refuseSub,
  settled,
  success,
} from './requests.ts';

/** How long a refund stays PROCESSING, in simulated milliseconds. */
const SETTLE_MS = 1000;
const MOST_REFUNDS = 50;
const SPACING_MS = 60_000;
const REFUND_WINDOW_MS = 365 * 86_400_000;

export const REFUND_CALLS: readonly CallRoute[] = [
  { method: 'POST', path: /^\/v3\/refund\/domestic\/refunds$/, call: 'refund', plan: planRefund },
  { method: 'GET', path: /^\/v3\/refund\/domestic\/refunds\/([^/]+)$/, call: 'refund-query', plan: planQuery },
  {
    method: 'POST',
    path: /^\/v3\/refund\/domestic\/refunds\/([^/]+)\/apply-abnormal-refund$/,
    call: 'refund',
    plan: planRetry,
  },
];

/** Schedules the completion of refunds that an earlier process left in the state processing. */
export function resumeRefunds(core: Core): void {
  for (const trade of core.ledger.trades.values()) {
    for (const left of trade.payWay === 'wechat' ? trade.refunds : []) {
      if (left.state === 'processing') core.clock.schedule(SETTLE_MS, () => endRefund(core, trade, left));
    }
  }
}

function endRefund(core: Core, trade: Trade, left: Refund): void {
  if (left.state === 'processing') moveRefund(core, trade, left, 'succeeded');
}

interface Found {
  trade: Trade;
  refund: Refund;
}

function planRefund(request: WechatRequest): Planned {
  const read = readBody(RefundBody, request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const { body } = read;
  const wrong = refuseSub(request.merchant, body.sub_mchid);
  if (wrong) return settled(wrong, body.out_trade_no);
  const trade = findTrade(request, body);
  return { orderNo: trade?.orderNo ?? body.out_trade_no, act: (fault) => refund(request, trade, body, fault) };
}

function refund(
  { core, ...request }: WechatRequest,
  trade: Trade | undefined,
  body: RefundBody,
  fault: FaultName | undefined,
): Answer {
  if (!trade || fault === 'payment-not-found') return refuse(404, 'RESOURCE_NOT_EXISTS', '订单不存在');
  const known = findRefund({ core, ...request }, ({ refundNo }) => refundNo === body.out_refund_no, body.sub_mchid);
  if (known) return repeatRefund(known, trade, body);
  const refused = refuseRefund(trade, body, core.clock.now());
  if (refused) return refused;
  const draft = {
    refundNo: body.out_refund_no,
    minor: body.amount.refund,
    notifyUrl: body.notify_url ?? null,
    reason: body.reason,
    settleMs: SETTLE_MS,
    fromAvailable: body.funds_account === 'AVAILABLE',
  };
  return answerRefund({ trade, refund: core.refund(trade, draft, fault) }, fault);
}

/** Answers a reused refund number with the earlier refund; refuses it if the payment or an amount differs. */
function repeatRefund(known: Found, trade: Trade, { amount }: RefundBody): Answer {
  const same = known.trade === trade && known.refund.minor === amount.refund && trade.minor === amount.total;
  return same
    ? answerRefund(known)
    : refuse(400, 'INVALID_REQUEST', '订单金额或退款金额与之前请求不一致，请核实后再试');
}

function refuseRefund(trade: Trade, { amount }: RefundBody, now: number): Answer | undefined {
  const payment = paymentOf(trade);
  if (!payment) return refuse(400, 'INVALID_REQUEST', '订单未支付');
  if (amount.total !== payment.minor) return badParameter('/amount/total', '订单金额不一致');
  if (now - payment.at > REFUND_WINDOW_MS) return refuse(400, 'INVALID_REQUEST', '订单已超过可退款期限');
  if (trade.fixed === 'refunds-fail') return refuse(403, 'NOTENOUGH', '基本账户余额不足，请充值后重新发起');
  if (amount.refund > refundableMinor(trade)) return refuse(400, 'INVALID_REQUEST', '申请退款金额大于订单剩余可退金额');
  if (trade.refunds.length >= MOST_REFUNDS) return refuse(400, 'INVALID_REQUEST', '退款次数已达上限');
  const latest = trade.refunds.findLast(({ origin }) => origin === 'merchant');
  if (latest && now - latest.at < SPACING_MS) return refuse(429, 'FREQUENCY_LIMITED', '频率限制，请降低频率后再试');
  return undefined;
}

function planQuery(request: WechatRequest): Planned {
  const [number = ''] = request.parts;
  const subMchid = request.query.get('sub_mchid') ?? undefined;
  const wrong = refuseSub(request.merchant, subMchid);
  if (wrong) return settled(wrong);
  const found = () => findRefund(request, ({ refundNo }) => refundNo === number, subMchid);
  return {
    orderNo: found()?.trade.orderNo,
    act(fault) {
      const known = fault === 'query-lag' ? undefined : found();
      return known ? answerRefund(known, fault) : refuse(404, 'RESOURCE_NOT_EXISTS', '退款单不存在');
    },
  };
}

function planRetry(request: WechatRequest): Planned {
  const read = readBody(AbnormalBody, request.rawBody);
  if (!read.ok) return settled(badParameter(read.field, read.issue));
  const wrong = refuseSub(request.merchant, read.body.sub_mchid);
  if (wrong) return settled(wrong);
  const found = findRefund(request, ({ number }) => number === request.parts[0], read.body.sub_mchid);
  return { orderNo: found?.trade.orderNo, act: (fault) => retry(request, found, read.body, fault) };
}

function retry(
  { core }: WechatRequest,
  found: Found | undefined,
  body: AbnormalBody,
  fault: FaultName | undefined,
): Answer {
  if (found?.refund.refundNo !== body.out_refund_no) return refuse(404, 'RESOURCE_NOT_EXISTS', '退款单不存在');
  const { trade, refund: stuck } = found;
  if (stuck.state !== 'abnormal') return refuse(400, 'INVALID_REQUEST', '退款单状态不是退款异常');
  stuck.toMerchant = body.type === 'MERCHANT_BANK_CARD';
  moveRefund(core, trade, stuck, 'processing');
  core.clock.schedule(SETTLE_MS, () => endRefund(core, trade, stuck));
  return answerRefund(found, fault);
}

function answerRefund({ trade, refund: described }: Found, fault?: FaultName): Answer {
  const members = describeRefund(trade, described);
  return success(fault === 'wrong-amount' ? withWrongAmount(members) : members);
}

function findTrade(request: WechatRequest, body: RefundBody): Trade | undefined {
  const { core, account } = request;
  const { out_trade_no: orderNo, transaction_id: number, sub_mchid: subMchid } = body;
  const found =
    orderNo === undefined
      ? tradesOf(request).find((trade) => paymentOf(trade)?.number === number)
      : core.trades.find(orderNo, { payWay: 'wechat', account: account.name });
  return found && isFor(found, { subMchid }) ? found : undefined;
}

function findRefund(
  request: WechatRequest,
  isIt: (refund: Refund) => boolean,
  subMchid: string | undefined,
): Found | undefined {
  for (const trade of tradesOf(request).filter((one) => isFor(one, { subMchid }))) {
    const found = trade.refunds.find(isIt);
    if (found) return { trade, refund: found };
  }
  return undefined;
}

function tradesOf({ core, account }: WechatRequest): Trade[] {
  return [...core.ledger.trades.values()].filter(
    ({ payWay, account: name }) => payWay === 'wechat' && name === account.name,
  );
}
