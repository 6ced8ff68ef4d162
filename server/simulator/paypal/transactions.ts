import { firstOfFiller, fillerRow, type Filler } from '../bills/filler.ts';
import type { BillContent } from '../bills/book.ts';
import type { Span } from '../bills/days.ts';
import type { BillRow } from '../bills/row.ts';
import { FORMULA, UNREADABLE } from '../bills/text.ts';
import { majorOf } from '../trade.ts';

/**
 * What happened, as PayPal's page "Transaction event codes" numbers it: an express checkout payment, a refund by the merchant, a chargeback
 * and its reversal, a hold for a dispute and its cancellation, a withdrawal. Money that is taken for a dispute is a chargeback here, whatever it was.
 */
const EVENT_CODES = {
  payment: 'T0006',
  refund: 'T1107',
  dispute: 'T1201',
  'dispute-back': 'T1202',
  returned: 'T1106',
  hold: 'T1110',
  release: 'T1111',
  withdrawal: 'T0400',
} as const;
const STATUSES = { done: 'S', 'under-way': 'P', failed: 'D' } as const;

const GAINS: ReadonlySet<BillRow['kind']> = new Set(['payment', 'dispute-back', 'returned', 'release']);

/** Which way the amount of a row goes: positive when the account gains it. */
export function signed({ kind, minor }: BillRow): number {
  return GAINS.has(kind) ? minor : -minor;
}

/** The rows of a window, of which only those of a page are made. */
export interface Window {
  total: number;
  page(number: number, size: number): BillRow[];
}

/** The rows that began within a span, the ledger's first; at PayPal both ends of a window belong to it, in whole seconds. */
export function windowOf({ rows, fillers }: Pick<BillContent, 'rows' | 'fillers'>, { from, to }: Span): Window {
  const parts = fillers.map((filler) => partOf(filler, from, to));
  const total = parts.reduce((sum, { count }) => sum + count, rows.length);
  return {
    total,
    page(number, size) {
      const first = (number - 1) * size;
      const last = Math.min(total, first + size);
      return Array.from({ length: Math.max(0, last - first) }, (_, index) => rowAt(rows, parts, first + index));
    },
  };
}

/** A row as a member of `transaction_details` (OpenAPI description reporting_transactions_v1 of PayPal, `transaction_info`). */
export function presentRow(row: BillRow, { has }: BillContent): object {
  const { kind, number, tradeNo, fee, trade } = row;
  const isPayment = kind === 'payment';
  const reference = isPayment ? { id: trade?.id, type: 'ODR' } : { id: tradeNo, type: 'TXN' };
  const moved = amountOf(row, signed(row));
  const amount = row.isUnreadable ? { ...moved, value: UNREADABLE } : moved;
  return {
    transaction_info: {
      paypal_account_id: 'SIMPAYER00001',
      transaction_id: number,
      ...(reference.id === undefined || reference.id === ''
        ? {}
        : { paypal_reference_id: reference.id, paypal_reference_id_type: reference.type }),
      transaction_event_code: EVENT_CODES[kind],
      transaction_initiation_date: reportTime(row.at),
      transaction_updated_date: reportTime(row.at),
      [has('other-columns') ? 'gross_amount' : 'transaction_amount']: amount,
      // "This field contains a value only when a transaction fee is applied"; what the merchant pays is negative.
      ...(fee === 0 ? {} : { fee_amount: amountOf(row, -fee) }),
      transaction_status: statusOf(row),
      ...(has('formula') ? { transaction_subject: FORMULA } : {}),
      ...numbersOf(row),
      protection_eligibility: '01',
    },
  };
}

/** An instant as the reports write it: whole seconds, and an offset without a colon (samples of the documents). */
export function reportTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}+0000`;
}

/** `V`: a payment that went back whole (`transaction_status` in the description). */
function statusOf({ kind, state, trade, tradeNo }: BillRow): string {
  if (kind !== 'payment' || state !== 'done' || trade === null) return STATUSES[state];
  const paid = trade.payments.find(({ number }) => number === tradeNo);
  const back = trade.refunds.filter((refund) => refund.state === 'succeeded' && refund.origin !== 'dispute');
  return back.reduce((sum, { minor }) => sum + minor, 0) >= (paid?.minor ?? Infinity) ? 'V' : 'S';
}

/** What the merchant sent: a refund has the invoice id of the refund. */
function numbersOf({ kind, trade, orderNo, refundNo }: BillRow): Record<string, unknown> {
  if (trade === null) return orderNo === '' ? {} : { invoice_id: orderNo };
  const { customId, invoiceId } = trade.details;
  const refund = trade.refunds.find((one) => one.refundNo === refundNo);
  const invoice = kind === 'payment' || refund?.origin !== 'merchant' ? invoiceId : refundNo;
  return { ...(invoice ? { invoice_id: invoice } : {}), ...(customId ? { custom_field: customId } : {}) };
}

function amountOf({ currency }: BillRow, minor: number): object {
  const value = majorOf({ currency, payWay: 'paypal' }, Math.abs(minor));
  return { currency_code: currency, value: minor < 0 ? `-${value}` : value };
}

interface Part {
  filler: Filler;
  first: number;
  count: number;
}

function partOf(filler: Filler, from: number, to: number): Part {
  const first = firstOfFiller(filler, from);
  return { filler, first, count: Math.max(0, firstOfFiller(filler, to) - first) };
}

function rowAt(rows: readonly BillRow[], parts: readonly Part[], index: number): BillRow {
  let left = index - rows.length;
  if (left < 0) return rows[index]!;
  for (const { filler, first, count } of parts) {
    if (left < count) return fillerRow(filler, first + left);
    left -= count;
  }
  throw new RangeError('No row has this index.');
}
