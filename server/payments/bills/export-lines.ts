import { Readable } from 'node:stream';
import type { BillLineRow } from '../../db/entities/bills.ts';
import { linesAfter } from '../../db/queries/bill-lists.ts';
import { csvLine } from '../../csv.ts';
import type { EXPORT_FORMATS } from '../export.ts';
import { noteDeed } from '../follow-ups.ts';
import type { Asker, Ports } from '../ports.ts';
import type { BillLineKind } from './bill.ts';
import { findBill } from './read-bills.ts';

const COLUMNS = [
  'line',
  'kind',
  'event',
  'orderNo',
  'refundNo',
  'channelTradeNo',
  'channelRefundNo',
  'currency',
  'amountMinor',
  'discountMinor',
  'feeMinor',
  'shareMinor',
  'at',
  'raw',
] as const;

const BATCH = 500;

/**
 * Streams the lines of a bill that count, as the channel numbers them, in the memory of one batch. In CSV, text that a spreadsheet would
 * take for a formula is made harmless. That somebody asked is in the audit log before the first line leaves.
 */
export function exportLines({ store, reports, audit }: Pick<Ports, 'store' | 'reports' | 'audit'>) {
  return async (
    asker: Pick<Asker, 'person'>,
    billNo: string,
    { kind, format }: { kind?: BillLineKind | undefined; format: (typeof EXPORT_FORMATS)[number] },
  ): Promise<Readable> => {
    const bill = await store.read((tx) => findBill(tx, billNo));
    await store.transaction((tx) =>
      noteDeed({ audit }, tx, asker, { action: 'bill.export', target: billNo, after: { format, kind } }),
    );
    const batch = (line: number) => reports.read((tx) => linesAfter(tx, bill, { kind, line }, BATCH));
    // Before the answer begins, which says how old what it shows may be.
    const first = await batch(0);
    return Readable.from(parts(), { objectMode: false, highWaterMark: 64 * 1024 });

    async function* parts(): AsyncGenerator<Buffer> {
      if (format === 'csv') yield Buffer.from(csvLine(COLUMNS));
      for (let rows = first; ; rows = await batch(rows.at(-1)!.line)) {
        if (rows.length > 0) yield Buffer.from(rows.map(format === 'csv' ? toCsv : toJson).join(''));
        if (rows.length < BATCH) return;
      }
    }
  };
}

function view({ amount, discount, fee, share, at, ...line }: BillLineRow) {
  const money = { amountMinor: Number(amount), discountMinor: Number(discount) };
  return { ...line, ...money, feeMinor: Number(fee), shareMinor: Number(share), at: at.toISOString() };
}

function toJson(row: BillLineRow): string {
  const shown = view(row);
  return `${JSON.stringify(Object.fromEntries(COLUMNS.map((column) => [column, shown[column]])))}\n`;
}

function toCsv(row: BillLineRow): string {
  const shown = view(row);
  return csvLine(COLUMNS.map((column) => shown[column]));
}
