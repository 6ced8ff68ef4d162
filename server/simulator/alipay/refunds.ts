/** Creates and queries refunds. A repeated request does not create a second refund. */
import type { FaultName } from '../faults.ts';
import type { Core } from '../channel-simulator.ts';
import { moveRefund } from '../refunds.ts';
import { paymentOf, type Refund, refundableMinor, type Trade } from '../trade.ts';
import { chinaTime, refused, success } from './answers.ts';
import { type AlipayRequest, readText, readYuan, refundedSum, tradeNoOf, tradeStatus, yuan } from './requests.ts';
import { existing, facts, type CallResult } from './trades.ts';

/** alipay.trade.refund: refunds a paid trade; a refund number that was used before is not paid a second time. */
export function refund(core: Core, request: AlipayRequest, fault: FaultName | undefined): CallResult {
  const trade = existing(core, request);
  const minor = readYuan(request.content['refund_amount'], 'refund_amount');
  const refundNo = readRefundNo(request, trade, minor);
  if (fault === 'lost-refund') return refundAnswer(trade, false, fault);
  const known = trade.refunds.find((candidate) => candidate.refundNo === refundNo && candidate.origin === 'merchant');
  if (known !== undefined) return repeatRefund(core, trade, known, minor, fault);
  checkRefundable(core, trade, minor);
  const reason = request.content['refund_reason'];
  const notifiesBank = readOptions(request, REFUND_OPTIONS).includes('deposit_back_info');
  const draft = { refundNo, minor, reason: typeof reason === 'string' ? reason : '', notifiesBank };
  const made = core.refund(trade, draft, fault);
  if (made.state === 'failed') throw refused('SELLER_BALANCE_NOT_ENOUGH', 'The balance of the seller is too low.');
  return refundAnswer(trade, made.state === 'succeeded', fault);
}

/** A refund request with a known number moves no money (fund_change=N), unless the first attempt failed. */
function repeatRefund(
  core: Core,
  trade: Trade,
  known: Refund,
  minor: number,
  fault: FaultName | undefined,
): CallResult {
  if (known.minor !== minor)
    throw refused('DISCORDANT_REPEAT_REQUEST', 'The refund number was already used with another amount.');
  const again = known.state === 'failed';
  if (again) {
    checkRefundable(core, trade, minor);
    moveRefund(core, trade, known, 'succeeded');
  }
  return refundAnswer(trade, again, fault);
}

function checkRefundable(core: Core, trade: Trade, minor: number): void {
  if (trade.fixed === 'refunds-fail')
    throw refused('SELLER_BALANCE_NOT_ENOUGH', 'The simulator refuses every refund of an order with the amount 0.05.');
  if (paymentOf(trade) === undefined) throw refused('TRADE_STATUS_ERROR', 'The trade is not paid.');
  if (tradeStatus(trade, core.clock.now()) === 'TRADE_FINISHED')
    throw refused('TRADE_HAS_FINISHED', 'The trade is finished: the time for refunds is over.');
  if (minor > refundableMinor(trade))
    throw refused('REFUND_AMT_NOT_EQUAL_TOTAL', 'The refund amount is more than can still be refunded.');
}

function refundAnswer(trade: Trade, moved: boolean, fault: FaultName | undefined): CallResult {
  const fee = yuan(trade, refundedSum(trade) + (fault === 'wrong-amount' ? 1 : 0));
  const at = trade.refunds.findLast((each) => each.doneAt !== null)?.doneAt;
  const done = at ? { gmt_refund_pay: chinaTime(at) } : {};
  return {
    content: success({ ...facts(trade), fund_change: moved ? 'Y' : 'N', refund_fee: fee, send_back_fee: fee, ...done }),
  };
}

/** alipay.trade.fastpay.refund.query: for an unknown refund, Alipay returns a success without fields. */
export function refundQuery(core: Core, request: AlipayRequest, fault: FaultName | undefined): CallResult {
  const trade = existing(core, request);
  const refundNo = readText(request.content['out_request_no'], 'out_request_no', /^\w{1,64}$/);
  const options = readOptions(request, QUERY_OPTIONS);
  const known = trade.refunds.find((candidate) => candidate.refundNo === refundNo);
  if (known === undefined || fault === 'query-lag') return { content: success({}) };
  const status = known.state === 'succeeded' ? { refund_status: 'REFUND_SUCCESS' } : {};
  const time =
    known.doneAt !== null && options.includes('gmt_refund_pay') ? { gmt_refund_pay: chinaTime(known.doneAt) } : {};
  const amount = yuan(trade, known.minor + (fault === 'wrong-amount' ? 1 : 0));
  const about = {
    out_request_no: refundNo,
    refund_amount: amount,
    total_amount: yuan(trade, trade.minor),
    refund_reason: known.reason,
    ...(options.includes('deposit_back_info') && known.bankSaid !== undefined ? depositBack(trade, known) : {}),
  };
  return {
    content: success({ out_trade_no: trade.orderNo, trade_no: tradeNoOf(trade), ...about, ...status, ...time }),
  };
}

/** The values of `query_options` in a refund query (reference of alipay.trade.fastpay.refund.query). */
const QUERY_OPTIONS: readonly unknown[] = [
  'gmt_refund_pay',
  'refund_detail_item_list',
  'refund_voucher_detail_list',
  'deposit_back_info',
];

/**
 * The values of `query_options` in a refund request (reference of alipay.trade.refund). With `deposit_back_info` Alipay
 * notifies the merchant of the bank's result.
 */
const REFUND_OPTIONS: readonly unknown[] = ['refund_detail_item_list', 'deposit_back_info'];

function depositBack(trade: Trade, { bankSaid, minor }: Refund): Record<string, unknown> {
  const amount = bankSaid === 'S' ? { dback_amount: yuan(trade, minor) } : {};
  return { deposit_back_info: { has_deposit_back: 'true', dback_status: bankSaid, ...amount } };
}

function readOptions(
  { content: { query_options: options = [] } }: AlipayRequest,
  known: readonly unknown[],
): readonly unknown[] {
  if (!Array.isArray(options) || !options.every((option) => known.includes(option)))
    throw refused(
      'INVALID_PARAMETER',
      'query_options must be an array that contains only options from the reference of the called method.',
    );
  return options;
}

/** A refund of the whole amount may omit `out_request_no`; its refund number is then the order number. */
function readRefundNo({ content }: AlipayRequest, trade: Trade, minor: number): string {
  if (content['out_request_no'] === undefined && minor === trade.minor) return trade.orderNo;
  return readText(content['out_request_no'], 'out_request_no', /^\w{1,64}$/);
}
