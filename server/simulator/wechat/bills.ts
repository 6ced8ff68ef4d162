/** Serves trade bills and account bills. A client requests the bill of a day and then downloads the file by a URL. */
import { createHash } from 'node:crypto';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { WECHAT_BILL_RULES } from './bill-rules.ts';
import { type BillContent, isEmpty, rowsOf } from '../bills/book.ts';
import {
  FORMULA,
  UNREADABLE,
  firstHalf,
  hundredths,
  inTurn,
  packedBy,
  piecesOf,
  withGigabyte,
} from '../bills/files.ts';
import { type BillRow, dayOf, monthsBefore, spanOfDay } from '../bills/rows.ts';
import type { Answer } from '../exchange.ts';
import { type TradeDetails, beijingTime, detailsOf, tradeType } from './answers.ts';
import {
  type WechatRequest,
  type CallRoute,
  type Planned,
  badParameter,
  refuse,
  refuseSub,
  settled,
  success,
} from './requests.ts';

/**
 * RECHARGE_REFUND lists the refunds (充值退款) that no other type lists ("下载交易账单", bill_type). That these are the
 * refunds with `funds_account` AVAILABLE (paid from the available balance) is inferred from the documents.
 */
const TRADE_BILL_TYPES = ['ALL', 'SUCCESS', 'REFUND', 'RECHARGE_REFUND'] as const;
type TradeBillType = (typeof TRADE_BILL_TYPES)[number];

interface BillOwner {
  mchid: string;
  /** The app id that the bill shows for payments that another system of the merchant made. */
  appid: string;
}

/**
 * The columns of a trade bill. A column with `only` is only in bills of these types. Sources: pay.weixin.qq.com,
 * "申请交易账单" and "下载账单", and the sample files of "下载账单".
 */
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

function contentOf(content: BillContent, type: TradeBillType): BillContent {
  const isPart = ({ kind, fromAvailable }: BillRow) =>
    type === 'ALL'
      ? !fromAvailable
      : type === 'RECHARGE_REFUND'
        ? fromAvailable
        : (type === 'REFUND') === (kind === 'refund') && !fromAvailable;
  const hasPayments = type === 'ALL' || type === 'SUCCESS';
  return { ...content, rows: content.rows.filter(isPart), fillers: hasPayments ? content.fillers : [] };
}

/**
 * Writes the lines of a trade bill: the column names, one line for each payment and each refund, the column names of
 * the sums, and the sums. A refund is listed in every state.
 */
function* tradeBill(content: BillContent, owner: BillOwner, type: TradeBillType): Iterable<string> {
  const columns = COLUMNS.map(({ name }) => name).filter((name) => isIn(type, name));
  const header = columns.map((name) => (content.has('other-columns') && name === '商户订单号' ? '商家订单号' : name));
  yield `\uFEFF${header.join(',')}\r\n`;
  const sums = { rows: 0, settled: 0, returned: 0, vouchers: 0, fees: 0, ordered: 0, request: 0 };
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
      sums.request += minor;
    }
    const cells = cellsOf(row, content, owner);
    yield marked(columns.map((name) => cells[name] ?? ''));
  }
  yield `${SUMMARY}\r\n`;
  const [settled = '', returned = '', vouchers = '', ordered = '', request = ''] = [
    sums.settled,
    sums.returned,
    sums.vouchers,
    sums.ordered,
    sums.request,
  ].map(hundredths);
  yield marked([String(sums.rows), settled, returned, vouchers, feeText(sums.fees), ordered, request]);
}

