import { CHINA_RATE } from '../bills/fees.ts';
import { rowsOf, type BillContent } from '../bills/book.ts';
import type { BillRow } from '../bills/row.ts';
import { FORMULA, hundredths, UNREADABLE } from '../bills/text.ts';
import { beijingTime, detailsOf, tradeType, type TradeDetails } from './present.ts';

/**
 * Which rows of a day: all, the payments, the refunds, or the refunds that were paid from the available balance (充值退款), of which the others have none
 * ("下载交易账单", bill_type). That this is what `funds_account` AVAILABLE asks for is inferred from the documents.
 */
export const TRADE_BILL_TYPES = ['ALL', 'SUCCESS', 'REFUND', 'RECHARGE_REFUND'] as const;
/** One of them. */
export type TradeBillType = (typeof TRADE_BILL_TYPES)[number];

/** Whose bill it is. */
export interface BillOwner {
  mchid: string;
  /** Of payments that another system made. */
  appid: string;
}

/** Columns that a type of bill leaves out or adds: pay.weixin.qq.com, "申请交易账单" and "下载账单", with the sample files of the latter. */
const COLUMNS: readonly { name: string; only?: readonly TradeBillType[] }[] = [
  ...['交易时间', '公众账号ID', '商户号', '特约商户号', '设备号', '微信订单号', '商户订单号'].map((name) => ({ name })),
  ...['用户标识', '交易类型', '交易状态', '付款银行', '货币种类', '应结订单金额', '代金券金额'].map((name) => ({
    name,
  })),
  ...['退款申请时间', '退款成功时间'].map((name) => ({ name, only: ['REFUND', 'RECHARGE_REFUND'] as const })),
  ...['微信退款单号', '商户退款单号', '退款金额', '充值券退款金额', '退款类型', '退款状态'].map((name) => ({
    name,
    only: ['ALL', 'REFUND', 'RECHARGE_REFUND'] as const,
  })),
  ...['商品名称', '商户数据包', '手续费', '费率', '订单金额'].map((name) => ({ name })),
  { name: '申请退款金额', only: ['ALL', 'REFUND', 'RECHARGE_REFUND'] },
  { name: '费率备注' },
];
const SUMMARY = '总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额';

const REFUND_WORDS = { done: 'SUCCESS', 'under-way': 'PROCESSING', failed: 'FAIL' } as const;

/** The part of a day that a type of bill is about. */
export function contentOf(content: BillContent, type: TradeBillType): BillContent {
  const isPart = ({ kind, fromAvailable }: BillRow) =>
    type === 'ALL'
      ? !fromAvailable
      : type === 'RECHARGE_REFUND'
        ? fromAvailable
        : (type === 'REFUND') === (kind === 'refund') && !fromAvailable;
  const hasPayments = type === 'ALL' || type === 'SUCCESS';
  return { ...content, rows: content.rows.filter(isPart), fillers: hasPayments ? content.fillers : [] };
}

/** The trade bill: a header, a row for each payment and each refund however it stands, a second header, one row of sums. */
export function* tradeBill(content: BillContent, owner: BillOwner, type: TradeBillType): Iterable<string> {
  const columns = COLUMNS.map(({ name }) => name).filter((name) => isIn(type, name));
  const header = columns.map((name) => (content.has('other-columns') && name === '商户订单号' ? '商家订单号' : name));
  yield `\uFEFF${header.join(',')}\r\n`;
  const sums = { rows: 0, settled: 0, returned: 0, vouchers: 0, fees: 0, ordered: 0, asked: 0 };
  for (const row of rowsOf(content)) {
    const { kind, minor, fee, offers } = row;
    sums.rows += 1;
    sums.fees += fee;
    if (kind === 'payment') {
      sums.settled += minor - offers.merchant;
      sums.ordered += minor;
    } else {
      sums.returned += minor - offers.merchant;
      sums.vouchers += offers.channel;
      sums.asked += minor;
    }
    const cells = cellsOf(row, content, owner);
    yield marked(columns.map((name) => cells[name] ?? ''));
  }
  yield `${SUMMARY}\r\n`;
  const [settled = '', returned = '', vouchers = '', ordered = '', asked = ''] = [
    sums.settled,
    sums.returned,
    sums.vouchers,
    sums.ordered,
    sums.asked,
  ].map(hundredths);
  yield marked([String(sums.rows), settled, returned, vouchers, feeText(sums.fees), ordered, asked]);
}

