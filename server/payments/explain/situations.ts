import { CHANNELS } from '../../domain.ts';
import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import { MOST_APPROVALS_ASKED, decideOrder } from '../core/decide-order.ts';
import { isExternal } from '../core/open-refund.ts';
import { type NextRefundStep, type NextStep, endOf, nextRefundStep, nextStep } from '../core/plan.ts';
import { majorText } from '../../money.ts';

/** Texts for PayPal's `status_details.reason` of a pending capture (Payments API v2). */
const HELD_WORDS: Readonly<Record<string, string>> = {
  ECHECK: "The payer's eCheck has not cleared yet",
  TRANSACTION_APPROVED_AWAITING_FUNDING: 'The payer still has to send the money to the channel',
  INTERNATIONAL_WITHDRAWAL: "The payment waits until it is accepted or denied in the merchant's account",
  RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION:
    "The payment waits until it is accepted or denied in the merchant's account, whose settings ask for that, for example because of its currency",
  UNILATERAL: "The payment waits until the merchant's account is open, with a confirmed email address",
  VERIFICATION_REQUIRED: "The payment waits until the merchant's account is verified",
  BUYER_COMPLAINT: 'The payer has complained about the payment',
  CHARGEBACK: 'The payer has taken the money back at the bank',
};

interface Scene {
  order: OrderRow;
  exceptions: readonly OrderExceptionRow[];
  now: Date;
  /** Whether the channel simulator is on. While it is off, simulator orders are frozen: no step runs for them. */
  simulated: boolean;
  /** Whether another order with the same merchantOrderNo can still be paid, or is paid. */
  sibling: boolean;
}

interface Situation {
  code: string;
  reason: string;
  /** The automatic step at the order's next check; absent = none. */
  next?: string;
  /** The command to run, if the operator must act. */
  fix?: string;
}

/** Explains an order: by the exception that blocks the order, otherwise by the next automatic step. */
export function situationOf(scene: Scene): Situation {
  const { order, now, simulated } = scene;
  if (order.mode === 'simulator' && !simulated)
    return {
      code: 'frozen',
      reason:
        'This is a simulator order, and the simulator is off, so the order is frozen. It continues when the setting Debug is true, or, in the environment staging, when Simulator.Url is set.',
    };
  return blocked(scene) ?? STEPS[nextStep(order, now)](scene);
}

function blocked(scene: Scene): Situation | undefined {
  const { order } = scene;
  const mismatch = openOf(scene, 'amount_mismatch');
  if (mismatch)
    return {
      code: 'amount_mismatch',
      reason: `The channel received ${received(mismatch, order)}, but the order amount is ${money(order.amount, order.currency)}. A payment of a different amount never settles an order.`,
      fix: `payctl exception resolve ${mismatch.id} --action refund --reason …`,
    };
  const anothers = order.paid === 0n ? openOf(scene, 'payment_of_another_order') : undefined;
  if (anothers)
    return {
      code: 'payment_of_another_order',
      reason: `The channel reports the payment ${anothers.dedupe}, which already belongs to the order ${String(anothers.detail?.['owner'])}. One payment settles one order.`,
      next: 'the channel is queried again',
      fix: `payctl exception resolve ${anothers.id} --action acknowledge --reason …`,
    };
  const unexplained = openOf(scene, 'refund_unexplained');
  if (unexplained)
    return {
      code: 'refund_unexplained',
      reason:
        'The channel reports a refund that this service did not make. New refunds are blocked until the exception is resolved.',
      fix: `payctl exception resolve ${unexplained.id} --action acknowledge --reason …`,
    };
  return undefined;
}

const STEPS: Readonly<Record<NextStep, (scene: Scene) => Situation>> = {
  rest: paid,
  look_for_late_money: ended,
  await_capture: () => ({
    code: 'capture_running',
    reason: 'The payer approved; the capture is in progress.',
    next: 'if there is no response, the channel is queried for the capture',
  }),
  capture: () => ({ code: 'capture_running', reason: 'The payer approved.', next: 'the money is captured' }),
  settle_capture: () => ({
    code: 'capture_unknown',
    reason: 'The capture was sent but its response was lost; it may or may not have succeeded.',
    next: 'the channel is queried before any retry',
  }),
  await_review: held,
  expire: () => ({
    code: 'expiring',
    reason: 'The order has expired.',
    next: 'the channel is queried a last time, then the order is closed there',
  }),
  ask: ({ order }) => (order.state === 'created' ? unplaced(order) : (declined(order) ?? waiting(order))),
  close: closing,
  give_up: closing,
};