/** Writes a row; every cell begins with a backtick. */
function marked(cells: readonly string[]): string {
  return `${cells.map((cell) => `\`${cell}`).join(',')}\r\n`;
}

/** Formats an instant as `2026-01-31 09:30:00` in Beijing time. */
function billTime(at: number): string {
  return beijingTime(at).slice(0, 19).replace('T', ' ');
}

/** Formats a fee, rounded to the fen, with five decimals, e.g. `7.79000`, as in WeChat Pay's samples. */
function feeText(fen: number): string {
  return `${hundredths(fen)}000`;
}

/** Returns the app, sub-merchant and payer of a row. A payment of another system shows the merchant's own app. */
function partiesOf(
  { trade }: BillRow,
  { appid }: BillOwner,
): Pick<TradeDetails, 'appid' | 'subMchid' | 'openid' | 'product' | 'attach'> {
  return trade ? detailsOf(trade) : { appid, openid: 'oAnotherPayer', product: 'native' };
}

/**
 * A refund is in the bill of the day on which it was requested. In its row the amounts of the order are zero, as in
 * WeChat Pay's samples. The state REVOKED for a reversed payment is inferred from the list of states.
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
    费率: `${WECHAT_BILL_RULES.feeRate}0%`,
    订单金额: whenPaid(row.minor),
    申请退款金额: whenBack(row.minor),
  };
}

function doneAt({ trade, number }: BillRow): string {
  const refund = trade?.refunds.find((one) => one.number === number);
  return refund?.doneAt ? billTime(refund.doneAt) : '';
}

/** Replaces backticks and line ends in a cell; WeChat Pay's own handling is not documented. */
function textCell(text: string): string {
  return text.replaceAll('`', "'").replaceAll(/[\r\n]+/g, ' ');
}

function isIn(type: TradeBillType, name: string): boolean {
  const { only } = COLUMNS.find((column) => column.name === name) ?? {};
  return only === undefined || only.includes(type);
}

/** Columns and texts are from pay.weixin.qq.com, "申请资金账单", and the samples in the tests of public clients. */
const FUND_COLUMNS =
  '记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),资金变更提交申请人,备注,业务凭证号';
const FUND_SUMMARY = '资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额';

/** The invented balance of an account at the start of its bill, in fen. */
const OPENING_BALANCE = 100_000_000;

interface Flow {
  row: BillRow;
  name: string;
  kind: string;
  /** The change of the balance, in fen. */
  minor: number;
  remark: string;
}

/** The fee of a payment has a line of its own. The line of a refund includes the fee that WeChat Pay returns. */
function* fundBill(content: BillContent, { mchid }: BillOwner): Iterable<string> {
  yield `\uFEFF${content.has('other-columns') ? FUND_COLUMNS.replace('业务凭证号', '凭证编号') : FUND_COLUMNS}\r\n`;
  const sums = { in: 0, came: 0, out: 0, left: 0 };
  let balance = OPENING_BALANCE;
  for (const flow of flowsOf(content)) {
    balance += flow.minor;
    sums[flow.minor > 0 ? 'in' : 'out'] += 1;
    sums[flow.minor > 0 ? 'came' : 'left'] += Math.abs(flow.minor);
    yield marked(flowCells(flow, balance, mchid));
  }
  yield `${FUND_SUMMARY}\r\n`;
  const counts = [sums.in, hundredths(sums.came), sums.out, hundredths(sums.left)];
  yield marked([sums.in + sums.out, ...counts].map(String));
}

function* flowsOf(content: BillContent): Iterable<Flow> {
  for (const row of rowsOf(content)) {
    // WeChat Pay does not pay out the merchant's own vouchers, so they are not part of the credited amount.
    const settled = row.minor - row.offers.merchant;
    if (row.kind === 'payment') {
      yield { row, name: '交易', kind: '交易', minor: settled, remark: `结算总金额${hundredths(settled)}元` };
      if (row.fee > 0) yield { row, name: '交易', kind: '扣除交易手续费', minor: -row.fee, remark: '' };
    } else {
      const remark = `退款总金额${hundredths(settled)}元;含手续费${hundredths(Math.abs(row.fee))}元`;
      // WeChat Pay does not document the name of a line that returns the money of a failed refund.
      const isBack = row.kind === 'returned';
      const gained = isBack ? settled : -settled;
      yield { row, name: '退款', kind: isBack ? '退款失败退回' : '退款', minor: gained - row.fee, remark };
    }
  }
}

