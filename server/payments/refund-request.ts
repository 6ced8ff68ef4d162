import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/tx.ts';
import type { KeyClaim } from './idempotency.ts';
import type { RefundOrigin } from './order.ts';

/** A refund request after its schema. */
export interface RefundRequest {
  orderNo: string;
  /** Major units; left out = all that is left. */
  refundAmount?: number | string | undefined;
  merchantRefundNo?: string | undefined;
  reason?: string | undefined;
}

/** What the caller may add: the key, and (for the service's own refunds) the fixed number and origin. */
export interface RefundOptions {
  claim?: KeyClaim | undefined;
  origin?: RefundOrigin;
  refundNo?: string;
  /** Checked and written under the order's lock, before the reservation. */
  guard?: (tx: Tx, order: OrderRow) => Promise<void>;
}
