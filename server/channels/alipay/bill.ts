import { type BillLine, BillMalformed, type BillPart, type BillTotals } from '../../payments/channel.ts';
import { fileBytes, firstBytes } from '../bill-bytes.ts';
import { daySpan, readClock, readDecimal, wrongCell } from '../bill-cells.ts';
import { createRows, type Rows, type Unread } from '../bill-rows.ts';
import { createSums } from '../bill-sums.ts';
import { textBlocks } from '../bill-text.ts';
import { type BillSummary, readSummary } from './bill-summary.ts';
import {
  type Column,
  type DetailTable,
  accountIn,
  PREAMBLE_LINES,
  readDetailHeader,
  readPreamble,
  readTrailer,
  type Trailer,
  UTC_OFFSET_MINUTES,
} from './bill-table.ts';
import { openBillArchive } from './bill-zip.ts';

/** Reads a bill of trades (业务明细): the zip as it comes, or its file of details alone; throws BillMalformed. */
export async function* readBill(
  file: string,
  day: string,
  sellerId: string,
  isLenient = false,
): AsyncGenerator<BillPart> {
  const rows = createRows(isLenient, daySpan(day, UTC_OFFSET_MINUTES).begin);
  const isZip = (await firstBytes(file, 2)).toString('latin1') === 'PK';
  if (!isZip) {
    yield* readDetails(fileBytes(file), createReader(day, sellerId, undefined, rows), rows);
    return;
  }
  const archive = await openBillArchive(file);
  try {
    const summary = archive.summary && (await readSummary(archive.summary(), day));
    yield* readDetails(archive.details(), createReader(day, sellerId, summary, rows), rows);
  } finally {
    archive.close();
  }
}

/** Digits of a seller's number (PID); behind them an account has its own. */
const PID_DIGITS = 16;

/** The seller's number by the second line of a bill, in the zip or alone; throws BillMalformed. */
export async function readPayee(file: string): Promise<string> {
  const isZip = (await firstBytes(file, 2)).toString('latin1') === 'PK';
  const archive = isZip ? await openBillArchive(file) : undefined;
  try {
    for await (const { lines } of textBlocks(archive ? archive.details() : fileBytes(file), 'gb18030'))
      return accountIn(lines[1] ?? '', 2).slice(0, PID_DIGITS);
  } finally {
    archive?.close();
  }
  throw new BillMalformed('not_a_bill', 'The bill is empty.');
}

async function* readDetails(
  bytes: AsyncIterable<Uint8Array>,
  reader: ReturnType<typeof createReader>,
  rows: Rows,
): AsyncGenerator<BillPart> {
  for await (const { from, lines } of textBlocks(bytes, 'gb18030')) {
    const read = reader.take(lines, from);
    if (read.length > 0) yield { kind: 'lines', lines: read };
  }
  yield rows.end(reader.end());
}

const SUMS = ['payments', 'paid', 'received', 'refunds', 'refunded', 'returned', 'fees'] as const;