function flowCells({ row, name, kind, minor, remark }: Flow, balance: number, mchid: string): string[] {
  const { at, number, orderNo, refundNo } = row;
  const digest = createHash('md5').update(`${number} ${kind}`).digest('hex');
  const flowNo = BigInt(`0x${digest}`).toString().padStart(28, '0').slice(-28);
  const way = minor > 0 ? '收入' : '支出';
  const requester = row.kind === 'payment' ? 'system' : `${mchid}API`;
  const amounts = [way, hundredths(Math.abs(minor)), hundredths(balance)];
  return [billTime(at), number, flowNo, name, kind, ...amounts, requester, remark, refundNo ?? orderNo];
}

/** How long the download URL of a bill is valid (pay.weixin.qq.com, "申请交易账单", download_url: 5 minutes). */
const ADDRESS_MS = 5 * 60_000;
/** When a bill is ready after the end of its day (pay.weixin.qq.com, "申请交易账单": 10:00). */
const READY_MS = 10 * 3_600_000;
/** The number of past months with bills (pay.weixin.qq.com, "申请交易账单"). */
const BACK = 3;

const Shared = {
  bill_date: z.string().regex(/^\d{4}-\d\d-\d\d$/),
  tar_type: z.literal('GZIP').optional(),
  sub_mchid: z.string().min(1).max(32).optional(),
};
const TradeQuery = z.object({ ...Shared, bill_type: z.enum(TRADE_BILL_TYPES).default('ALL') });
const FundQuery = z.object({ ...Shared, account_type: z.enum(['BASIC', 'OPERATION', 'FEES']).default('BASIC') });

/** The calls for bills. The request for a file must be signed; the response with the file is not signed. */
export const BILL_CALLS: readonly CallRoute[] = [
  { method: 'GET', path: /^\/v3\/bill\/tradebill$/, call: 'bill', plan: planTrades },
  { method: 'GET', path: /^\/v3\/bill\/fundflowbill$/, call: 'bill', plan: planFunds },
  { method: 'GET', path: /^\/v3\/billdownload\/file$/, call: 'bill-file', plan: planFile },
];

interface Bill {
  day: string;
  isPacked: boolean;
  subMchid: string | undefined;
}

/** How the file of a bill is made; `part` selects the rows for the bill type. */
interface Written {
  part?: (content: BillContent) => BillContent;
  lines: (content: BillContent) => Iterable<string>;
  /** True for an account bill (movements of money). Absent for a trade bill. */
  isOfMoney?: boolean;
}

function planTrades(request: WechatRequest): Planned {
  const read = TradeQuery.safeParse(Object.fromEntries(request.query));
  if (!read.success) return settled(badQuery(read.error));
  const { bill_type: type } = read.data;
  const owner = ownerOf(request);
  return plan(request, read.data, {
    part: (content) => contentOf(content, type),
    lines: (content) => tradeBill(content, owner, type),
  });
}

/** Only the basic account has transactions in the simulator, so another account gets "no bill exists". */
function planFunds(request: WechatRequest): Planned {
  const read = FundQuery.safeParse(Object.fromEntries(request.query));
  if (!read.success) return settled(badQuery(read.error));
  const owner = ownerOf(request);
  if (read.data.account_type !== 'BASIC') return settled(noStatement());
  return plan(
    request,
    { ...read.data, sub_mchid: undefined },
    { isOfMoney: true, lines: (content) => fundBill(content, owner) },
  );
}

function plan(
  request: WechatRequest,
  query: { bill_date: string; tar_type?: string | undefined; sub_mchid?: string | undefined },
  how: Written,
): Planned {
  const bill = { day: query.bill_date, isPacked: query.tar_type === 'GZIP', subMchid: query.sub_mchid };
  // A partner's bill without `sub_mchid` covers all its sub-merchants ("申请所有/单个子商户交易账单").
  const wrong = bill.subMchid === undefined ? undefined : refuseSub(request.merchant, bill.subMchid);
  if (wrong) return settled(wrong);
  // A small merchant has no bill of its own ("小微商户不单独提供对账单下载": "下载账单", sub_mch_id). Its rows are in the partner's bill.
  // The error code is inferred.
  if (request.merchant.subMerchants.some(({ mchid, isSmall }) => isSmall && mchid === bill.subMchid))
    return settled(noStatement());
  return { act: () => answer(request, bill, how) };
}

