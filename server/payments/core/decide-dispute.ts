import type { DisputeRow, RefundRow } from '../../db/entities/refunds.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { ChannelDispute, DisputeState, LostMoney } from '../channel.ts';
import {
  type Change,
  DISPUTE_TRANSITIONS,
  type DisputeRule,
  type Raised,
  type Resolved,
  STAY,
  isDecided,
} from './transitions.ts';
import { applyRefundOutcome } from './apply-refund-outcome.ts';
import { isUnderWay, lostToDispute } from './open-refund.ts';
import { later, nextDisputeCheck } from './plan.ts';

/** The facts for a decision about a dispute, read under the order's lock. */
export interface DisputeFacts {
  /** Undefined = the dispute is new. */
  readonly dispute: DisputeRow | undefined;
  readonly refunds: readonly RefundRow[];
  /** The refund numbers among `refunds` that already count as the loss of another dispute of the order. */
  readonly claimed: ReadonlySet<string>;
  /**
   * Other lost disputes of the order for which no money was taken again, because refunds of the service had already
   * paid the payer.
   */
  readonly covered: readonly Pick<DisputeRow, 'openedAt' | 'amount'>[];
}

interface DisputeNames {
  readonly disputeNo: string;
  readonly refundNo: string;
  readonly actor: string;
  readonly cause: string;
}

export interface DisputeChange {
  /** The name of the state change in the table `DISPUTE_TRANSITIONS`; null = the state does not change. */
  readonly rule: DisputeRule | null;
  readonly dispute: DisputeRow;
  readonly refund?: RefundRow;
  readonly money: Change;
  readonly emit: readonly `dispute.${'opened' | 'updated' | 'closed'}`[];
}

/** Decides how the channel's answer changes a dispute. The same rows, answer and time always give the same result. */
export function decideDispute(
  order: OrderRow,
  facts: DisputeFacts,
  answer: ChannelDispute,
  names: DisputeNames,
  now: Date,
): DisputeChange {
  const before = facts.dispute ?? newDispute(order, answer, names.disputeNo, now);
  const taken = moneyOf(order, before, facts, answer, names, now);
  const state = taken.isWaiting ? 'under_review' : answer.state;
  const report = { ...before, ...wordsOf(answer), state };
  const isChanged = facts.dispute === undefined || WORDS.some((word) => !isSame(before[word], report[word]));
  const checks = isChanged ? 0 : before.checks + 1;
  const isOver = isDecided(state);
  const dispute: DisputeRow = {
    ...report,
    ...taken.dispute,
    checks,
    nextCheckAt: isOver ? null : nextDisputeCheck(checks, now),
    leasedUntil: null,
    ...(isChanged
      ? { changes: before.changes + 1, updatedAt: now, closedAt: isOver ? (before.closedAt ?? now) : null }
      : {}),
  };
  const from = facts.dispute?.state ?? null;
  return {
    rule: ruleOf(from, state),
    dispute,
    ...(taken.refund ? { refund: taken.refund } : {}),
    money: withListed(taken.money, order, dispute, isChanged),
    emit: [
      ...(from === null ? (['dispute.opened'] as const) : []),
      ...(isChanged && isOver ? (['dispute.closed'] as const) : []),
      ...(isChanged && from !== null && !isOver ? (['dispute.updated'] as const) : []),
    ],
  };
}

/** Tolerance for comparing times of refunds and disputes, because channels report them with different precision. */
const SAME_SECONDS = 60;

const WORDS = ['state', 'reason', 'amount', 'currency', 'dueAt'] as const satisfies readonly (keyof DisputeRow)[];

function wordsOf({ reason, amount, dueAt }: ChannelDispute) {
  return { reason: reason.slice(0, 128), amount: amount.minor, currency: amount.currency, dueAt };
}

function isSame(one: DisputeRow[(typeof WORDS)[number]], other: DisputeRow[(typeof WORDS)[number]]): boolean {
  return one instanceof Date && other instanceof Date ? one.getTime() === other.getTime() : one === other;
}

