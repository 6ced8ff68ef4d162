import { createHash } from 'node:crypto';
import { rowsOf, type BillContent } from '../bills/book.ts';
import type { BillRow } from '../bills/row.ts';
import { hundredths } from '../bills/text.ts';
import { chinaTime } from './china-time.ts';
import { closing, columnsFor, line, opening, textCell, type BillFace } from './trade-bill.ts';

/** As the pages about bill_type signcustomer and real files of integrators have them. */
const COLUMNS = [
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
/** The names of the summary's columns are those of files of later years; Alipay's page does not list them. */
const SUMMARY_COLUMNS = ['类型', '收入笔数', '收入金额（+元）', '支出笔数', '支出金额（-元）', '总金额（元）'];

/** What is on an account when its bill begins, in fen. */
const OPENING_BALANCE = 100_000_000;

interface Flow {
  row: BillRow;
  word: string;
  minor: number;
}

/** 账务明细: what came to the account and what left it, fees on lines of their own. */
export function* accountBill(content: BillContent, face: BillFace): Iterable<string> {
  yield* opening('#支付宝账务明细查询', face, line('账务明细列表', 41, 40));
  yield `${columnsFor(content, COLUMNS).join(',')}\r\n`;
  const sums = { in: 0, came: 0, out: 0, left: 0 };
  let balance = OPENING_BALANCE;
  for (const flow of flowsOf(content)) {
    balance += flow.minor;
    count(sums, flow);
    yield `${cellsOf(flow, balance, content).join(',')}\r\n`;
  }
  yield `${line('账务明细列表结束', 40, 37)}\r\n`;
  yield `#支出合计：${sums.out}笔，共${hundredths(-sums.left)}元\r\n#收入合计：${sums.in}笔，共${hundredths(sums.came)}元\r\n`;
  yield closing(face);
}

/** 账务明细(汇总): the sums of the same. */
export function* accountSummary(content: BillContent, face: BillFace): Iterable<string> {
  yield* opening('#支付宝账务汇总查询', face, line('账务汇总列表', 41, 40));
  yield `${SUMMARY_COLUMNS.join(',')}\r\n`;
  const sums = { in: 0, came: 0, out: 0, left: 0 };
  for (const flow of flowsOf(content)) count(sums, flow);
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

function cellsOf({ row, word, minor }: Flow, balance: number, content: BillContent): string[] {
  const { number, tradeNo, orderNo, subject, at } = row;
  const digest = createHash('md5').update(`${number} ${word}`).digest('hex');
  const flowNo = BigInt(`0x${digest}`).toString().slice(0, 18);
  const came = minor > 0 ? hundredths(minor) : '0.00';
  const left = minor < 0 ? hundredths(minor) : '0.00';
  const names = [`${flowNo}\t`, `${tradeNo}\t`, `${orderNo}\t`, `${textCell(subject, content)}\t`, chinaTime(at)];
  return [...names, '*某人(pay***@example.com)\t', came, left, hundredths(balance), '支付宝', word, ''];
}

function count(sums: { in: number; came: number; out: number; left: number }, { minor }: Flow): void {
  if (minor > 0) {
    sums.in += 1;
    sums.came += minor;
  } else {
    sums.out += 1;
    sums.left -= minor;
  }
}
