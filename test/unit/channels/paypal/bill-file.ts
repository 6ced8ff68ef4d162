import { FORMAT } from '../../../../server/channels/paypal/bill-file.ts';
import { CAPTURE_ID, FIELDS, ORDER_NO, REFUND_NO } from './scripted.ts';

export const DAY = '2026-03-01';

export const money = (value: string, currency_code = 'USD') => ({ currency_code, value });

/** One transaction_info as PayPal writes it, without undefined members. */
export type Row = Record<string, unknown>;

export const payment = (more: Row = {}): Row => ({
  transaction_id: CAPTURE_ID,
  transaction_event_code: 'T0006',
  transaction_initiation_date: `${DAY}T08:05:00+0000`,
  transaction_updated_date: `${DAY}T08:05:01+0000`,
  transaction_amount: money('12.30'),
  fee_amount: money('-0.92'),
  transaction_status: 'S',
  invoice_id: ORDER_NO,
  custom_field: ORDER_NO,
  ...more,
});

export const refund = (more: Row = {}): Row =>
  payment({
    transaction_id: '1JU08902781691411',
    paypal_reference_id: CAPTURE_ID,
    paypal_reference_id_type: 'TXN',
    transaction_event_code: 'T1107',
    transaction_amount: money('-2.30'),
    fee_amount: money('0.08'),
    invoice_id: REFUND_NO,
    ...more,
  });

/** Returns the lines of a whole file; `head` and `tail` overwrite members. */
export function fileLines(rows: readonly Row[], head: Row = {}, tail: Row = {}): string[] {
  const begin = { bill: FORMAT, account: FIELDS.clientId, startDate: `${DAY}T00:00:00.000Z`, endDate: NEXT_DAY };
  return [{ ...begin, ...head }, ...rows, { end: FORMAT, rows: rows.length, ...tail }].map((one) =>
    JSON.stringify(one),
  );
}

const NEXT_DAY = '2026-03-02T00:00:00.000Z';

/** Returns a whole file. */
export function billText(rows: readonly Row[], head: Row = {}, tail: Row = {}): string {
  return `${fileLines(rows, head, tail).join('\n')}\n`;
}