/** Finds the name of a state change in `DISPUTE_TRANSITIONS`. Null = the state does not change. */
function ruleOf(from: DisputeState | null, to: DisputeState): DisputeRule | null {
  return from === to
    ? null
    : (DISPUTE_TRANSITIONS.find((transition) => transition.from === from && transition.to === to)?.rule ?? null);
}

interface Taken {
  money: Change;
  refund?: RefundRow;
  dispute?: Pick<DisputeRow, 'amountLost' | 'refundNo'>;
  /**
   * Set while the payment, or a refund that may be the money of the dispute, has no final result. The dispute then
   * stays open.
   */
  isWaiting?: true;
}

function moneyOf(
  order: OrderRow,
  dispute: DisputeRow,
  facts: DisputeFacts,
  answer: ChannelDispute,
  names: DisputeNames,
  now: Date,
): Taken {
  const counted = facts.refunds.find(({ refundNo }) => refundNo === dispute.refundNo);
  if (answer.state === 'won') return givenBack(order, dispute, counted, now);
  if (answer.state !== 'lost' || !answer.lost) return { money: STAY };
  if (order.paid === 0n)
    return { money: { rule: null, order: { nextCheckAt: now, leasedUntil: null } }, isWaiting: true };
  if (counted) return takenAgain(order, counted, answer.lost, now);
  if (facts.dispute?.state === 'lost') return { money: STAY };
  return taken(order, facts, answer, answer.lost, names, now);
}

/**
 * Counts the loss of a dispute exactly once: as a refund that the channel reported, as matching refunds of the service,
 * or as a new refund row.
 */
function taken(
  order: OrderRow,
  { refunds, claimed, covered }: DisputeFacts,
  { openedAt, channelDisputeNo }: ChannelDispute,
  lost: LostMoney,
  names: DisputeNames,
  now: Date,
): Taken {
  const { minor, currency } = lost.amount;
  if (currency !== order.currency) return { money: { rule: null, raise: [otherCurrency(channelDisputeNo, lost)] } };
  const others = refunds.filter((one) => !one.surplus && one.origin !== 'dispute' && !claimed.has(one.refundNo));
  const done = others.filter((one) => isSince(one, openedAt));
  const reported = done.find(({ origin, amount }) => origin === 'channel' && amount === minor);
  if (reported) return { money: STAY, dispute: { amountLost: minor, refundNo: reported.refundNo } };
  if (!lost.booked) {
    // The service's own refunds may already have paid the payer. Therefore the dispute waits until refunds in progress
    // have ended. A refund that waits for an approval is ignored, because an administrator may delay the approval until
    // the dispute ends.
    if (givenFor(others, covered, openedAt) >= minor) return { money: STAY };
    if (others.some(isUnderWay)) return { money: STAY, isWaiting: true };
  }
  return {
    money: { rule: null, open: lostToDispute(order, lost, names, now) },
    dispute: { amountLost: minor, refundNo: names.refundNo },
  };
}

function isSince({ state, finishedAt }: RefundRow, openedAt: Date): boolean {
  return state === 'succeeded' && finishedAt !== null && isAfterOpening(finishedAt, openedAt);
}

/**
 * Whether a refund made at the time `at` may be the money of the dispute. Earlier refunds have nothing to do with it.
 */
export function isAfterOpening(at: Date, openedAt: Date): boolean {
  return at >= later(openedAt, -SAME_SECONDS);
}

/**
 * The amount that the service refunded after a dispute opened. Refunds that already cover another dispute do not count;
 * the oldest dispute is covered first.
 */
