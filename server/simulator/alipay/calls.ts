import type { Core } from '../half.ts';
import type { Call, FaultName } from '../faults.ts';
import { moveRefund } from '../refunds.ts';
import { paymentOf, refundableMinor, type Refund, type Trade } from '../trade.ts';
import { confirmDelivery, verifyProof } from './agent.ts';
import { queryBill } from './bill-calls.ts';
import { chinaTime } from './china-time.ts';
import { COMPLAINT_METHODS } from './complaint-calls.ts';
import { createForMiniProgram, precreate } from './create.ts';
import {
  exists,
  named,
  readText,
  readYuan,
  receivedOf,
  refundedSum,
  sellerOf,
  tradeNoOf,
  tradeStatus,
  yuan,
} from './model.ts';
import { AlipayRefusal, refused, success, type Content } from './reply.ts';
import type { AlipayRequest } from './request.ts';
import { cancel, payByCode } from './till.ts';

/** What a call says; `silent` = it happened, but the caller is never told. */
export interface Said {
  content: Content;
  silent?: boolean;
}

type Act = (core: Core, request: AlipayRequest, fault: FaultName | undefined) => Said;

/** The methods of the gateway that answer JSON, with the name that faults know them by. */
export const METHODS: Readonly<Record<string, { call: Call; act: Act }>> = {
  'alipay.trade.precreate': { call: 'create', act: precreate },
  'alipay.trade.create': { call: 'create', act: createForMiniProgram },
  'alipay.trade.pay': { call: 'create', act: payByCode },
  'alipay.trade.cancel': { call: 'close', act: cancel },
  'alipay.trade.query': { call: 'query', act: query },
  'alipay.trade.close': { call: 'close', act: close },
  'alipay.trade.refund': { call: 'refund', act: refund },
  'alipay.trade.fastpay.refund.query': { call: 'refund-query', act: refundQuery },
  'alipay.open.app.alipaycert.download': { call: 'certificate', act: downloadCertificate },
  'alipay.data.dataservice.bill.downloadurl.query': { call: 'bill', act: queryBill },
  'alipay.aipay.agent.payment.verify': { call: 'agent-verify', act: verifyProof },
  'alipay.aipay.agent.fulfillment.confirm': { call: 'agent-confirm', act: confirmDelivery },
  ...COMPLAINT_METHODS,
};

/** Does what a checked request asks; a refusal of the business is an answer like any other. */
export function perform(core: Core, request: AlipayRequest, fault: FaultName | undefined, word?: string): Said {
  try {
    if (fault === 'refused' && word !== undefined) throw refused(word, 'Refused, as a fault asks for.');
    if (fault === 'refused-in-gbk' && word !== undefined) throw refused(word, '交易失败：余额不足，请充值。');
    if (fault === 'clock-skew')
      throw new AlipayRefusal('40002', 'isv.invalid-timestamp', 'The timestamp is not of now.');
    if (fault === 'same-id-concurrent-refusal') throw refused('SYSTEM_ERROR', 'The same request is being served.');
    return METHODS[request.method]!.act(core, request, fault);
  } catch (error) {
    if (error instanceof AlipayRefusal) return { content: error.content };
    throw error;
  }
}

function query(core: Core, request: AlipayRequest, fault: FaultName | undefined): Said {
  const trade = existing(core, request);
  const payment = fault === 'query-lag' ? undefined : paymentOf(trade);
  const total = fault === 'wrong-amount' ? trade.minor + 1 : (payment?.minor ?? trade.minor);
  const paid = payment && {
    send_pay_date: chinaTime(payment.at),
    ...receivedOf(trade, payment),
  };
  const status =
    fault === 'query-lag' && trade.state === 'paid' ? 'WAIT_BUYER_PAY' : tradeStatus(trade, core.clock.now());
  return {
    content: success({
      ...facts(trade),
      seller_id: sellerOf(trade, request.account),
      buyer_user_id: '2088000000000001',
      trade_status: status,
      total_amount: yuan(trade, total),
      ...paid,
    }),
  };
}

function close(core: Core, request: AlipayRequest): Said {
  const trade = existing(core, request);
  if (trade.state === 'paid' || trade.state === 'closed')
    throw refused('TRADE_STATUS_ERROR', 'The state of the trade forbids this.');
  core.trades.close(trade);
  return { content: success({ trade_no: tradeNoOf(trade), out_trade_no: trade.orderNo }) };
}

