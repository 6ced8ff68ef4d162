import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { RefundRow } from '../../../server/db/entities/refunds.ts';
import type { ChannelLimits, RefundOutcome } from '../../../server/payments/channel.ts';
import type { RefundCommand } from '../../../server/payments/core/decide-refund.ts';
import type { RefundFacts } from '../../../server/payments/core/facts.ts';
import type { RefundReport } from '../../../server/payments/core/apply-refund-outcome.ts';
import { REFUND_STATES, type RefundState } from '../../../server/domain.ts';
import { at, combinations, each, orderRow, refundRow } from '../../support/core-rows.ts';

const amount = (minor: bigint, currency = 'CNY') => ({ minor, currency });

/** Every kind of refund outcome, with every member that a decision reads. */
const REFUND_OUTCOMES: readonly (readonly [name: string, outcome: RefundOutcome])[] = [
  ['pending', { kind: 'pending', channelRefundNo: 'CR-1' }],
  ['succeeded', { kind: 'succeeded', amount: amount(400n), at: at(-5), channelRefundNo: 'CR-1' }],
  ['succeeded to the merchant', { kind: 'succeeded', amount: amount(400n), at: at(-5), toMerchant: true }],
  ['succeeded with less', { kind: 'succeeded', amount: amount(399n), at: at(-5) }],
  ['succeeded in another currency', { kind: 'succeeded', amount: amount(400n, 'USD'), at: at(-5) }],
  ['failed', { kind: 'failed', code: 'CLOSED', reason: 'no' }],
  ['refused', { kind: 'refused', code: 'NOT_ENOUGH', reason: 'no' }],
  ['refused for good', { kind: 'refused', code: 'TOO_LATE', reason: 'no', definite: true }],
  ['abnormal', { kind: 'abnormal', code: 'ABNORMAL', reason: 'card gone', channelRefundNo: 'CR-1' }],
  ['absent', { kind: 'absent' }],
  ['unknown', { kind: 'unknown', cause: 'timeout' }],
];

/** Every refund outcome, as the response to a refund call and to a query. */
export const REFUND_HEARD: readonly RefundReport[] = REFUND_OUTCOMES.flatMap(([, outcome]) => [
  { outcome },
  { outcome, sent: true },
]);

/** Channel limits with and without a 40-day refund resend window. */
export const LIMITS: readonly ChannelLimits[] = [null, 40].map((refundResendDays) => ({
  minExpirySeconds: 60,
  maxRefundsPerOrder: 50,
  refundSpacingSeconds: 60,
  refundWindowDays: 365,
  lateNotificationDays: 365,
  refundResendDays,
}));

/** Every combination of facts that a retry or a new refund can meet. */
export const REFUND_FACTS: readonly RefundFacts[] = LIMITS.flatMap((limits) =>
  [null, 'amount_mismatch'].map((blockedBy) => ({ limits, blockedBy })),
);

/** Every refund command, with every fact that it needs. */
export const REFUND_WISHES: readonly RefundCommand[] = [
  { command: 'send' },
  ...REFUND_FACTS.map((facts) => ({ command: 'retry' as const, facts })),
  { command: 'reopen' },
  ...(['release', 'paid_elsewhere', 'failed_at_channel'] as const).flatMap((command) =>
    [false, true].map((listed) => ({ command, listed, reason: 'asked', actor: 'admin:1' })),
  ),
  { command: 'rest' },
];

/** Returns a refund in every state with every flag that a decision reads, each with an order whose sums are valid. */
export function pairs(): { order: OrderRow; refund: RefundRow }[] {
  return REFUND_STATES.flatMap((state) =>
    combinations<RefundRow>(flagsOf(state)).flatMap((flags) =>
      ORDERS.map((order) => {
        const refund = refundRow({ ...flags, state });
        return { order: orderRow({ ...order, ...sumsWith(order, refund) }), refund };
      }),
    ),
  );
}

function flagsOf(state: RefundState): (readonly Partial<RefundRow>[])[] {
  const origins = [
    { origin: 'merchant' as const },
    { origin: 'admin' as const },
    { origin: 'late' as const },
    { origin: 'skillpay' as const },
    { origin: 'surplus' as const, surplus: true },
  ];
  const ages = each('createdAt', at(-30), at(-41 * 86_400));
  const isOpen = state === 'pending' || state === 'processing';
  if (!isOpen) return [origins, ages, each('tries', 0, 3), each('accepted', false, true)];
  const absences: readonly Partial<RefundRow>[] = [
    { absentCount: 0 },
    { absentCount: 1, absentFirstAt: at(-59) },
    { absentCount: 1, absentFirstAt: at(-61) },
    { absentCount: 2, absentFirstAt: at(-200) },
  ];
  return [
    origins,
    absences,
    each('accepted', false, true),
    each('refusedAt', null, at(-90)),
    each('unknownAt', null, at(-599), at(-601)),
    each('tries', 0, 3),
  ];
}

/** Amounts already refunded by other refunds, and the rest. */
const ORDERS: readonly Partial<OrderRow>[] = [
  { state: 'paid', refunded: 0n, refunding: 0n },
  { state: 'paid', refunded: 500n, refunding: 100n },
  { state: 'paid', refunded: 700n, refunding: 300n },
  { state: 'closed', refunded: 0n, refunding: 0n },
];

/** The order sums with the other refunds and this one. */
function sumsWith(order: Partial<OrderRow>, { state, amount: own, surplus }: RefundRow): Partial<OrderRow> {
  const counted = surplus ? 0n : own;
  const refunded = (order.refunded ?? 0n) + (state === 'succeeded' ? counted : 0n);
  const isReserved = state === 'pending' || state === 'processing' || state === 'abnormal';
  const refunding = (order.refunding ?? 0n) + (isReserved ? counted : 0n);
  const over = refunded + refunding - 1000n;
  return { paid: 1000n, paidAt: at(-40), channelTradeNo: 'T-1', refunded, refunding, overrun: over > 0n ? over : 0n };
}
