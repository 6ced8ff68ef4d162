import { FORMULA, hundredths, UNREADABLE } from '../bills/text.ts';
import { rowsOf, type BillContent } from '../bills/book.ts';
import type { BillRow } from '../bills/row.ts';
import type { Span } from '../bills/days.ts';
import { chinaTime } from './china-time.ts';

/** What a bill says of itself beside its rows. */
export interface BillFace extends Span {
  /** The merchant's number; an account is called by it and 0156. */
  pid: string;
  exportedAt: number;
}

/**
 * The 25 columns and the lines around them: opendocs.alipay.com, "账单文件说明" of alipay.data.dataservice.bill.downloadurl.query, as real files show it
 * that integrators keep in their tests.
 */
const COLUMNS = [
  '支付宝交易号',
  '商户订单号',
  '业务类型',
  '商品名称',
  '创建时间',
  '完成时间',
  '门店编号',
  '门店名称',
  '操作员',
  '终端号',
  '对方账户',
  '订单金额（元）',
  '商家实收（元）',
  '支付宝红包（元）',
  '集分宝（元）',
  '支付宝优惠（元）',
  '商家优惠（元）',
  '券核销金额（元）',
  '券名称',
  '商家红包消费金额（元）',
  '卡消费金额（元）',
  '退款批次号/请求号',
  '服务费（元）',
  '分润（元）',
  '备注',
];
const SUMMARY_COLUMNS = [
  '门店编号',
  '门店名称',
  '交易订单总笔数',
  '退款订单总笔数',
  '订单金额（元）',
  '商家实收（元）',
  '支付宝优惠（元）',
  '商家优惠（元）',
  '卡消费金额（元）',
  '服务费（元）',
  '分润（元）',
  '实收净额（元）',
];

/** The sums of a bill, in fen, as its lines show them: refunds and fees that were kept are negative. */
interface Sums {
  payments: number;
  refunds: number;
  ordered: number;
  received: number;
  returned: number;
  /** Of the merchant, of payments and of refunds. */
  given: number;
  givenBack: number;
  ofAlipay: number;
  fees: number;
  shares: number;
}

/** 业务明细: one row for each payment and refund; refunds are negative. */
export function* tradeBill(content: BillContent, face: BillFace): Iterable<string> {
  yield* opening('#支付宝业务明细查询', face, line('业务明细列表', 41, 40));
  yield `${columnsFor(content, COLUMNS).join(',')}\r\n`;
  const sums = noSums();
  for (const row of rowsOf(content)) {
    count(sums, row);
    yield `${cellsOf(row, content).join(',')}\r\n`;
  }
  yield `${line('业务明细列表结束', 41, 36)}\r\n`;
  yield `#交易合计：${sums.payments}笔，商家实收共${hundredths(sums.received)}元，商家优惠共${hundredths(sums.given)}元\r\n`;
  yield `#退款合计：${sums.refunds}笔，商家实收退款共${hundredths(sums.returned)}元，商家优惠退款共${hundredths(sums.givenBack)}元\r\n`;
  yield closing(face);
}

/** 业务明细(汇总): one row for each shop, of which there is none here, and one for all. */
export function* tradeSummary(content: BillContent, face: BillFace): Iterable<string> {
  yield* opening('#支付宝业务汇总查询', face, line('业务汇总列表', 41, 40));
  yield `${SUMMARY_COLUMNS.join(',')}\r\n`;
  const sums = noSums();
  for (const row of rowsOf(content)) count(sums, row);
  const { payments, refunds, ordered, ofAlipay, fees, shares } = sums;
  const received = sums.received + sums.returned;
  const money = [ordered, received, ofAlipay, sums.given + sums.givenBack, 0, fees, shares, received + fees + shares];
  const cells = ['合计\t', '\t', payments, refunds, ...money.map(hundredths)];
  yield `${cells.join(',')}\r\n`;
  yield `${line('业务汇总列表结束', 40, 37)}\r\n`;
  yield closing(face);
}

