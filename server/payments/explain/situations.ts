import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import { majorText } from '../money.ts';
import { endOf } from '../schedule.ts';

/** What is known of an order when it is explained. */
export interface Scene {
  order: OrderRow;
  exceptions: readonly OrderExceptionRow[];
  now: Date;
  /** Without Debug the simulator's orders are frozen. */
  debug: boolean;
}

/** Why an order is in its state, what happens next, and what a person can do. */
export interface Situation {
  code: string;
  when: (scene: Scene) => boolean;
  reason: (scene: Scene) => string;
  /** What the service does by itself at the order's next check; left out = nothing. */
  next?: string;
  /** The command that helps, if a person is needed. */
  fix?: (scene: Scene) => string;
}

const open = (scene: Scene, kind: string) => scene.exceptions.find((one) => one.kind === kind && one.state === 'open');
const is =
  (...states: OrderRow['state'][]) =>
  ({ order }: Scene) =>
    states.includes(order.state);
const money = (minor: bigint, currency: string, { payWay }: OrderRow) =>
  `${majorText({ minor, currency }, payWay)} ${currency}`;
const sum = ({ receivedMinor, receivedCurrency }: OrderExceptionRow, order: OrderRow) =>
  money(receivedMinor ?? 0n, receivedCurrency ?? order.currency, order);

/** Every situation an order can be in; the first that fits is the true one. */
export const SITUATIONS: readonly Situation[] = [
  {
    code: 'frozen',
    when: ({ order, debug }) => order.mode === 'simulator' && !debug,
    reason: () => 'This is an order of the simulator, and Debug is off: nothing is asked and nothing moves.',
  },
  {
    code: 'amount_mismatch',
    when: (scene) => open(scene, 'amount_mismatch') !== undefined,
    reason: (scene) =>
      `The channel took ${sum(open(scene, 'amount_mismatch')!, scene.order)}, the order is over ${money(scene.order.amount, scene.order.currency, scene.order)}. Money of another amount never pays an order (O10).`,
    fix: (scene) => `payctl exception resolve ${open(scene, 'amount_mismatch')!.id} --action refund --reason …`,
  },
  {
    code: 'refund_unexplained',
    when: (scene) => open(scene, 'refund_unexplained') !== undefined,
    reason: () =>
      'The channel says that money went back, and no refund of ours explains it (O12). New refunds are blocked until a person has looked.',
    fix: (scene) => `payctl exception resolve ${open(scene, 'refund_unexplained')!.id} --action acknowledge --reason …`,
  },
  {
    code: 'late_refunding',
    when: ({ order }) =>
      (order.state === 'closed' || order.state === 'failed') && order.paid > 0n && order.refunded < order.paid,
    reason: ({ order }) =>
      `The order had ended (${order.closeReason ?? 'failed'}) when the money arrived, and the application's policy gives such money back (O9).`,
    next: 'the refund goes on by itself',
  },
  {
    code: 'late_refunded',
    when: ({ order }) => (order.state === 'closed' || order.state === 'failed') && order.paid > 0n,
    reason: () => 'The order had ended when the money arrived; all of it went back (O9).',
  },
  {
    code: 'late_accepted',
    when: (scene) => scene.order.state === 'paid' && open(scene, 'late_paid') !== undefined,
    reason: () => "The money arrived after the order had ended, and the application's policy accepts it (O9).",
    fix: (scene) => `payctl exception resolve ${open(scene, 'late_paid')!.id} --action acknowledge --reason …`,
  },
  {
    code: 'capture_running',
    when: (scene) => is('created', 'pending', 'closing')(scene) && scene.order.captureState === 'live',
    reason: () => 'The payer approved and the capture is being made right now (C1).',
    next: 'if no answer comes the channel is asked whether the capture exists',
  },
  {
    code: 'capture_unknown',
    when: (scene) => is('created', 'pending', 'closing')(scene) && scene.order.captureState === 'unknown',
    reason: () => 'The capture was sent and its answer was lost: it may or may not have happened (C2).',
    next: 'the channel is asked before anything is tried again',
  },
  {
    code: 'capture_pending',
    when: (scene) => is('created', 'pending', 'closing')(scene) && scene.order.captureState === 'pending',
    reason: () => 'The channel holds the payment for review; it does not expire meanwhile (C3).',
    next: 'the channel is asked whether the review is over',
  },
  {
    code: 'place_unknown',
    when: ({ order, now }) => order.state === 'created' && now < endOf(order),
    reason: ({ order }) =>
      `The create call was sent ${order.placeTries === 1 ? 'once' : `${order.placeTries} times`} and no usable answer came (O4). The payer has nothing to pay with unless the merchant repeats the request.`,
    next: 'the channel is asked whether it knows the order',
    fix: () => 'repeat the pay request with the same Idempotency-Key or merchantOrderNo',
  },
  {
    code: 'expiring',
    when: ({ order, now }) => (order.state === 'created' || order.state === 'pending') && now >= endOf(order),
    reason: () => 'The time to pay is over.',
    next: 'the channel is asked a last time, then the order is closed there',
  },
  {
    code: 'waiting_for_payer',
    when: is('pending'),
    reason: () => 'The channel has the order and waits for the payer (O2).',
    next: 'the channel is asked whether it was paid',
  },
  {
    code: 'closing_unscanned',
    when: ({ order, now }) => order.state === 'closing' && order.payWay === 'alipay' && now < endOf(order),
    reason: () =>
      'It is to be closed, but Alipay makes a trade only when its code is scanned, so it cannot close this one yet. It can be paid until its code dies.',
    next: 'the close is repeated; after the expiry two answers "not exist", a minute apart, end it (O7)',
  },
  {
    code: 'closing',
    when: is('closing'),
    reason: ({ order }) =>
      `It is to be closed (${order.closeReason ?? 'asked'}), and the channel has not confirmed it (O6).`,
    next: 'the close is repeated',
  },
  {
    code: 'closed',
    when: is('closed'),
    reason: ({ order }) =>
      ({
        merchant: 'The merchant closed it.',
        admin: 'An administrator closed it.',
        expired: 'Nobody paid in time.',
        channel: 'The channel closed it.',
      })[order.closeReason ?? 'channel'],
    next: 'the channel is asked once more for late money',
  },
  {
    code: 'refused',
    when: is('failed'),
    reason: ({ order }) => `The channel refused it: ${order.failureCode} ${order.failureMessage ?? ''} (O3).`.trim(),
    next: 'the channel is asked once more for late money',
  },
  {
    code: 'refunded',
    when: ({ order }) => order.paid > 0n && order.refunded >= order.paid,
    reason: () => 'All of it went back to the payer.',
  },
  {
    code: 'refunding',
    when: ({ order }) => order.refunding > 0n,
    reason: () => 'It is paid, and a refund is on its way.',
    next: 'the refund goes on by itself',
  },
  {
    code: 'partially_refunded',
    when: ({ order }) => order.refunded > 0n,
    reason: () => 'It is paid, and a part of it went back.',
  },
  { code: 'paid', when: is('paid'), reason: () => 'The channel confirmed the payment (O5).' },
];
