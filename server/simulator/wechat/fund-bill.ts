import { createHash } from 'node:crypto';
import { rowsOf, type BillContent } from '../bills/book.ts';
import type { BillRow } from '../bills/row.ts';
import { hundredths } from '../bills/text.ts';
import { billTime, marked, type BillOwner } from './trade-bill.ts';

/** Columns and words: pay.weixin.qq.com, "申请资金账单", and the samples in the tests of public clients. */
const COLUMNS =
  '记账时间,微信支付业务单号,资金流水单号,业务名称,业务类型,收支类型,收支金额(元),账户结余(元),资金变更提交申请人,备注,业务凭证号';
const SUMMARY = '资金流水总笔数,收入笔数,收入金额,支出笔数,支出金额';

/** What is on the account when its bill begins, in fen. */
const OPENING_BALANCE = 100_000_000;

interface Flow {
  row: BillRow;
  name: string;
  kind: string;
  /** What the account gained or lost. */
  minor: number;
  remark: string;
}

/** The bill of the basic account: what came and what left; the fee of a payment is a line of its own, a refund's is taken off it. */
export function* fundBill(content: BillContent, { mchid }: BillOwner): Iterable<string> {
  yield `\uFEFF${content.has('other-columns') ? COLUMNS.replace('业务凭证号', '凭证编号') : COLUMNS}\r\n`;
  const sums = { in: 0, came: 0, out: 0, left: 0 };
  let balance = OPENING_BALANCE;
  for (const flow of flowsOf(content)) {
    balance += flow.minor;
    sums[flow.minor > 0 ? 'in' : 'out'] += 1;
    sums[flow.minor > 0 ? 'came' : 'left'] += Math.abs(flow.minor);
    yield marked(cellsOf(flow, balance, mchid));
  }
  yield `${SUMMARY}\r\n`;
  const counts = [sums.in, hundredths(sums.came), sums.out, hundredths(sums.left)];
  yield marked([sums.in + sums.out, ...counts].map(String));
}

function* flowsOf(content: BillContent): Iterable<Flow> {
  for (const row of rowsOf(content)) {
    // Vouchers without a deposit never come to the account.
    const settled = row.minor - row.offers.merchant;
    if (row.kind === 'payment') {
      yield { row, name: '交易', kind: '交易', minor: settled, remark: `结算总金额${hundredths(settled)}元` };
      if (row.fee > 0) yield { row, name: '交易', kind: '扣除交易手续费', minor: -row.fee, remark: '' };
    } else {
      const remark = `退款总金额${hundredths(settled)}元;含手续费${hundredths(Math.abs(row.fee))}元`;
      // How the statement names money of a refund that failed was not found.
      const isBack = row.kind === 'returned';
      const gained = isBack ? settled : -settled;
      yield { row, name: '退款', kind: isBack ? '退款失败退回' : '退款', minor: gained - row.fee, remark };
    }
  }
}

function cellsOf({ row, name, kind, minor, remark }: Flow, balance: number, mchid: string): string[] {
  const { at, number, orderNo, refundNo } = row;
  const digest = createHash('md5').update(`${number} ${kind}`).digest('hex');
  const flowNo = BigInt(`0x${digest}`).toString().padStart(28, '0').slice(-28);
  const way = minor > 0 ? '收入' : '支出';
  const who = row.kind === 'payment' ? 'system' : `${mchid}API`;
  const amounts = [way, hundredths(Math.abs(minor)), hundredths(balance)];
  return [billTime(at), number, flowNo, name, kind, ...amounts, who, remark, refundNo ?? orderNo];
}
