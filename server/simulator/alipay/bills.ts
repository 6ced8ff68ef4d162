/** Serves trade and account bills: a client requests the bill of a day or month, then downloads the file by URL. */
import iconv from 'iconv-lite';
import type { Context } from 'koa';
import { createHash } from 'node:crypto';
import { ALIPAY_BILL_RULES } from './bill-rules.ts';
import { type BillContent, type BillFile, isEmpty, rowsOf } from '../bills/book.ts';
import {
  FORMULA,
  UNREADABLE,
  type ZipEntry,
  firstHalf,
  hundredths,
  inTurn,
  piecesOf,
  withGigabyte,
  zipOf,
} from '../bills/files.ts';
import { type BillRow, type Span, spanOfDay, spanOfMonth } from '../bills/rows.ts';
import { type Answer, write } from '../exchange.ts';
import type { Core } from '../channel-simulator.ts';
import type { Trade } from '../trade.ts';
import { AlipayRefusal, type Content, chinaTime, success } from './answers.ts';
import { type AlipayRequest, sellerOf } from './requests.ts';

interface BillFace extends Span {
  /** The merchant's number (PID). The account number in the bill is the PID followed by 0156. */
  pid: string;
  exportedAt: number;
}

/**
 * The 25 columns of a trade bill. Source of the columns and of the lines around them: opendocs.alipay.com, "账单文件说明" of
 * alipay.data.dataservice.bill.downloadurl.query, and real files in the tests of integrators.
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

/** The sums of a bill, in fen. Sums of refunds are negative, and so are sums of fees that Alipay charged. */
interface Sums {
  payments: number;
  refunds: number;
  ordered: number;
  received: number;
  returned: number;
  /** `given`: the merchant's discounts on payments. `givenBack`: the merchant's discounts that refunds cancel. */
  given: number;
  givenBack: number;
  ofAlipay: number;
  fees: number;
  shares: number;
}

