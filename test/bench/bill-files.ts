import { once } from 'node:events';
import { createWriteStream, writeFileSync } from 'node:fs';
import { createGzip } from 'node:zlib';
import type { PayWay } from '../../server/payments/channel.ts';
import * as alipay from '../unit/channels/alipay/bill-file.ts';
import * as paypal from '../unit/channels/paypal/bill-file.ts';
import { FIELDS } from '../unit/channels/paypal/scripted.ts';
import * as wechat from '../unit/channels/wechat/bill-file.ts';

/** A bill in which every line is a payment of an order, as its channel packs it and as plain text. */
export interface BenchBill {
  file: string;
  plain: string;
  /** The encoding of the plain text. */
  encoding: 'utf8' | 'gbk';
  account: string;
  currency: string;
}

/** The day of the bills, in every channel's own calendar. */
export const DAY = '2026-03-01';

/** The amount of the payment with this index, in minor units. */
export const amountOf = (index: number): number => 1000 + (index % 9000);
/** The numbers of an order and of its payment at the channel. */
export const orderOf = (index: number): string => `P20260301000000${String(index).padStart(10, '0')}`;
export const tradeOf = (index: number): string => `42000012342026030100${String(index).padStart(9, '0')}`;

/** Writes the bill of a channel into a folder. */
export const WRITERS: Readonly<Record<PayWay, (folder: string, lines: number) => Promise<BenchBill>>> = {
  async alipay(folder, lines) {
    const rows = indexes(lines).map((n) => ({
      tradeNo: tradeOf(n),
      orderNo: orderOf(n),
      ordered: amountOf(n),
      fee: -Math.round(amountOf(n) * 0.006),
    }));
    const details = alipay.gbk(alipay.detailLines(rows));
    const bytes = alipay.zipOf([
      { name: alipay.DETAILS_NAME, bytes: details },
      { name: alipay.SUMMARY_NAME, bytes: alipay.gbk(alipay.summaryLines(rows)) },
    ]);
    const [file, plain] = [`${folder}/alipay.zip`, `${folder}/alipay.csv`];
    writeFileSync(file, bytes);
    writeFileSync(plain, details);
    return { file, plain, encoding: 'gbk', account: alipay.SELLER, currency: 'CNY' };
  },
  async wechat(folder, lines) {
    const rowOf = (n: number) => ({
      tradeNo: tradeOf(n),
      orderNo: orderOf(n),
      ordered: amountOf(n),
      fee: Math.round(amountOf(n) * 0.006) * 1000,
    });
    const rows = indexes(lines).map(rowOf);
    const [file, plain] = [`${folder}/wechat.gz`, `${folder}/wechat.csv`];
    const text = inParts(
      [`\ufeff${wechat.HEADER}`],
      rows.map((row) => () => wechat.rowText(wechat.cellsOf(row))),
      [wechat.SUMS_HEADER, wechat.rowText(wechat.sumCells(rows))],
    );
    await write(plain, file, text, '\r\n');
    return { file, plain, encoding: 'utf8', account: wechat.MCHID, currency: 'CNY' };
  },
  async paypal(folder, lines) {
    const [head = '', tail = ''] = paypal.fileLines([], {}, { rows: lines });
    const rows = indexes(lines).map((n) => () => {
      const value = (amountOf(n) / 100).toFixed(2);
      const transaction_id = tradeOf(n);
      const numbers = { transaction_id, invoice_id: orderOf(n), custom_field: orderOf(n) };
      const row = { ...numbers, transaction_amount: paypal.money(value), fee_amount: paypal.money('-0.30') };
      return JSON.stringify(paypal.payment(row));
    });
    const [file, plain] = [`${folder}/paypal.ndjson`, `${folder}/paypal.txt`];
    await write(plain, undefined, inParts([head], rows, [tail]), '\n');
    await write(file, undefined, inParts([head], rows, [tail]), '\n');
    return { file, plain, encoding: 'utf8', account: FIELDS.clientId, currency: 'USD' };
  },
};

function indexes(lines: number): number[] {
  return Array.from({ length: lines }, (_, index) => index);
}

/** Lines in chunks of some thousand. */
function* inParts(begin: string[], rows: readonly (() => string)[], end: string[]): Generator<string[]> {
  yield begin;
  for (let from = 0; from < rows.length; from += 5000) yield rows.slice(from, from + 5000).map((row) => row());
  yield end;
}

async function write(plain: string, packed: string | undefined, parts: Iterable<string[]>, end: string) {
  const out = createWriteStream(plain);
  const gzip = packed === undefined ? undefined : createGzip();
  const zipped = gzip?.pipe(createWriteStream(packed!));
  for (const lines of parts) {
    const text = `${lines.join(end)}${end}`;
    if (!out.write(text)) await once(out, 'drain');
    if (gzip && !gzip.write(text)) await once(gzip, 'drain');
  }
  out.end();
  gzip?.end();
  await Promise.all([once(out, 'finish'), ...(zipped ? [once(zipped, 'finish')] : [])]);
}
