import type { OrderRow } from '../../../server/db/entities/orders.ts';
import type { CloseOutcome, Outcome } from '../../../server/payments/channel.ts';
import type { OrderCommand } from '../../../server/payments/core/decide-order.ts';
import { ORDER_STATES, type OrderState } from '../../../server/domain.ts';
import { at, combinations, each, orderRow } from '../../support/core-rows.ts';

const TRADE = 'T-1';
const amount = (minor: bigint, currency = 'CNY') => ({ minor, currency });
const pay = { type: 'qr', qrCode: 'weixin://x' } as const;

/** Every kind of order outcome, with every member that a decision reads. */
export const OUTCOMES: readonly (readonly [name: string, outcome: Outcome])[] = [
  ['pending', { kind: 'pending' }],
  ['pending with a credential', { kind: 'pending', pay, channelOrderId: 'C-1' }],
  ['pending with a capture under review', { kind: 'pending', capturePending: 'REVIEW' }],
  [
    'pending with a capture that waits for the merchant',
    { kind: 'pending', capturePending: 'UNILATERAL', waitsFor: 'merchant' },
  ],
  ['approved', { kind: 'approved', channelOrderId: 'C-1' }],
  ['paid', { kind: 'paid', channelNo: TRADE, amount: amount(1000n), at: at(-5) }],
  ['paid, by a slow clock', { kind: 'paid', channelNo: TRADE, amount: amount(1000n), at: at(-1_000_000) }],
  ['paid, refunds exist', { kind: 'paid', channelNo: TRADE, amount: amount(1000n), at: at(-5), refundsHint: true }],
  ['paid, half refunded', { kind: 'paid', channelNo: TRADE, amount: amount(1000n), at: at(-5), refundedTotal: 500n }],
  ['paid, fully refunded', { kind: 'paid', channelNo: TRADE, amount: amount(1000n), at: at(-5), refundedTotal: 1000n }],
  ['paid by another trade', { kind: 'paid', channelNo: 'T-2', amount: amount(1000n), at: at(-5) }],
  ['paid less', { kind: 'paid', channelNo: TRADE, amount: amount(999n), at: at(-5) }],
  ['paid more', { kind: 'paid', channelNo: 'T-2', amount: amount(1001n), at: at(-5) }],
  ['paid in another currency', { kind: 'paid', channelNo: TRADE, amount: amount(1000n, 'USD'), at: at(-5) }],
  ['closed', { kind: 'closed' }],
  ['absent', { kind: 'absent' }],
  ['declined for certain', { kind: 'declined', code: 'INVALID', reason: 'no', definite: true }],
  ['declined, perhaps', { kind: 'declined', code: 'SYSTEM', reason: 'no', definite: false }],
  ['declined, the payer can act', { kind: 'declined', code: 'CARD', reason: 'no', definite: true, left: 'payer' }],
  ['declined, no action possible', { kind: 'declined', code: 'NEVER', reason: 'no', definite: true, left: 'nobody' }],
  ['unknown', { kind: 'unknown', cause: 'timeout' }],
];

/** Every outcome of a close call. */
export const CLOSE_OUTCOMES: readonly CloseOutcome[] = [
  { kind: 'closed' },
  { kind: 'closed', returned: { channelNo: TRADE, at: at(-5) } },
  { kind: 'closed', returned: { channelNo: null, at: at(-5) } },
  { kind: 'absent' },
  { kind: 'paid' },
  { kind: 'refused', code: 'X', reason: 'no' },
  { kind: 'unknown', cause: 'timeout' },
];