function refund(core: Core, request: AlipayRequest, fault: FaultName | undefined): Said {
  const trade = existing(core, request);
  const minor = readYuan(request.content['refund_amount'], 'refund_amount');
  const refundNo = readRefundNo(request, trade, minor);
  if (fault === 'lost-refund') return refundAnswer(trade, false, fault);
  const known = trade.refunds.find((candidate) => candidate.refundNo === refundNo && candidate.origin === 'merchant');
  if (known !== undefined) return repeatRefund(core, trade, known, minor, fault);
  checkRefundable(core, trade, minor);
  const reason = request.content['refund_reason'];
  const tellsBank = readOptions(request, REFUND_OPTIONS).includes('deposit_back_info');
  const draft = { refundNo, minor, reason: typeof reason === 'string' ? reason : '', tellsBank };
  const made = core.refund(trade, draft, fault);
  if (made.state === 'failed') throw refused('SELLER_BALANCE_NOT_ENOUGH', 'The balance of the seller is too low.');
  return refundAnswer(trade, made.state === 'succeeded', fault);
}

/** No money moves twice: a repeat says fund_change=N, unless the first try had failed. */
function repeatRefund(core: Core, trade: Trade, known: Refund, minor: number, fault: FaultName | undefined): Said {
  if (known.minor !== minor) throw refused('DISCORDANT_REPEAT_REQUEST', 'The number was used with another amount.');
  const again = known.state === 'failed';
  if (again) {
    checkRefundable(core, trade, minor);
    moveRefund(core, trade, known, 'succeeded');
  }
  return refundAnswer(trade, again, fault);
}

function checkRefundable(core: Core, trade: Trade, minor: number): void {
  if (trade.fixed === 'refunds-fail') throw refused('SELLER_BALANCE_NOT_ENOUGH', 'Refunds fail, as 0.05 asks for.');
  if (paymentOf(trade) === undefined) throw refused('TRADE_STATUS_ERROR', 'The trade is not paid.');
  if (tradeStatus(trade, core.clock.now()) === 'TRADE_FINISHED')
    throw refused('TRADE_HAS_FINISHED', 'The trade is finished.');
  if (minor > refundableMinor(trade))
    throw refused('REFUND_AMT_NOT_EQUAL_TOTAL', 'More than what is left of the payment.');
}

function refundAnswer(trade: Trade, moved: boolean, fault: FaultName | undefined): Said {
  const fee = yuan(trade, refundedSum(trade) + (fault === 'wrong-amount' ? 1 : 0));
  const at = trade.refunds.findLast((each) => each.doneAt !== null)?.doneAt;
  const done = at ? { gmt_refund_pay: chinaTime(at) } : {};
  return {
    content: success({ ...facts(trade), fund_change: moved ? 'Y' : 'N', refund_fee: fee, send_back_fee: fee, ...done }),
  };
}

function refundQuery(core: Core, request: AlipayRequest, fault: FaultName | undefined): Said {
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

/** What a refund query may be asked for beside the usual (reference of alipay.trade.fastpay.refund.query). */
const QUERY_OPTIONS: readonly unknown[] = [
  'gmt_refund_pay',
  'refund_detail_item_list',
  'refund_voucher_detail_list',
  'deposit_back_info',
];

/** What a refund may be asked for (reference of alipay.trade.refund); `deposit_back_info` has Alipay tell what the payer's bank says. */
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
    throw refused('INVALID_PARAMETER', 'query_options is invalid.');
  return options;
}

/** A certificate of Alipay's for this app, as the base64 of its file. With which code another serial is refused is not documented. */
function downloadCertificate(_core: Core, { account, content }: AlipayRequest): Said {
  const pem = account.alipayCerts.get(readText(content['alipay_cert_sn'], 'alipay_cert_sn', /^[0-9a-f]{32}$/));
  if (pem === undefined) throw refused('INVALID_PARAMETER', 'No certificate of this app has the serial.');
  return { content: success({ alipay_cert_content: Buffer.from(pem).toString('base64') }) };
}

/** Without a number of its own a refund is one of the whole amount, named like the order. */
function readRefundNo({ content }: AlipayRequest, trade: Trade, minor: number): string {
  if (content['out_request_no'] === undefined && minor === trade.minor) return trade.orderNo;
  return readText(content['out_request_no'], 'out_request_no', /^\w{1,64}$/);
}

function existing(core: Core, request: AlipayRequest): Trade {
  const { account, sellers } = request;
  const trade = named(core, request);
  if (!exists(trade) || !sellers.includes(sellerOf(trade, account)))
    throw refused('TRADE_NOT_EXIST', 'The trade does not exist.');
  return trade;
}

function facts(trade: Trade): Record<string, string> {
  return { trade_no: tradeNoOf(trade), out_trade_no: trade.orderNo, buyer_logon_id: 'pay***@example.com' };
}