/** The situation of an order whose captured payment is still pending at the channel. */
function held(scene: Scene): Situation {
  const { captureReason } = scene.order;
  const listed = openOf(scene, 'capture_held');
  const words = (captureReason && HELD_WORDS[captureReason]) ?? 'The channel is reviewing the payment';
  const named = captureReason ? ` (${captureReason})` : '';
  return {
    code: listed ? 'capture_held' : 'capture_pending',
    reason: `${words}${named}. The order does not expire while the payment is pending at the channel.`,
    next: 'the channel is queried for the result',
    ...(listed ? { fix: `payctl exception resolve ${listed.id} --action close --reason …` } : {}),
  };
}

/** The channel refused a capture and the payer can choose another payment method; undefined in any other case. */
function declined({ approvalsAsked, captureReason, approvalAskedAt }: OrderRow): Situation | undefined {
  if (approvalsAsked === 0 || captureReason === null) return undefined;
  const left = MOST_APPROVALS_ASKED - approvalsAsked;
  return {
    code: 'payer_must_act',
    reason: `The channel refused the payer's payment method (${captureReason}); nothing was charged. The payer has to choose another one at the channel${left > 0 ? '' : ', for the last time'}.`,
    next:
      approvalAskedAt === null
        ? 'the channel is queried for the approval'
        : 'the money is captured once the payer has approved again; otherwise the order expires',
  };
}

function waiting({ scene }: OrderRow): Situation {
  if (scene === 'code')
    return {
      code: 'waiting_for_payer',
      reason: 'The code of the payer was scanned; the payer has to confirm the payment on the phone.',
      next: 'the channel is queried for the payment; at the expiry the payment is cancelled',
    };
  return {
    code: 'waiting_for_payer',
    reason: 'The order was created at the channel and is waiting for the payer.',
    next: 'the channel is queried for the payment',
  };
}

function unplaced({ placeTries }: OrderRow): Situation {
  return {
    code: 'place_unknown',
    reason: `The create request was sent ${placeTries === 1 ? 'once' : `${placeTries} times`}, and no response gave the payer a way to pay. The payer cannot pay until the merchant retries the request.`,
    next: 'the channel is queried for the order',
    fix: 'repeat the pay request with the same Idempotency-Key or merchantOrderNo',
  };
}

function closing(scene: Scene): Situation {
  const { order, now } = scene;
  if (order.reverseDoubtAt !== null)
    return {
      code: 'closing_unanswered',
      reason:
        "A close of the in-store order (payer's code) was sent, and its response is pending or was lost. The close returns a payment to the payer, so a payment that is reported before the response does not count.",
      next: 'the close is sent again until the channel answers; then the order is closed, and a payment is refunded',
    };
  if (CHANNELS[order.payWay].createsOnScan && order.scene !== 'code' && now < endOf(order))
    return {
      code: 'closing_unscanned',
      reason: `A close was requested, but ${CHANNELS[order.payWay].name.en} creates the trade only when the QR code is scanned, so the order cannot be closed yet. The payer can pay until the code expires.`,
      next: 'the close is retried; after the expiry, two "does not exist" responses one minute apart close the order',
    };
  return {
    code: 'closing',
    reason: `A close was requested (${order.closeReason ?? 'merchant'}); the channel has not confirmed it yet. ${ifPaidNow(scene)}`,
    next: 'the close is retried',
  };
}

function ended(scene: Scene): Situation {
  const { order } = scene;
  if (order.paid > 0n) return returned(scene);
  const next = 'the channel is queried once more for a late payment';
  const refusal = [order.failureCode, order.failureMessage].filter(Boolean).join(' ');
  if (order.state === 'failed')
    return { code: 'refused', reason: `The channel refused the order: ${refusal}. ${ifPaidNow(scene)}`, next };
  const why = {
    merchant: 'The merchant closed it.',
    admin: 'An administrator closed it.',
    payer: 'The payer chose another channel.',
    expired: 'The order expired without a payment.',
    channel: refusal === '' ? 'The channel closed it.' : `The channel refused the payment for good: ${refusal}.`,
  }[order.closeReason ?? 'channel'];
  return { code: 'closed', reason: `${why} ${ifPaidNow(scene)}`, next };
}