/** Every order command, with every member that a decision reads. */
export const WISHES: readonly OrderCommand[] = [
  ...(['merchant', 'admin', 'expired', 'channel'] as const).map((reason) => ({ command: 'close' as const, reason })),
  { command: 'reverse' },
  ...CLOSE_OUTCOMES.flatMap((outcome) =>
    [undefined, at(20)].map((reverse) => ({ command: 'settle_close' as const, outcome, reverse })),
  ),
  { command: 'give_up' },
  { command: 'answer_closing' },
  { command: 'send_again' },
  { command: 'capture' },
  ...[at(-30), at(-31), null].map((refusedAt) => ({ command: 'approved_again' as const, refusedAt })),
  ...[1, 2].flatMap((captures) =>
    OUTCOMES.map(([, outcome]) => ({ command: 'settle_capture' as const, captures, outcome })),
  ),
  ...[1, 2].map((captures) => ({ command: 'forget_capture' as const, captures })),
  ...[true, false].flatMap((silent) =>
    [at(30), at(31), null].map((dueAt) => ({ command: 'plan_late_check' as const, dueAt, silent })),
  ),
  { command: 'abandon' },
  { command: 'check_soon' },
  { command: 'rest' },
  ...[amount(999n), amount(1000n, 'USD')].flatMap((received) => [
    { command: 'accept' as const, received, paymentNo: 'T-2' },
    {
      command: 'refund_payment' as const,
      received,
      paymentNo: 'T-2',
      reason: 'other',
      refundNo: 'R-1',
      actor: 'admin:1',
    },
  ]),
];

/** Returns orders in every state with every flag that a decision reads; `few` omits flags with little effect. */
export function orders({ few = false } = {}): OrderRow[] {
  return ORDER_STATES.flatMap((state) =>
    combinations<OrderRow>([...flagsOf(state), ...(few ? [] : timesOf(state))]).map((one) =>
      orderRow({ state, ...one, ...moneyOf(state, one) }),
    ),
  );
}

const CAPTURES: readonly Partial<OrderRow>[] = [
  { captureState: null },
  { captureState: 'live', captureLeasedUntil: at(20), captures: 1 },
  { captureState: 'live', captureLeasedUntil: at(-1), captures: 1 },
  { captureState: 'unknown', captures: 1 },
  { captureState: 'pending', captureReason: 'REVIEW', captures: 1 },
  { captureReason: 'CARD', captures: 1, approvalsAsked: 1, approvalAskedAt: at(-30) },
  { captureReason: 'CARD', captures: 1, approvalsAsked: 3 },
];

const ABSENCES: readonly Partial<OrderRow>[] = [
  { absentCount: 0 },
  { absentCount: 1, absentFirstAt: at(-59) },
  { absentCount: 1, absentFirstAt: at(-61) },
  { absentCount: 2, absentFirstAt: at(-200) },
];

/** Before the expiry, within the grace period and later, combined with the reported absences. */
function timesOf(state: OrderState): (readonly Partial<OrderRow>[])[] {
  const times = each('expiresAt', at(3600), at(-30), at(-61), at(-2 * 86_400));
  return state === 'created' || state === 'pending' || state === 'closing'
    ? [times, ABSENCES, each('channelOrderId', null, 'C-1')]
    : [times];
}

/** The close of a payer's code: answered, under way and with an unknown result. */
const REVERSES: readonly Partial<OrderRow>[] = [
  { scene: 'code', reverseDoubtAt: null },
  { scene: 'code', reverseDoubtAt: at(20) },
  { scene: 'code', reverseDoubtAt: at(-1) },
];

function flagsOf(state: OrderState): (readonly Partial<OrderRow>[])[] {
  const policies = each('latePayment', 'expiry close failed', '');
  const reasons = each('closeReason', 'merchant' as const, 'expired' as const);
  switch (state) {
    case 'created':
      return [CAPTURES];
    case 'pending':
      return [CAPTURES, each('credential', null, pay)];
    case 'closing':
      return [
        [...CAPTURES, ...REVERSES],
        policies,
        reasons,
        each('closeAsked', false, true),
        each('closeAnswered', false, true),
      ];
    case 'paid':
      return [each('refunded', 0n, 400n, 1000n), each('refunding', 0n, 600n)];
    case 'closed':
      return [policies, reasons, each('paid', 0n, 1000n)];
    case 'failed':
      return [policies, each('paid', 0n, 1000n)];
  }
}

/** Sums that satisfy the database constraints: a paid order has its full amount and never refunds more than was paid. */
function moneyOf(state: OrderState, { paid = 0n, refunded = 0n, refunding = 0n }: Partial<OrderRow>) {
  const isPaid = state === 'paid' || paid > 0n;
  const came = isPaid ? 1000n : 0n;
  const over = refunded + refunding - came;
  return {
    paid: came,
    paidAt: isPaid ? at(-40) : null,
    overrun: over > 0n ? over : 0n,
    closedAt: state === 'closed' || state === 'failed' ? at(-50) : null,
    ...(isPaid ? { channelTradeNo: TRADE } : {}),
  };
}