/** A row: every cell begins with a backtick. */
export function marked(cells: readonly string[]): string {
  return `${cells.map((cell) => `\`${cell}`).join(',')}\r\n`;
}

/** `2026-01-31 09:30:00`, in Beijing. */
export function billTime(at: number): string {
  return beijingTime(at).slice(0, 19).replace('T', ' ');
}

/** Rounded to the fen and written with five decimals, as in the samples (`7.79000` of 1299.02). */
function feeText(fen: number): string {
  return `${hundredths(fen)}000`;
}

/** Whose trade it is and who paid; another system's is that of the merchant's own app. */
function partiesOf(
  { trade }: BillRow,
  { appid }: BillOwner,
): Pick<TradeDetails, 'appid' | 'subMchid' | 'openid' | 'product' | 'attach'> {
  return trade ? detailsOf(trade) : { appid, openid: 'oAnotherPayer', product: 'native' };
}

/**
 * The cells by their columns. A refund is in the bill of the day on which it was asked for, and its own row has the amounts of an order as zero (samples). That
 * a reversed payment's refund is called REVOKED is inferred from the list of states.
 */
function cellsOf(row: BillRow, content: BillContent, { mchid, ...owner }: BillOwner): Record<string, string> {
  const { appid = '', subMchid = '0', openid, product, attach = '' } = partiesOf(row, { mchid, ...owner });
  const isRefund = row.kind !== 'payment';
  const isReversed = isRefund && row.trade !== null && detailsOf(row.trade).reversed;
  const { merchant, channel } = row.offers;
  const amount = (minor: number) => (row.isUnreadable ? UNREADABLE : hundredths(minor));
  const whenPaid = (minor: number) => (isRefund ? '0.00' : amount(minor));
  const whenBack = (minor: number) => (isRefund ? amount(minor) : '0.00');
  return {
    交易时间: billTime(row.at),
    公众账号ID: appid,
    商户号: content.has('foreign-account') ? '1900000109' : mchid,
    特约商户号: subMchid,
    微信订单号: row.tradeNo,
    商户订单号: row.orderNo,
    用户标识: openid,
    交易类型: tradeType(product) ?? '',
    交易状态: isReversed ? 'REVOKED' : isRefund ? 'REFUND' : 'SUCCESS',
    付款银行: 'OTHERS',
    货币种类: row.currency,
    应结订单金额: whenPaid(row.minor - merchant),
    代金券金额: whenPaid(channel),
    退款申请时间: billTime(row.at),
    退款成功时间: doneAt(row),
    微信退款单号: isRefund ? row.number : '0',
    商户退款单号: row.refundNo ?? '0',
    退款金额: whenBack(row.minor - merchant),
    充值券退款金额: whenBack(channel),
    退款类型: isRefund ? 'ORIGINAL' : '',
    退款状态: isRefund ? REFUND_WORDS[row.state] : '',
    商品名称: content.has('formula') ? FORMULA : textCell(row.subject),
    商户数据包: textCell(attach),
    手续费: feeText(row.fee),
    费率: CHINA_RATE,
    订单金额: whenPaid(row.minor),
    申请退款金额: whenBack(row.minor),
  };
}

function doneAt({ trade, number }: BillRow): string {
  const refund = trade?.refunds.find((one) => one.number === number);
  return refund?.doneAt ? billTime(refund.doneAt) : '';
}

/** The mark of cells and the ends of lines cannot be in a cell; what WeChat Pay does with them was not found. */
function textCell(text: string): string {
  return text.replaceAll('`', "'").replaceAll(/[\r\n]+/g, ' ');
}

function isIn(type: TradeBillType, name: string): boolean {
  const { only } = COLUMNS.find((column) => column.name === name) ?? {};
  return only === undefined || only.includes(type);
}