function returned(scene: Scene): Situation {
  const { refunded, paid: came, closeReason } = scene.order;
  if (refunded >= came)
    return { code: 'late_refunded', reason: 'The payment arrived after the order had ended and was refunded in full.' };
  const stuck = openOf(scene, 'refund_abnormal') ?? openOf(scene, 'refund_reversed');
  if (stuck)
    return {
      code: 'late_refund_stuck',
      reason: 'The payment arrived after the order had ended, and its refund needs manual review.',
      fix: `payctl refund retry ${stuck.refundNo}, or payctl refund resolve ${stuck.refundNo}`,
    };
  return {
    code: 'late_refunding',
    reason: `The payment arrived after the order had ended (${closeReason ?? 'failed'}); the late-payment policy of the application refunds it.`,
    next: 'the refund continues automatically',
  };
}

function paid(scene: Scene): Situation {
  const { order } = scene;
  const late = openOf(scene, 'late_paid');
  if (late)
    return {
      code: 'late_accepted',
      reason: 'The payment arrived after the order had ended; the late-payment policy of the application accepts it.',
      fix: `payctl exception resolve ${late.id} --action acknowledge --reason …`,
    };
  const dispute = openOf(scene, 'dispute');
  if (dispute) return disputed(dispute);
  if (order.refunded >= order.paid) return { code: 'refunded', reason: 'The order was refunded in full.' };
  if (order.refunding > 0n)
    return {
      code: 'refunding',
      reason: 'The order is paid; a refund is in progress.',
      next: 'the refund continues automatically',
    };
  if (order.refunded > 0n) return { code: 'partially_refunded', reason: 'The order is paid and partially refunded.' };
  return { code: 'paid', reason: 'The channel confirmed the payment.' };
}

function disputed({ dedupe, detail, blocksRefunds }: OrderExceptionRow): Situation {
  if (blocksRefunds)
    return {
      code: 'disputed',
      reason: 'The dispute was accepted; refunds are blocked until the channel has decided.',
      fix: `payctl dispute get ${dedupe}`,
    };
  const waits = detail?.['state'] === 'needs_answer';
  const due = typeof detail?.['dueAt'] === 'string' ? ` until ${detail['dueAt']}` : '';
  return {
    code: 'disputed',
    reason: waits
      ? `The payer disputes the payment, and the channel waits for an answer${due}.`
      : 'The payer disputes the payment; the channel has not decided yet.',
    fix: waits
      ? `payctl dispute answer ${dedupe} --text …, or payctl dispute accept ${dedupe}`
      : `payctl dispute get ${dedupe}`,
  };
}

/** `decideOrder`, which also decides about real payments, says what happens to a payment that arrives now. */
function ifPaidNow({ order, sibling, now }: Scene): string {
  const amount = { minor: order.amount, currency: order.currency };
  const outcome = { kind: 'paid', channelNo: order.channelTradeNo ?? 'now', amount, at: now } as const;
  const change = decideOrder(order, { sibling, readmitted: true }, { outcome, cause: 'explain' }, now);
  return change.open
    ? 'A payment that arrives now would be refunded.'
    : 'A payment that arrives now would be accepted.';
}

function openOf({ exceptions }: Scene, kind: string): OrderExceptionRow | undefined {
  return exceptions.find((one) => one.kind === kind && one.state === 'open');
}

function money(minor: bigint, currency: string): string {
  return `${majorText({ minor, currency })} ${currency}`;
}

function received({ receivedMinor, receivedCurrency }: OrderExceptionRow, order: OrderRow): string {
  return money(receivedMinor ?? 0n, receivedCurrency ?? order.currency);
}

interface RefundSituation {
  code: string;
  reason: string;
  next?: string;
  fix?: string;
}

