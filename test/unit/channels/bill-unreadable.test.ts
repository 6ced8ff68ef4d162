import test, { type ExecutionContext } from 'ava';
import { readBill } from '../../../server/channels/alipay/bill-file.ts';
import { readTransactions } from '../../../server/channels/paypal/bill-file.ts';
import { readTradeBill } from '../../../server/channels/wechat/bill-file.ts';
import {
  type BillFault,
  type BillLine,
  BillMalformed,
  type BillPart,
  type BillTotals,
} from '../../../server/payments/channel.ts';
import * as alipay from './alipay/bill-file.ts';
import { billFile, collect } from './bill-trial.ts';
import * as paypal from './paypal/bill-file.ts';
import * as wechat from './wechat/bill-file.ts';

/** A bill with a number of payments and editable lines; `spoiled` is a row with an invalid amount. */
interface Trial {
  lines(rows: number): string[];
  /** The index of the first row. */
  first: number;
  spoiled: string;
  write(lines: readonly string[]): string | Uint8Array;
  read(file: string, isLenient: boolean): AsyncIterable<BillPart>;
  event: string;
  shortfall: string | undefined;
}

async function refused(t: ExecutionContext, parts: AsyncIterable<BillPart>, fault: BillFault, line?: number) {
  const error = await t.throwsAsync(collect(parts), { instanceOf: BillMalformed }, fault);
  t.is(error?.fault, fault, error?.message);
  if (line !== undefined) t.is(error?.line, line);
}

const spoiledCells = (cells: readonly string[], column: number) =>
  cells.map((cell, at) => (at === column ? '--' : cell));

const OF_ALIPAY: alipay.Row = { ordered: 3580, received: 3500, fee: -21, orderNo: 'P1', tradeNo: 'T1' };
const OF_WECHAT: wechat.Row = { ordered: 1234, settled: 1200, fee: 7000, orderNo: 'P1', tradeNo: 'T1' };
const OF_PAYPAL = paypal.payment({ transaction_id: 'T1', custom_field: 'P1', invoice_id: 'P1' });
const UNREADABLE_PAYPAL = JSON.stringify({ ...OF_PAYPAL, transaction_amount: paypal.money('1e9', 'JPY') });

const TRIALS: Readonly<Record<string, Trial>> = {
  alipay: {
    lines: (rows) => alipay.detailLines(Array.from({ length: rows }, () => OF_ALIPAY)),
    first: 5,
    spoiled: spoiledCells(alipay.cellsOf(OF_ALIPAY), 12).join(','),
    write: alipay.gbk,
    read: (file, isLenient) => readBill(file, alipay.DAY, alipay.SELLER, isLenient),
    event: '7:13 商家实收 cannot be read',
    shortfall:
      '交易合计: the bill says 3, its lines add up to 2. 交易合计: the bill says 10500, its lines add up to 7000.',
  },
  wechat: {
    lines: (rows) => wechat.billText(Array.from({ length: rows }, () => OF_WECHAT)).split('\r\n'),
    first: 1,
    spoiled: wechat.rowText(spoiledCells(wechat.cellsOf(OF_WECHAT), 12)),
    write: (lines) => lines.join('\r\n'),
    read: (file, isLenient) => readTradeBill(file, wechat.DAY, wechat.OWNER, isLenient),
    event: '3:13 应结订单金额 cannot be read',
    shortfall: [
      '总交易单数: the bill says 3, its lines add up to 2.',
      '应结订单总金额: the bill says 3600, its lines add up to 2400.',
      '手续费总金额: the bill says 21000, its lines add up to 14000.',
      '订单总金额: the bill says 3702, its lines add up to 2468.',
    ].join(' '),
  },
  paypal: {
    lines: (rows) => paypal.fileLines(Array.from({ length: rows }, () => OF_PAYPAL)),
    first: 1,
    spoiled: UNREADABLE_PAYPAL,
    write: (lines) => lines.join('\n'),
    read: (file, isLenient) => readTransactions(file, paypal.DAY, isLenient),
    event: `3:${UNREADABLE_PAYPAL.indexOf('"transaction_amount"') + 1} transaction_amount cannot be read`,
    shortfall: undefined,
  },
};

for (const [payWay, trial] of Object.entries(TRIALS)) {
  const { first, spoiled } = trial;
  const bill = async (
    t: ExecutionContext,
    rows: number,
    change: (lines: string[]) => void,
    isLenient = true,
  ): Promise<AsyncIterable<BillPart>> => {
    const lines = trial.lines(rows);
    change(lines);
    return trial.read(await billFile(t, trial.write(lines)), isLenient);
  };
  const spoil =
    (...rows: number[]) =>
    (lines: string[]) => {
      for (const row of rows) lines[first + row] = spoiled;
    };

  test(`${payWay}: an unreadable row affects only itself, and the difference to the bill's own sums is reported`, async (t) => {
    const lines: BillLine[] = [];
    let totals: readonly BillTotals[] = [];
    let shortfall: string | undefined;
    for await (const part of await bill(t, 3, spoil(1)))
      if (part.kind === 'lines') lines.push(...part.lines);
      else ({ totals, shortfall } = { shortfall: undefined, ...part });
    t.deepEqual(
      lines.map(({ line, kind }) => [line, kind]),
      [
        [1, 'payment'],
        [2, 'unreadable'],
        [3, 'payment'],
      ],
    );
    t.like(lines[1], {
      event: trial.event,
      orderNo: 'P1',
      refundNo: null,
      channelTradeNo: 'T1',
      currency: 'XXX',
      amount: 0n,
      fee: 0n,
      raw: spoiled,
    });
    t.deepEqual(totals, [], 'nothing is said of all rows');
    t.is(shortfall, trial.shortfall);
  });

  test(`${payWay}: the same file is refused when an operator uploads it`, async (t) => {
    await refused(t, await bill(t, 3, spoil(1), false), 'wrong_cell', first + 2);
  });

  test(`${payWay}: up to a hundred unreadable rows are read, but one more or only unreadable rows are a fault of the file`, async (t) => {
    const rows = (count: number) => Array.from({ length: count }, (_, at) => at);
    let unreadable = 0;
    for await (const part of await bill(t, 101, spoil(...rows(100))))
      if (part.kind === 'lines') unreadable += part.lines.filter(({ kind }) => kind === 'unreadable').length;
    t.is(unreadable, 100);
    await refused(t, await bill(t, 300, spoil(...rows(101))), 'wrong_cell', first + 1);
    await refused(t, await bill(t, 1, spoil(0)), 'wrong_cell', first + 1);
  });

  test(`${payWay}: an unreadable row does not excuse a missing row or a missing end`, async (t) => {
    const missing = (lines: string[]) => {
      spoil(1)(lines);
      lines.splice(first, 1);
    };
    await refused(t, await bill(t, 4, missing), 'wrong_sums');
    const cut = (lines: string[]) => {
      spoil(1)(lines);
      lines.splice(first + 3);
    };
    await refused(t, await bill(t, 4, cut), 'cut_short');
  });
}
