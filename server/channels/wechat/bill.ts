import { BillMalformed, type BillLine, type BillPart, type BillTotals } from '../../payments/channel.ts';
import { type DaySpan, daySpan, readClock, readDecimal, wrongCell } from '../bill-cells.ts';
import { fileBytes, firstBytes, gunzippedFile, isGzip } from '../bill-bytes.ts';
import { createRows, type Rows, type Unread } from '../bill-rows.ts';
import { createSums } from '../bill-sums.ts';
import { textBlocks } from '../bill-text.ts';
import { type Column, readHeader, readSums, type SumName, type Table } from './bill-table.ts';

/** Days of WeChat Pay begin with those of Beijing. */
export const UTC_OFFSET_MINUTES = 480;

/** Whose bill it must be: a partner's names both merchants. */
export interface BillOwner {
  mchid: string;
  subMchid: string | undefined;
}

/** Reads a trade bill (交易账单, ALL), in GZIP or plain; throws BillMalformed. */
export async function* readTradeBill(
  file: string,
  day: string,
  owner: BillOwner,
  isLenient = false,
): AsyncGenerator<BillPart> {
  const span = daySpan(day, UTC_OFFSET_MINUTES);
  const rows = createRows(isLenient, span.begin);
  const bytes = isGzip(await firstBytes(file, 2)) ? gunzippedFile(file) : fileBytes(file);
  const reader = createReader(span, owner, rows);
  for await (const { from, lines } of textBlocks(bytes, 'utf-8')) {
    const read = reader.take(lines, from);
    if (read.length > 0) yield { kind: 'lines', lines: read };
  }
  yield rows.end(reader.end());
}

/** Fees are written with five decimals. */
const FEE_DECIMALS = 5;
const PER_FEN = 1000;

const SUMS = [
  'rows',
  'settled',
  'returned',
  'vouchers',
  'fees',
  'ordered',
  'asked',
  'refunds',
  'payments',
  'paid',
] as const;