function createReader(day: string, sellerId: string, summary: BillSummary | undefined, rows: Rows) {
  const sums = createSums(SUMS, rows);
  const trailers: Partial<Record<'payments' | 'refunds', Trailer & { line: number }>> = {};
  let table: DetailTable | undefined;
  let isEnded = false;
  let count = 0;

  return {
    take(lines: readonly string[], from: number): BillLine[] {
      const read: BillLine[] = [];
      for (let at = 0; at < lines.length; at += 1) {
        const text = lines[at]!;
        const line = from + at;
        if (line <= PREAMBLE_LINES) begin(text, line);
        else if (!table) table = readDetailHeader(text, line);
        else if (text.startsWith('#')) {
          isEnded = true;
          const trailer = readTrailer(text, line);
          if (trailer) trailers[trailer.of] = { ...trailer.sums, line };
        } else if (!isEnded) {
          const of = table;
          read.push(
            rows.read(
              text,
              () => readRow(of, text, line),
              () => unread(of, text, line),
            ),
          );
        } else if (text.trim() !== '') throw new BillMalformed('wrong_columns', 'A row behind the table.', { line });
      }
      return read;
    },
    end(): BillTotals {
      const { payments, refunds } = trailers;
      if (!table) throw new BillMalformed('cut_short', 'The bill ends before its table.');
      if (!payments || !refunds) throw new BillMalformed('cut_short', 'The bill ends before its sums.');
      sums.requireCount('payments', BigInt(payments.count), '交易合计', payments.line);
      sums.require(payments.of === 'received' ? 'received' : 'paid', payments.amount, '交易合计', payments.line);
      sums.requireCount('refunds', BigInt(refunds.count), '退款合计', refunds.line);
      sums.require(refunds.of === 'received' ? 'returned' : 'refunded', refunds.amount, '退款合计', refunds.line);
      if (summary) requireSummary(summary);
      return {
        currency: 'CNY',
        payments: payments.count,
        paid: sums.of('paid'),
        refunds: refunds.count,
        refunded: sums.of('refunded'),
        fees: sums.of('fees'),
        net: summary?.net ?? null,
      };
    },
  };

  function begin(text: string, line: number): void {
    const account = readPreamble(text, line, day, '明细');
    if (account === undefined) return;
    // The account's number is the seller's with some digits behind it.
    if (!account.startsWith(sellerId) || (summary && summary.account !== account))
      throw new BillMalformed('wrong_account', `The bill is about the account ${account}.`, { line });
  }

  /**
   * A payment or a refund, whose amounts are negative. The merchant gains 商家实收 + 服务费 + 分润 of it, as the sums of the day do (实收净额): 商家实收 is
   * the order less what the merchant gave up of it (商家优惠, vouchers and red packets of the merchant's), with what Alipay pays for the payer.
   */
  function readRow({ columns, share, cellsOf }: DetailTable, text: string, line: number): BillLine {
    const cells = cellsOf(text, line);
    const cell = (column: Column): string => cells[columns[column]]!.trim();
    const wrong = (column: Column): BillMalformed => wrongCell(line, columns[column], column, cell(column));
    const fen = (column: Column): number => {
      const value = readDecimal(cell(column), 2);
      if (Number.isNaN(value)) throw wrong(column);
      return value;
    };
    const shared = share < 0 ? 0 : -readDecimal(cells[share]!.trim(), 2);
    if (Number.isNaN(shared)) throw wrongCell(line, share, '分润', cells[share]!.trim());
    const event = cell('业务类型');
    const ordered = fen('订单金额');
    const received = fen('商家实收');
    const fee = -fen('服务费');
    const isRefund = event.includes('退款');
    const isPayment = event === '交易';
    if (isRefund ? ordered > 0 : isPayment && ordered < 0) throw wrong('订单金额');
    const timeColumn = cell('完成时间') === '' ? '创建时间' : '完成时间';
    const at = readClock(cell(timeColumn));
    if (Number.isNaN(at)) throw wrong(timeColumn);
    if (isRefund) {
      sums.add('refunds', 1);
      sums.add('refunded', -ordered);
      sums.add('returned', -received);
    } else {
      sums.add('payments', 1);
      sums.add('paid', ordered);
      sums.add('received', received);
    }
    sums.add('fees', fee);
    count += 1;
    return {
      line: count,
      kind: isRefund ? 'refund' : isPayment ? 'payment' : 'other',
      event,
      orderNo: cell('商户订单号') || null,
      refundNo: (isRefund && cell('退款批次号/请求号')) || null,
      channelTradeNo: cell('支付宝交易号') || null,
      channelRefundNo: null,
      currency: 'CNY',
      amount: BigInt(isRefund ? -ordered : ordered),
      discount: BigInt(ordered - received),
      fee: BigInt(fee),
      share: BigInt(shared),
      at: new Date(at - UTC_OFFSET_MINUTES * 60_000),
      raw: text,
    };
  }

  /** The numbers of a row that cannot be read, where its cells are those of the columns. */
  function unread({ columns, cellsOf }: DetailTable, text: string, line: number): Unread {
    count += 1;
    try {
      const cells = cellsOf(text, line);
      const cell = (column: Column): string | null => cells[columns[column]]!.trim() || null;
      const isRefund = cell('业务类型')?.includes('退款') ?? false;
      const refundNo = isRefund ? cell('退款批次号/请求号') : null;
      return { line: count, orderNo: cell('商户订单号'), channelTradeNo: cell('支付宝交易号'), refundNo };
    } catch {
      return { line: count };
    }
  }

  function requireSummary({ sums: stated, line }: BillSummary): void {
    sums.requireCount('payments', stated['交易订单总笔数'], '交易订单总笔数', line);
    sums.requireCount('refunds', stated['退款订单总笔数'], '退款订单总笔数', line);
    sums.require('fees', -stated['服务费'], '服务费', line);
    // Whether refunds are taken off the sums of money no document says, so either is right.
    if (stated['订单金额'] !== sums.of('paid') - sums.of('refunded'))
      sums.require('paid', stated['订单金额'], '订单金额', line);
    if (stated['商家实收'] !== sums.of('received') - sums.of('returned'))
      sums.require('received', stated['商家实收'], '商家实收', line);
  }
}