function givenFor(refunds: readonly RefundRow[], covered: DisputeFacts['covered'], openedAt: Date): bigint {
  const own = refunds.filter(({ origin }) => origin !== 'channel').map((refund) => ({ refund, left: refund.amount }));
  const before = covered.toSorted((a, b) => a.openedAt.getTime() - b.openedAt.getTime());
  for (const { openedAt: since, amount } of before) {
    let missing = amount;
    for (const one of own.filter(({ refund }) => isSince(refund, since))) {
      const used = one.left < missing ? one.left : missing;
      one.left -= used;
      missing -= used;
    }
  }
  return own.reduce((sum, { refund, left }) => sum + (isSince(refund, openedAt) ? left : 0n), 0n);
}

/** The dispute was won on appeal and is now lost again, so the channel takes the returned money again. */
function takenAgain(order: OrderRow, refund: RefundRow, { amount, at }: LostMoney, now: Date): Taken {
  const { refundNo, amount: amountLost } = refund;
  const money = applyRefundOutcome(order, refund, { outcome: { kind: 'succeeded', amount, at } }, now);
  return { money, refund, dispute: { amountLost, refundNo } };
}

/** The channel returns the money to the merchant; the dispute's refund is abnormal until an administrator decides. */
function givenBack(order: OrderRow, { refundNo }: DisputeRow, refund: RefundRow | undefined, now: Date): Taken {
  if (!refund) return { money: STAY };
  const outcome = { kind: 'abnormal', code: WON, reason: 'The dispute was won after it had been lost.' } as const;
  const dispute = { amountLost: 0n, refundNo };
  if (refund.state !== 'succeeded') return { money: STAY, dispute };
  return { money: applyRefundOutcome(order, refund, { outcome }, now), refund, dispute };
}

const WON = 'dispute_won';

function otherCurrency(channelDisputeNo: string, { amount }: LostMoney): Raised {
  const dedupe = `dispute:${channelDisputeNo}`;
  return { kind: 'refund_unexplained', dedupe, received: amount, detail: { channelDisputeNo }, blocksRefunds: true };
}

/**
 * Opens the exception (a case for an operator) of an undecided dispute. Resolves the exception when the dispute is
 * decided.
 */
function withListed(money: Change, { orderNo }: OrderRow, dispute: DisputeRow, isChanged: boolean): Change {
  const { disputeNo, state } = dispute;
  const raise: readonly Raised[] = isChanged && !isDecided(state) ? [listedDispute(dispute)] : [];
  const resolve: readonly Resolved[] = isDecided(state)
    ? [{ where: { orderNo, kind: 'dispute', dedupe: disputeNo }, resolution: state, by: 'service' }]
    : [];
  return { ...money, raise: [...(money.raise ?? []), ...raise], resolve: [...(money.resolve ?? []), ...resolve] };
}

/**
 * The exception (a case for an operator) of an undecided dispute. If the merchant has accepted the dispute, the
 * exception blocks refunds until the channel decides. The channel may have paid the payer even if the response was
 * lost, and a refund would then pay the payer twice.
 */
export function listedDispute(dispute: DisputeRow): Raised {
  const { disputeNo, state, dueAt, reason, amount, currency, acceptedAt } = dispute;
  const detail = { disputeNo, state, dueAt, reason, amount, currency };
  return { kind: 'dispute', dedupe: disputeNo, detail, again: true, blocksRefunds: acceptedAt !== null };
}

function newDispute(order: OrderRow, answer: ChannelDispute, disputeNo: string, now: Date): DisputeRow {
  const { orderNo, clientId, project, payWay, account, mode } = order;
  return {
    disputeNo,
    orderNo,
    clientId,
    project,
    payWay,
    account,
    mode,
    channelDisputeNo: answer.channelDisputeNo,
    ...wordsOf(answer),
    state: answer.state,
    amountLost: 0n,
    refundNo: null,
    answeredAt: null,
    acceptedAt: null,
    changes: 0,
    checks: 0,
    nextCheckAt: null,
    leasedUntil: null,
    openedAt: answer.openedAt,
    createdAt: now,
    updatedAt: now,
    closedAt: null,
  };
}
