import type { TransitionRow, OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { Tx } from '../db/store.ts';
import type { EffectRun, OrderState, PayWay, RefundState } from '../domain.ts';
import { currentWork, noteOrder, noteWork, traceParent } from '../work.ts';
import type { Scene } from './channel.ts';
import {
  type Change,
  MOVED_OF_ORDER,
  MOVED_OF_REFUND,
  type Transition,
  ORDER_TRANSITIONS,
  type OpenedRefund,
  REFUND_TRANSITIONS,
} from './core/transitions.ts';
import {
  jsonable,
  raiseException,
  resolveExceptions,
  runEffect,
  emitOrderEvent,
  emitRefundEvent,
} from './side-effects.ts';
import { recountOrder } from './limits.ts';
import type { Ports } from './ports.ts';
import { MerchantNumberUsed } from './errors.ts';

/** How the service first learned of a payment. `code`: by a query of an order with a payer's code (in a shop). */
export const PAYMENT_SOURCES = ['notice', 'poll', 'payer', 'code', 'bill', 'person'] as const;

export interface PaymentSource {
  payWay: PayWay;
  by: (typeof PAYMENT_SOURCES)[number];
}

/** The name of the message that a commit sends after an order was paid. The metrics count these messages. */
export const ORDER_PAID = 'order-paid';

/** The source of a payment; a capture is attributed to the channel or the payer that caused it. */
export function paymentSourceOf({ cause, actor }: { cause: string; actor: string }, scene: Scene): PaymentSource['by'] {
  if (cause === 'bill') return 'bill';
  if (cause === 'resolve') return 'person';
  if (actor.startsWith('channel:')) return 'notice';
  if (actor === 'payer' || cause === 'agent') return 'payer';
  return scene === 'code' ? 'code' : 'poll';
}

export interface Via {
  /**
   * The cause of the change, for example `place` (the create call), `query` (asked by a caller), `check` (asked by a
   * job), `notice` (a notification) or `resolve` (an administrator).
   */
  readonly cause: string;
  readonly actor: string;
}

/** The locked rows that a decision is based on. */
interface Rows {
  readonly order: OrderRow;
  readonly refund?: RefundRow | undefined;
}

/** A decision returned a transition that core/transitions.ts does not list: an internal error; nothing is written. */
export class ImpossibleTransition extends Error {
  constructor(rule: string | null, from: string | null, to: string | undefined) {
    super(`no table lists the transition ${from ?? '–'} → ${to ?? '–'} by ${rule ?? 'no rule'}`);
    this.name = 'ImpossibleTransition';
  }
}

/**
 * Writes a decided change in the caller's transaction, under the locks with which it was decided. Returns the new rows.
 * No other code writes orders, refunds or their history.
 */
export async function apply(ports: Ports, tx: Tx, before: Rows, change: Change, via: Via): Promise<Rows> {
  refuseImpossible(ports, before, change);
  const after = await writeBeside(ports, tx, await writeRows(ports, tx, before, change, via), change);
  if (change.wake) await tx.afterCommit(change.wake, { orderNo: after.order.orderNo });
  const done = change.open ? await openRefund(ports, tx, after.order, change.open) : after;
  const isPaidNow = before.order.state !== 'paid' && done.order.state === 'paid';
  const { payWay, scene } = done.order;
  if (isPaidNow) await tx.afterCommit(ORDER_PAID, { payWay, by: paymentSourceOf(via, scene) });
  // All transactions lock rows in the same sequence (server/README.md, "Locks"). Therefore the counter of the
  // application's limits is locked last, after all rows of the order.
  if (before.order.limited) await recountOrder(tx, before.order, done.order);
  return done;
}

/**
 * Inserts a new order with its first history entry. Returns false if one of its numbers is in use. The function `hold`
 * is called after the insert. It reserves what the order needs, for example stock, and may return changed fields of the
 * order.
 */
export async function insertOrder(
  tx: Tx,
  draft: OrderRow,
  hold: () => Promise<Partial<OrderRow> | undefined>,
): Promise<boolean> {
  const { orderNo, sequence, state: toState, clientId: actor, createdAt: at } = draft;
  const line = {
    orderNo,
    refundNo: null,
    sequence,
    fromState: null,
    toState,
    cause: 'place',
    actor,
    requestId: requestId(),
    at,
  };
  const row: NewTransition = { ...line, rule: 'placed', outcome: null };
  if (!(await tx.orders.insertIfNew(draft, { table: 'transitions', row }))) return false;
  const otherwise = await hold();
  if (otherwise) await tx.orders.update({ orderNo }, otherwise);
  Object.assign(draft, otherwise);
  noteOrder(draft);
  return true;
}

async function writeRows(ports: Ports, tx: Tx, before: Rows, change: Change, via: Via): Promise<Rows> {
  const { order, refund } = before;
  const sequence = order.sequence + 1;
  const patch = change.rule === null ? change.order : { ...change.order, sequence };
  if (refund && change.refund) await tx.refunds.update({ refundNo: refund.refundNo }, change.refund);
  const after = { order: { ...order, ...patch }, refund: refund && { ...refund, ...change.refund } };
  if (change.rule === null) {
    if (patch) await tx.orders.update({ orderNo: order.orderNo }, patch);
    return after;
  }
  const [from, to] = change.refund ? [refund, after.refund] : [order, after.order];
  const row: NewTransition = {
    orderNo: order.orderNo,
    refundNo: change.refund ? (refund?.refundNo ?? null) : null,
    sequence,
    fromState: from?.state ?? null,
    toState: to!.state,
    rule: change.rule,
    cause: via.cause,
    outcome: change.outcome ? jsonable(change.outcome) : null,
    actor: via.actor,
    requestId: requestId(),
    at: ports.now(),
  };
  // Every transition increments the order's sequence, so the order row is always updated.
  await tx.orders.update({ orderNo: order.orderNo }, { ...patch, sequence }, { table: 'transitions', row });
  return after;
}

/** The id of the request; null in jobs. */
function requestId(): string | null {
  return currentWork().requestId ?? null;
}

type NewTransition = Omit<TransitionRow, 'id'>;

type Beside = Pick<Change, 'emit' | 'raise' | 'resolve' | 'effects'>;

async function writeBeside(
  ports: Ports,
  tx: Tx,
  after: Rows,
  { emit, raise, resolve, effects }: Beside,
): Promise<Rows> {
  const { order, refund } = after;
  for (const { type, each, dedupe = each ? String(order.sequence) : 'once' } of emit ?? []) {
    if (type.startsWith('refund.') && refund) await emitRefundEvent(ports, tx, type, order, refund, dedupe);
    else await emitOrderEvent(ports, tx, type, order, dedupe);
  }
  for (const raised of raise ?? []) await raiseException(ports, tx, order, raised);
  for (const resolved of resolve ?? []) await resolveExceptions(ports, tx, resolved);
  return runEffects(ports, tx, after, effects ?? []);
}

/**
 * Runs the side effects one after the other. After a failure, the remaining side effects and those of later commits are
 * stored as due, so that a job runs them in the right sequence.
 */
async function runEffects(ports: Ports, tx: Tx, after: Rows, effects: readonly EffectRun[]): Promise<Rows> {
  let { order } = after;
  for (const [place, effect] of effects.entries()) {
    const isDone = await runEffect(ports, tx, { ...after, order }, effect, place);
    if (!isDone) order = await noteEffects(tx, order, true);
  }
  return { ...after, order };
}

/** Stores whether the order has side effects that are still due. */
export async function noteEffects(tx: Tx, order: OrderRow, effectsDue: boolean): Promise<OrderRow> {
  if (order.effectsDue === effectsDue) return order;
  await tx.orders.update({ orderNo: order.orderNo }, { effectsDue });
  return { ...order, effectsDue };
}

async function openRefund(ports: Ports, tx: Tx, order: OrderRow, opened: OpenedRefund): Promise<Rows> {
  const { rule, sums } = opened;
  const refund = { ...opened.row, traceParent: traceParent() };
  if (!isListed(REFUND_TRANSITIONS, rule, null, refund.state)) throw new ImpossibleTransition(rule, null, refund.state);
  // The insert conflicts only if another order took the same merchantRefundNo at the same time.
  if (!(await tx.refunds.insertIfNew(refund)))
    throw new MerchantNumberUsed('merchantRefundNo', refund.merchantRefundNo ?? refund.refundNo);
  noteWork({ refundNo: refund.refundNo });
  const patch = { ...sums, sequence: order.sequence + 1 };
  await tx.orders.update({ orderNo: order.orderNo }, patch);
  await tx.transitions.insert({
    orderNo: order.orderNo,
    refundNo: refund.refundNo,
    sequence: patch.sequence,
    fromState: null,
    toState: refund.state,
    rule,
    cause: opened.cause,
    outcome: null,
    actor: refund.actor,
    requestId: requestId(),
    at: ports.now(),
  });
  const after = await writeBeside(ports, tx, { order: { ...order, ...patch }, refund }, opened);
  if (opened.wake) await tx.afterCommit('refund-check', { refundNo: refund.refundNo });
  return after;
}

function refuseImpossible(ports: Ports, { order, refund }: Rows, change: Change): void {
  const row = change.refund ? refund : order;
  const to = (change.refund ?? change.order) as { state?: OrderState | RefundState } | undefined;
  const transitions = change.refund ? REFUND_TRANSITIONS : ORDER_TRANSITIONS;
  const isPossible =
    change.rule === null
      ? !has(change.order, MOVED_OF_ORDER) && !has(change.refund, MOVED_OF_REFUND)
      : row !== undefined && to?.state !== undefined && isListed(transitions, change.rule, row.state, to.state);
  if (isPossible) return;
  ports.log('error', 'a transition that no table lists was rejected', {
    orderNo: order.orderNo,
    change: jsonable(change),
  });
  throw new ImpossibleTransition(change.rule, row?.state ?? null, to?.state);
}

/** Whether the table `transitions` lists a state change with this rule, old state and new state. */
export function isListed(
  transitions: readonly Transition<string>[],
  rule: string,
  from: string | null,
  to: string,
): boolean {
  return transitions.some((transition) => transition.rule === rule && transition.from === from && transition.to === to);
}

function has(patch: object | undefined, members: readonly string[]): boolean {
  return patch !== undefined && members.some((member) => member in patch);
}
