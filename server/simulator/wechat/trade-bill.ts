import { CHINA_RATE } from '../bills/fees.ts';
import { rowsOf, type BillContent } from '../bills/book.ts';
import type { BillRow } from '../bills/row.ts';
import { FORMULA, hundredths, UNREADABLE } from '../bills/text.ts';
import { beijingTime, detailsOf, tradeType, type TradeDetails } from './present.ts';

/** Which rows of a day: all, the payments, or the refunds. */
export const TRADE_BILL_TYPES = ['ALL', 'SUCCESS', 'REFUND'] as const;
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
  ...['退款申请时间', '退款成功时间'].map((name) => ({ name, only: ['REFUND'] as const })),
  ...['微信退款单号', '商户退款单号', '退款金额', '充值券退款金额', '退款类型', '退款状态'].map((name) => ({
    name,
    only: ['ALL', 'REFUND'] as const,
  })),
  ...['商品名称', '商户数据包', '手续费', '费率', '订单金额'].map((name) => ({ name })),
  { name: '申请退款金额', only: ['ALL', 'REFUND'] },
  { name: '费率备注' },
];
const SUMMARY = '总交易单数,应结订单总金额,退款总金额,充值券退款总金额,手续费总金额,订单总金额,申请退款总金额';

const REFUND_WORDS = { done: 'SUCCESS', 'under-way': 'PROCESSING', failed: 'FAIL' } as const;

/** The trade bill: a header, a row for each payment and each refund however it stands, a second header, one row of sums. */
export function* tradeBill(content: BillContent, owner: BillOwner, type: TradeBillType): Iterable<string> {
  const columns = COLUMNS.map(({ name }) => name).filter((name) => isIn(type, name));
  const header = columns.map((name) => (content.has('other-columns') && name === '商户订单号' ? '商家订单号' : name));
  yield `\uFEFF${header.join(',')}\r\n`;
  const sums = { rows: 0, paid: 0, refunded: 0, fees: 0 };
  for (const row of rowsOf(content)) {
    if (type !== 'ALL' && (type === 'REFUND') !== (row.kind === 'refund')) continue;
    sums.rows += 1;
    sums.fees += row.fee;
    if (row.kind === 'payment') sums.paid += row.minor;
    else sums.refunded += row.minor;
    const cells = cellsOf(row, content, owner);
    yield marked(columns.map((name) => cells[name] ?? ''));
  }
  yield `${SUMMARY}\r\n`;
  const [paid, refunded] = [hundredths(sums.paid), hundredths(sums.refunded)];
  yield marked([String(sums.rows), paid, refunded, '0.00', feeText(sums.fees), paid, refunded]);
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
  const amount = row.isUnreadable ? UNREADABLE : hundredths(row.minor);
  const paid = isRefund ? '0.00' : amount;
  const refunded = isRefund ? amount : '0.00';
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
    应结订单金额: paid,
    代金券金额: '0.00',
    退款申请时间: billTime(row.at),
    退款成功时间: doneAt(row),
    微信退款单号: isRefund ? row.number : '0',
    商户退款单号: row.refundNo ?? '0',
    退款金额: refunded,
    充值券退款金额: '0.00',
    退款类型: isRefund ? 'ORIGINAL' : '',
    退款状态: isRefund ? REFUND_WORDS[row.state] : '',
    商品名称: content.has('formula') ? FORMULA : textCell(row.subject),
    商户数据包: textCell(attach),
    手续费: feeText(row.fee),
    费率: CHINA_RATE,
    订单金额: paid,
    申请退款金额: refunded,
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