/** Explains a refund: by its next step, or by its state if the refund has ended. */
export function refundSituation(refund: RefundRow, now: Date, canRetry: boolean): RefundSituation {
  const step = nextRefundStep(refund, now);
  const { approval, state, refundNo, actor } = refund;
  if (approval === 'waiting' && state === 'pending')
    return {
      code: 'waiting_for_approval',
      reason: `The amount is reserved; an administrator other than ${actor} has to approve the refund.`,
      fix: `payctl approval approve ${refundNo}, or payctl approval reject ${refundNo}`,
    };
  return step === 'rest' ? endedRefund(refund, canRetry) : UNDER_WAY[step](refund);
}

function endedRefund(refund: RefundRow, canRetry: boolean): RefundSituation {
  const { state, elsewhere, refundNo, approval, failureMessage } = refund;
  if (state === 'succeeded' && !elsewhere) return { code: 'done', reason: 'The channel confirmed the refund.' };
  if (state === 'succeeded') return { code: 'elsewhere', reason: whereElse(refund) };
  if (state === 'failed' && approval === 'rejected')
    return { code: 'rejected', reason: `An administrator rejected the refund: ${failureMessage ?? ''}.` };
  if (state === 'failed')
    return {
      code: 'refused',
      reason: `The channel refused the refund: ${failureOf(refund)}.`,
      ...(canRetry ? { fix: `payctl refund retry ${refundNo}` } : {}),
    };
  const resolve = `payctl refund resolve ${refundNo}`;
  return {
    code: 'abnormal',
    reason: `The refund needs manual review: ${failureOf(refund)}.`,
    // A refund made outside this service is never sent, so it cannot be retried.
    fix: isExternal(refund.origin) ? resolve : `payctl refund retry ${refundNo}, or ${resolve}`,
  };
}

function whereElse({ origin, failureMessage }: RefundRow): string {
  if (origin === 'dispute') return 'The money was lost to a dispute of the payer.';
  if (origin === 'channel')
    return 'The refund was made outside this service, for example in the portal of the channel.';
  // `failureMessage` is the reason of an administrator. It is always stored if an administrator resolved the refund.
  return failureMessage === null
    ? 'The channel paid the refund to the own account of the merchant, who has to pay the payer.'
    : 'The payer was refunded outside the channel.';
}

/** Whether an exception reports that the channel made a refund that an administrator had already paid another way. */
export function isPaidTwice({ kind, refundNo, detail }: OrderExceptionRow, refund: RefundRow): boolean {
  return kind === 'refund_elsewhere' && refundNo === refund.refundNo && detail?.['paidTwice'] === true;
}

/** The situation of a refund whose money the payer received twice. */
export function paidTwice({ id, detail }: OrderExceptionRow): RefundSituation {
  return {
    code: 'paid_twice',
    reason: `The channel made the refund after all, and the payer was refunded outside the channel as well (${String(detail?.['reason'])}). The payer has the money twice.`,
    fix: `payctl exception resolve ${id} --action acknowledge --reason …`,
  };
}

const UNDER_WAY: Readonly<Record<Exclude<NextRefundStep, 'rest'>, (refund: RefundRow) => RefundSituation>> = {
  await_slot: () => ({
    code: 'scheduled',
    reason: 'The channel requires a delay between refunds of the same order; this refund is queued.',
    next: 'the refund is sent',
  }),
  send: () => ({
    code: 'unsent',
    reason: 'The refund is reserved but has not been sent yet.',
    next: 'the refund is sent',
  }),
  confirm_refusal: (refund) => ({
    code: 'doubtful_refusal',
    reason: `The channel refused the request (${failureOf(refund)}), but an earlier request may have succeeded; the refund fails only after two queries do not find it.`,
    next: 'the channel is queried for the refund',
  }),
  ask_if_done: () => ({
    code: 'accepted',
    reason: 'The channel is processing the refund.',
    next: 'the channel is queried for the result',
  }),
  ask_if_known: () => ({
    code: 'unknown',
    reason: 'The refund was sent without a usable response; it may or may not have succeeded.',
    next: 'the channel is queried; if it has no such refund, it is sent again under the same number',
  }),
};

function failureOf({ failureCode, failureMessage }: RefundRow): string {
  return [failureCode, failureMessage].filter(Boolean).join(' ') || 'no reason given';
}