/** The first four lines of every file: what it is, whose, of which time, and the beginning of the list. */
export function* opening(title: string, { pid, from, to }: BillFace, list: string): Iterable<string> {
  yield `${title}\r\n#账号：[${pid}0156]\r\n`;
  yield `#起始日期：[${dayText(from)}]   终止日期：[${dayText(to)}]\r\n${list}\r\n`;
}

/** The last line of every file. */
export function closing({ exportedAt }: BillFace): string {
  return `#导出时间：[${dayText(exportedAt)}]\r\n`;
}

/** A line that begins or ends a list. */
export function line(title: string, before: number, after: number): string {
  return `#${'-'.repeat(before)}${title}${'-'.repeat(after)}`;
}

/** The columns, one of them with another name where that is asked for. */
export function columnsFor({ has }: BillContent, columns: readonly string[]): string[] {
  return columns.map((name, index) => (has('other-columns') && index === 1 ? `${name}（新）` : name));
}

/** A title as a cell holds it: nothing in these files is quoted, so it has no comma and no end of line (an inference). */
export function textCell(text: string, { has }: BillContent): string {
  return has('formula') ? FORMULA : text.replaceAll(',', '，').replaceAll(/[\r\n\t]+/g, ' ');
}

/**
 * A payment or a refund. That the fee of a payment is negative, what the merchant pays, and comes back positive with a refund
 * is inferred: Alipay's page says only that the column is the fee.
 */
function cellsOf(row: BillRow, content: BillContent): string[] {
  const { tradeNo, orderNo, refundNo, kind, subject, createdAt, at } = row;
  const sign = kind === 'payment' ? 1 : -1;
  const { merchant, channel, share } = row.offers;
  const amount = (minor: number) => (row.isUnreadable ? UNREADABLE : hundredths(minor === 0 ? 0 : sign * minor));
  const word = kind === 'payment' ? '交易' : '退款';
  const nothing = ['\t', '\t', '\t', '\t'];
  // 支付宝红包, 集分宝, 支付宝优惠, 商家优惠, 券核销金额, 券名称, 商家红包消费金额, 卡消费金额.
  const offers = ['0.00', '0.00', amount(channel), amount(merchant), '0.00', '', '0.00\t', '0.00'];
  const begin = [
    `${tradeNo}\t`,
    `${orderNo}\t`,
    `${word}\t`,
    textCell(subject, content),
    chinaTime(createdAt),
    chinaTime(at),
  ];
  const fee = hundredths(row.fee === 0 ? 0 : -row.fee);
  return [
    ...begin,
    ...nothing,
    '*某人(pay***@example.com)\t',
    amount(row.minor),
    amount(row.minor - merchant),
    ...offers,
    `${refundNo ?? ''}\t`,
    fee,
    amount(-share),
    '',
  ];
}

function noSums(): Sums {
  const money = { ordered: 0, received: 0, returned: 0, given: 0, givenBack: 0, ofAlipay: 0, fees: 0, shares: 0 };
  return { payments: 0, refunds: 0, ...money };
}

function count(sums: Sums, { kind, minor, fee, offers }: BillRow): void {
  const sign = kind === 'payment' ? 1 : -1;
  sums.fees -= fee;
  sums.ordered += sign * minor;
  sums.ofAlipay += sign * offers.channel;
  sums.shares -= sign * offers.share;
  if (kind === 'payment') {
    sums.payments += 1;
    sums.received += minor - offers.merchant;
    sums.given += offers.merchant;
  } else {
    sums.refunds += 1;
    sums.returned -= minor - offers.merchant;
    sums.givenBack -= offers.merchant;
  }
}

/** `2026年01月31日 09:30:00`, in Beijing. */
function dayText(at: number): string {
  return chinaTime(at).replace(/^(\d+)-(\d+)-(\d+)/, '$1年$2月$3日');
}