/** 业务明细: one row for each payment and refund; refunds are negative. */
function* tradeBill(content: BillContent, face: BillFace): Iterable<string> {
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

/** 业务明细(汇总): one row with the sums of all shops, because the simulator has no separate shops. */
function* tradeSummary(content: BillContent, face: BillFace): Iterable<string> {
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

/** The first four lines of every file: title, account, period, start of the list. */
function* opening(title: string, { pid, from, to }: BillFace, list: string): Iterable<string> {
  yield `${title}\r\n#账号：[${pid}0156]\r\n`;
  yield `#起始日期：[${dayText(from)}]   终止日期：[${dayText(to)}]\r\n${list}\r\n`;
}

function closing({ exportedAt }: BillFace): string {
  return `#导出时间：[${dayText(exportedAt)}]\r\n`;
}

/** Builds the line that begins or ends a list: the title between `before` and `after` dashes. */
export function line(title: string, before: number, after: number): string {
  return `#${'-'.repeat(before)}${title}${'-'.repeat(after)}`;
}

function columnsFor({ has }: BillContent, columns: readonly string[]): string[] {
  return columns.map((name, index) => (has('other-columns') && index === 1 ? `${name}（新）` : name));
}

/**
 * Writes an order title as a cell. Alipay's files do not quote cells, so commas and line breaks are replaced
 * (inferred).
 */
function textCell(text: string, { has }: BillContent): string {
  return has('formula') ? FORMULA : text.replaceAll(',', '，').replaceAll(/[\r\n\t]+/g, ' ');
}

/**
 * Returns the cells of a payment or refund. The signs of the fee (negative for a payment, positive for a refund) are
 * inferred; Alipay's page says only that the column is the fee.
 */
function cellsOf(row: BillRow, content: BillContent): string[] {
  const { tradeNo, orderNo, refundNo, kind, subject, createdAt, at } = row;
  const sign = kind === 'payment' ? 1 : -1;
  const { merchant, channel, share } = row.offers;
  const amount = (minor: number) => (row.isUnreadable ? UNREADABLE : hundredths(minor === 0 ? 0 : sign * minor));
  const word = kind === 'payment' ? '交易' : '退款';
  const nothing = ['\t', '\t', '\t', '\t'];
  // The cells of these columns, in this sequence: 支付宝红包, 集分宝, 支付宝优惠, 商家优惠, 券核销金额, 券名称, 商家红包消费金额, 卡消费金额.
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

/** Formats an instant as `2026年01月31日 09:30:00` in Beijing time. */
function dayText(at: number): string {
  return chinaTime(at).replace(/^(\d+)-(\d+)-(\d+)/, '$1年$2月$3日');
}

/**
 * The columns of an account bill. Source: Alipay's pages about bill_type `signcustomer`, and real files of integrators.
 */
const ACCOUNT_COLUMNS = [
  '账务流水号',
  '业务流水号',
  '商户订单号',
  '商品名称',
  '发生时间',
  '对方账号',
  '收入金额（+元）',
  '支出金额（-元）',
  '账户余额（元）',
  '交易渠道',
  '业务类型',
  '备注',
];
/** The column names of the account summary, from newer real files; Alipay's page does not list them. */
const ACCOUNT_SUMMARY_COLUMNS = ['类型', '收入笔数', '收入金额（+元）', '支出笔数', '支出金额（-元）', '总金额（元）'];

/** The invented balance of an account at the start of its bill, in fen. */
const OPENING_BALANCE = 100_000_000;

interface Flow {
  row: BillRow;
  word: string;
  minor: number;
}

/** 账务明细: credits and debits of the account, with fees on separate lines. */
function* accountBill(content: BillContent, face: BillFace): Iterable<string> {
  yield* opening('#支付宝账务明细查询', face, line('账务明细列表', 41, 40));
  yield `${columnsFor(content, ACCOUNT_COLUMNS).join(',')}\r\n`;
  const sums = { in: 0, came: 0, out: 0, left: 0 };
  let balance = OPENING_BALANCE;
  for (const flow of flowsOf(content)) {
    balance += flow.minor;
    countFlow(sums, flow);
    yield `${flowCells(flow, balance, content).join(',')}\r\n`;
  }
  yield `${line('账务明细列表结束', 40, 37)}\r\n`;
  yield `#支出合计：${sums.out}笔，共${hundredths(-sums.left)}元\r\n#收入合计：${sums.in}笔，共${hundredths(sums.came)}元\r\n`;
  yield closing(face);
}

/** 账务明细(汇总): the sums of 账务明细. */
function* accountSummary(content: BillContent, face: BillFace): Iterable<string> {
  yield* opening('#支付宝账务汇总查询', face, line('账务汇总列表', 41, 40));
  yield `${ACCOUNT_SUMMARY_COLUMNS.join(',')}\r\n`;
  const sums = { in: 0, came: 0, out: 0, left: 0 };
  for (const flow of flowsOf(content)) countFlow(sums, flow);
  const cells = [
    '合计',
    sums.in,
    hundredths(sums.came),
    sums.out,
    hundredths(-sums.left),
    hundredths(sums.came - sums.left),
  ];
  yield `${cells.join(',')}\r\n${line('账务汇总列表结束', 40, 37)}\r\n`;
  yield closing(face);
}

function* flowsOf(content: BillContent): Iterable<Flow> {
  for (const row of rowsOf(content)) {
    const isPayment = row.kind === 'payment';
    const { merchant, share } = row.offers;
    const received = row.minor - merchant;
    yield { row, word: isPayment ? '在线支付' : '交易退款', minor: isPayment ? received : -received };
    if (row.fee !== 0) yield { row, word: isPayment ? '收费' : '退费', minor: -row.fee };
    if (share !== 0) yield { row, word: isPayment ? '交易分账' : '交易分账退回', minor: isPayment ? -share : share };
  }
}

function flowCells({ row, word, minor }: Flow, balance: number, content: BillContent): string[] {
  const { number, tradeNo, orderNo, subject, at } = row;
  const digest = createHash('md5').update(`${number} ${word}`).digest('hex');
  const flowNo = BigInt(`0x${digest}`).toString().slice(0, 18);
  const came = minor > 0 ? hundredths(minor) : '0.00';
  const left = minor < 0 ? hundredths(minor) : '0.00';
  const names = [`${flowNo}\t`, `${tradeNo}\t`, `${orderNo}\t`, `${textCell(subject, content)}\t`, chinaTime(at)];
  return [...names, '*某人(pay***@example.com)\t', came, left, hundredths(balance), '支付宝', word, ''];
}

function countFlow(sums: { in: number; came: number; out: number; left: number }, { minor }: Flow): void {
  if (minor > 0) {
    sums.in += 1;
    sums.came += minor;
  } else {
    sums.out += 1;
    sums.left -= minor;
  }
}

/**
 * The path of a bill file, which is downloaded without a signature. Alipay uses `/downloadBillFile.resource` on a host
 * other than the gateway's.
 */
export const BILL_PATH = '/alipay/downloadBillFile.resource';
/** How long the download URL of a bill is valid (reference of alipay.data.dataservice.bill.downloadurl.query: 30 s). */
const ADDRESS_MS = 30_000;
/** The first day for which Alipay has bills (reference of alipay.data.dataservice.bill.downloadurl.query). */
const FIRST_MS = Date.UTC(2016, 0, 1) - 8 * 3_600_000;
/**
 * When a bill is ready after the end of its period (reference of alipay.data.dataservice.bill.downloadurl.query):
 * usually at 9:00 of the next day; a month's bill on the third day.
 */
const READY_MS = { day: 9 * 3_600_000, month: 2 * 86_400_000 };

const TYPES: Readonly<Record<string, { name: string; list: BillWriter; summary: BillWriter }>> = {
  trade: { name: '业务明细', list: tradeBill, summary: tradeSummary },
  signcustomer: { name: '账务明细', list: accountBill, summary: accountSummary },
};
type BillWriter = (content: BillContent, face: BillFace) => Iterable<string>;

/** alipay.data.dataservice.bill.downloadurl.query: returns the URL of the bill of a day or a month. */
export function queryBill(core: Core, request: AlipayRequest): { content: Content } {
  const { account, content: parameters, sellers } = request;
  const type = String(parameters['bill_type']);
  const day = String(parameters['bill_date']);
  const isDay = day.length === 10;
  const span = isDay ? spanOfDay(ALIPAY_BILL_RULES, day) : spanOfMonth(ALIPAY_BILL_RULES, day);
  const now = core.clock.now();
  if (!Object.hasOwn(TYPES, type) || !span || span.from < FIRST_MS || span.from > now) throw badArguments();
  const pid = sellers.find((seller) => seller === account.sellerId) ?? sellers[0] ?? account.sellerId;
  const content = listed(
    core.bills.contentOf({
      rules: ALIPAY_BILL_RULES,
      account: account.name,
      // A bill belongs to the merchant (商户) and covers all its apps (reference of
      // alipay.data.dataservice.bill.downloadurl.query).
      beside: core.accounts.of('alipay').map(({ name: one }) => one),
      ...span,
      isOurs: (trade) => sellerOf(trade, sellerIn(core, trade, account)) === pid,
      timeOf: ({ at, doneAt }) => doneAt ?? at,
    }),
  );
  // Alipay refuses a day that is not over as an invalid argument (as integrators report).
  if (content.has('real-hours') && span.to > now) throw badArguments();
  const isEarly = content.has('real-hours') && now < span.to + READY_MS[isDay ? 'day' : 'month'];
  if (isEarly || content.has('late') || isEmpty(content)) throw noBill();
  const name = `${pid}0156_${day.replaceAll('-', '')}`;
  const expiresAt = content.has('expired-url') ? now - 1 : now + ADDRESS_MS;
  const face = { ...span, pid: content.has('foreign-account') ? '2088000000000009' : pid, exportedAt: now };
  const write = () => fileOf(content, face, type, name);
  const token = core.bills.promise({ payWay: 'alipay', account: account.name, expiresAt, write });
  const about = new URLSearchParams({
    bizType: type,
    userId: `${pid}0156`,
    fileType: 'csv.zip',
    bizDates: day.replaceAll('-', ''),
  });
  about.set('downloadFileName', `${name}.csv.zip`);
  about.set('token', token);
  return { content: success({ bill_download_url: `${core.url}${BILL_PATH}?${about}` }) };
}

/**
 * Returns the default merchant of a trade, which receives the money if the trade names no merchant. For a trade of the
 * account that requests the bill, this is the account's merchant at the time of the request.
 */
function sellerIn(core: Core, trade: Trade, asking: AlipayRequest['account']): { sellerId: string } {
  const sellerId = core.accounts.get('alipay', trade.account)?.secrets['sellerId'] ?? '';
  return trade.account === asking.name ? asking : { sellerId };
}

/** Serves a bill file by its URL. Alipay's response to an expired URL is not documented. */
export async function serveBill(core: Core, ctx: Context): Promise<void> {
  const token = ctx.URL.searchParams.get('token') ?? '';
  const file = core.bills.find(token);
  if (file?.payWay !== 'alipay') return write(ctx, gone(404));
  await core.answer(ctx, {
    payWay: 'alipay',
    account: file.account,
    call: 'bill-file',
    act: () => (file.expiresAt < core.clock.now() ? gone(403) : download(file, ctx)),
    sign: (answer) => answer,
  });
}

function download(file: BillFile, ctx: Context): Answer {
  const name = ctx.URL.searchParams.get('downloadFileName')?.replaceAll(/[^\w.]/g, '') ?? 'bill.csv.zip';
  const headers = { 'Content-Type': 'application/zip', 'Content-Disposition': `attachment; filename="${name}"` };
  return { status: 200, body: '', headers, file: () => file.write() };
}

function gone(status: number): Answer {
  return { status, body: '链接已失效\n', headers: { 'Content-Type': 'text/plain; charset=utf-8' } };
}

/** The file names in the zip are GBK, and the zip does not declare their charset. */
function fileOf(content: BillContent, face: BillFace, type: string, name: string): AsyncIterable<Buffer> {
  const { name: title, list, summary } = TYPES[type]!;
  const charset = content.has('wrong-charset') ? 'utf8' : 'gbk';
  const entry = (ending: string, writer: BillWriter): ZipEntry => {
    const pieces = inTurn(piecesOf(writer(content, face), charset));
    const isBomb = content.has('zip-bomb') && writer === list;
    return {
      name: iconv.encode(`${name}_${title}${ending}.csv`, 'gbk'),
      content: isBomb ? withGigabyte(pieces) : pieces,
    };
  };
  const zip = zipOf([entry('', list), entry('(汇总)', summary)], face.exportedAt);
  return content.has('cut') ? firstHalf(zip) : zip;
}

/** Keeps only completed rows, because Alipay's bills contain no unfinished refunds. */
function listed(content: BillContent): BillContent {
  return { ...content, rows: content.rows.filter(({ state }: BillRow) => state === 'done') };
}

function noBill(): AlipayRefusal {
  return new AlipayRefusal('40004', 'isp.bill_not_exist', '账单不存在');
}

/** The code 40004 of this refusal is inferred; the sub_code is from logs of integrators. */
function badArguments(): AlipayRefusal {
  return new AlipayRefusal('40004', 'isv.invalid_arguments', '入参不合法');
}