function createReader({ begin, end }: DaySpan, owner: BillOwner, rows: Rows) {
  const sums = createSums(SUMS, rows);
  let table: Table | undefined;
  let sumsHeader: string | undefined;
  let totals: BillTotals | undefined;
  let count = 0;

  return {
    take(lines: readonly string[], from: number): BillLine[] {
      const read: BillLine[] = [];
      for (let at = 0; at < lines.length; at += 1) {
        const text = lines[at]!;
        const line = from + at;
        if (!table) {
          if (!text.includes('交易时间')) throw new BillMalformed('not_a_bill', 'The header is missing.', { line });
          table = readHeader(text, line);
        } else if (totals) {
          if (text.trim() !== '') throw new BillMalformed('wrong_columns', 'A line behind the sums.', { line });
        } else if (sumsHeader !== undefined) {
          totals = requireSums(readSums(sumsHeader, text, line), line);
        } else if (/^`?总交易单数,/.test(text)) {
          sumsHeader = text;
        } else {
          const of = table;
          read.push(
            rows.read(
              text,
              () => readRow(of, text, line),
              () => unread(of, text, line),
            ),
          );
        }
      }
      return read;
    },
    end(): BillTotals {
      if (!table) throw new BillMalformed('not_a_bill', 'The bill is empty.');
      if (!totals) throw new BillMalformed('cut_short', 'The bill ends before its sums.');
      return totals;
    },
  };

  function readRow(of: Table, text: string, line: number): BillLine {
    if (!text.startsWith('`')) throw wrongCell(line, 0, 'A cell without a backtick', text);
    const cells = of.cellsOf(text, line);
    const cell = (column: Column): string => cells[of.at(cells, column)] ?? '';
    const wrong = (column: Column): BillMalformed => wrongCell(line, of.at(cells, column), column, cell(column));
    const fen = (column: Column): number => {
      const value = readDecimal(cell(column), 2);
      if (Number.isNaN(value)) throw wrong(column);
      return value;
    };
    requireOwner(cell('商户号'), cell('特约商户号'), line, (column) => of.at(cells, column) + 1);
    const at = readClock(cell('交易时间'));
    if (Number.isNaN(at)) throw wrong('交易时间');
    const time = new Date(at - UTC_OFFSET_MINUTES * 60_000);
    const event = cell('交易状态');
    const ordered = fen('订单金额');
    const asked = fen('申请退款金额');
    const isRefund = event === 'REFUND' || (event === 'REVOKED' && asked > 0);
    // A refund is in the bill of the day on which WeChat Pay accepted it, by which its time is told, too ("交易账单详细说明"); of older
    // bills no document says so.
    if (time >= end || (!isRefund && time < begin))
      throw new BillMalformed('wrong_day', `${cell('交易时间')} is not of this day.`, {
        line,
        column: of.at(cells, '交易时间') + 1,
      });
    const currency = cell('货币种类');
    if (!/^[A-Z]{3}$/.test(currency)) throw wrong('货币种类');
    if (ordered < 0) throw wrong('订单金额');
    if (asked < 0) throw wrong('申请退款金额');
    const fee = readDecimal(cell('手续费'), FEE_DECIMALS);
    if (Number.isNaN(fee)) throw wrong('手续费');
    const [settled, returned, vouchers] = [fen('应结订单金额'), fen('退款金额'), fen('充值券退款金额')];
    // Every cell is read before the first is added: a row that cannot be read is in no sum.
    sums.add('rows', 1);
    sums.add('settled', settled);
    sums.add('returned', returned);
    sums.add('vouchers', vouchers);
    sums.add('fees', fee);
    sums.add('ordered', ordered);
    sums.add('asked', asked);
    if (isRefund) sums.add('refunds', 1);
    const isPaid = event === 'SUCCESS';
    if (isPaid) {
      sums.add('payments', 1);
      sums.add('paid', ordered);
    }
    const isBack = isRefund && cell('退款状态') === 'SUCCESS';
    count += 1;
    return {
      line: count,
      kind: isPaid ? 'payment' : isBack ? 'refund' : 'other',
      event: isRefund ? `${event} ${cell('退款状态')}` : event,
      orderNo: numberIn(cell('商户订单号')),
      refundNo: numberIn(cell('商户退款单号')),
      channelTradeNo: numberIn(cell('微信订单号')),
      channelRefundNo: numberIn(cell('微信退款单号')),
      currency,
      // A refund that is under way has left the account.
      amount: BigInt(isPaid ? ordered : isBack ? asked : -asked),
      fee: BigInt(Math.sign(fee) * Math.round(Math.abs(fee) / PER_FEN)),
      at: time,
      raw: text,
    };
  }

  /** The numbers of a row that cannot be read, where its cells are those of the columns. */
  function unread(of: Table, text: string, line: number): Unread {
    count += 1;
    try {
      const cells = text.startsWith('`') ? of.cellsOf(text, line) : [];
      const cell = (column: Column): string | null => numberIn(cells[of.at(cells, column)] ?? '');
      return {
        line: count,
        orderNo: cell('商户订单号'),
        refundNo: cell('商户退款单号'),
        channelTradeNo: cell('微信订单号'),
        channelRefundNo: cell('微信退款单号'),
      };
    } catch {
      return { line: count };
    }
  }

  function requireOwner(mchid: string, sub: string, line: number, place: (column: Column) => number): void {
    const wrong = (whose: string, column: Column): BillMalformed =>
      new BillMalformed('wrong_account', `The bill is about the merchant ${whose}.`, { line, column: place(column) });
    if (mchid !== owner.mchid) throw wrong(mchid, '商户号');
    if (owner.subMchid !== undefined && sub !== owner.subMchid) throw wrong(sub, '特约商户号');
  }

  /** All of WeChat Pay's sums count every row, whatever became of a refund. */
  function requireSums(stated: Record<SumName, bigint>, line: number): BillTotals {
    const perFen = BigInt(PER_FEN);
    const money = (name: (typeof SUMS)[number], said: SumName): void => {
      const exact = stated[said] % perFen;
      if (exact !== 0n) throw wrongCell(line, 0, said, String(stated[said]));
      sums.require(name, stated[said] / perFen, said, line);
    };
    sums.requireCount('rows', stated['总交易单数'], '总交易单数', line);
    money('settled', '应结订单总金额');
    money('returned', '退款总金额');
    money('vouchers', '充值券退款总金额');
    sums.require('fees', stated['手续费总金额'], '手续费总金额', line);
    money('ordered', '订单总金额');
    money('asked', '申请退款总金额');
    return {
      currency: 'CNY',
      payments: Number(sums.of('payments')),
      paid: sums.of('paid'),
      refunds: Number(sums.of('refunds')),
      refunded: sums.of('asked'),
      fees: sums.of('fees') / perFen,
    };
  }
}

/** WeChat Pay writes 0 where there is no number. */
function numberIn(text: string): string | null {
  return text === '' || text === '0' ? null : text;
}
