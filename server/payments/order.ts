/** Stored states of an order. */
export const ORDER_STATES = ['created', 'pending', 'closing', 'closed', 'failed', 'paid'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** Stored states of a refund. */
export const REFUND_STATES = ['pending', 'processing', 'succeeded', 'failed', 'abnormal'] as const;
export type RefundState = (typeof REFUND_STATES)[number];

/** What the wire calls a refund's state: the stored one, or that a second administrator has to approve it. */
export const REFUND_STATUSES = [...REFUND_STATES, 'waiting_for_approval'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** What the wire calls an order's state: the stored one, or what the refunds make of a paid one. */
export const ORDER_STATUSES = [...ORDER_STATES, 'partially_refunded', 'refunded'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Who or what closed an order; `payer` chose another channel. */
export const CLOSE_REASONS = ['merchant', 'admin', 'expired', 'channel', 'payer'] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** Who asked for a refund: `late`, `surplus` and `skillpay` are the service's own, `channel` was made elsewhere, `dispute` was lost to the payer. */
export type RefundOrigin = 'merchant' | 'admin' | 'late' | 'surplus' | 'skillpay' | 'channel' | 'dispute';

/** What an order remembers of its product. */
export interface ProductSnapshot {
  code: string;
  name: string;
  kind: 'goods' | 'coin_package' | 'skill';
  version: number;
  priceMinor: string;
  currency: string;
  coin?: { code: string; amount: number; bonus: number } | null;
}