async function answer(
  { core, account, base }: WechatRequest,
  { day, isPacked, subMchid }: Bill,
  { part = (content) => content, lines, isOfMoney = false }: Written,
): Promise<Answer> {
  const now = core.clock.now();
  const span = spanOfDay(WECHAT_BILL_RULES, day);
  if (!span) return badParameter('bill_date', 'bill_date is not a valid day');
  if (span.from > now || span.from < monthsBefore(WECHAT_BILL_RULES, now, BACK))
    return refuse(400, 'INVALID_REQUEST', '账单日期无效');
  const found = core.bills.contentOf({
    rules: WECHAT_BILL_RULES,
    account: account.name,
    ...span,
    isOfMoney,
    // A bill shows the state that each refund had when the bill was created. If the state changes later, no bill shows
    // the change ("交易账单详细说明").
    madeAt: Math.min(now, span.to + READY_MS),
    isOurs: (trade) => subMchid === undefined || detailsOf(trade).subMchid === subMchid,
  });
  const content = part({
    ...found,
    rows: found.rows.filter(({ kind, state }) => kind !== 'payment' || state === 'done'),
  });
  const isEarly = content.has('real-hours') && now < span.to + READY_MS;
  if (isEarly || content.has('late')) return refuse(400, 'STATEMENT_CREATING', '账单生成中');
  if (isEmpty(content)) return noStatement();
  const plain = () => plainFile(content, lines(content));
  const hash = await sha1Of(plain());
  const token = core.bills.promise({
    payWay: 'wechat',
    account: account.name,
    expiresAt: content.has('expired-url') ? now - 1 : now + ADDRESS_MS,
    write: () => sent(content, isPacked ? packedBy(createGzip(), plain()) : plain()),
  });
  return success({
    hash_type: 'SHA1',
    hash_value: content.has('wrong-hash')
      ? createHash('sha1').update(dayOf(WECHAT_BILL_RULES, now)).digest('hex')
      : hash,
    download_url: `${base}/v3/billdownload/file?token=${token}`,
  });
}

/** Serves a bill file. The refusals are from the list of errors of "下载账单". */
function planFile({ core, account, query }: WechatRequest): Planned {
  return {
    act() {
      const file = core.bills.find(query.get('token') ?? '');
      if (file?.payWay !== 'wechat' || file.expiresAt < core.clock.now())
        return refuse(400, 'INVALID_REQUEST', '请求的账单文件已失效');
      if (file.account !== account.name) return refuse(403, 'NO_AUTH', '权限异常');
      return { status: 200, body: '', headers: { 'Content-Type': 'text/plain' }, file: () => file.write() };
    },
  };
}

function plainFile(content: BillContent, lines: Iterable<string>): AsyncIterable<Buffer> {
  const pieces = inTurn(piecesOf(lines, content.has('wrong-charset') ? 'gbk' : 'utf8'));
  return content.has('zip-bomb') ? withGigabyte(pieces) : pieces;
}

function sent({ has }: BillContent, pieces: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
  return has('cut') ? firstHalf(pieces) : pieces;
}

/** Returns the SHA-1 hash of a bill file before packing, in hexadecimal. */
async function sha1Of(pieces: AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash('sha1');
  for await (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

function ownerOf({ merchant: { mchid, appId } }: WechatRequest) {
  return { mchid, appid: appId };
}

function noStatement(): Answer {
  return refuse(400, 'NO_STATEMENT_EXIST', '账单文件不存在');
}

function badQuery({ issues: [issue] }: z.ZodError): Answer {
  return badParameter(String(issue?.path[0] ?? ''), issue?.message ?? 'invalid');
}
