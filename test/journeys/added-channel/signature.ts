// The signature of Example Pay, and the format of its orders and bill rows.
import { createHmac } from 'node:crypto';
import type { PayWay } from '../../../server/payments/channel.ts';

export const EXAMPLE = 'example' as PayWay;

/** The signature of a request, an answer or a notification of Example Pay: hexadecimal HMAC-SHA256 of its text. */
export function signed(key: string, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}

/** An order as Example Pay shows it; amounts are minor units. */
export interface ShownOrder {
  state: 'open' | 'paid' | 'closed';
  payUrl: string;
  payment: { number: string; minor: number; at: string } | null;
  refunds: { refundNo: string; number: string; minor: number; state: string; at: string }[];
}

/** A row of a bill as Example Pay writes it. */
export interface BillRow {
  kind: 'payment' | 'refund';
  orderNo: string;
  refundNo: string | null;
  tradeNo: string;
  number: string;
  currency: string;
  minor: number;
  fee: number;
  at: string;
}
