import { randomUUID } from 'node:crypto';
import type { DueEffectRow, OrderExceptionRow, OrderRow } from '../db/entities/orders.ts';
import { countNotification } from '../db/queries/exceptions.ts';
import type { Tx } from '../db/store.ts';
import type { Notification, PayWay } from './channel.ts';
import { isOurNumber } from './numbers.ts';
import type { Requester, Effects, Ports } from './ports.ts';
import type { DisputeRow, RefundRow } from '../db/entities/refunds.ts';
import { DIFFERENCE_KINDS, type EffectRun } from '../domain.ts';
import type { Raised, Resolved } from './core/transitions.ts';
import { later } from './core/plan.ts';
import { viewDispute, viewOrder, viewRefund } from './view.ts';

/** Records an event about an order for its application, only once for each order, type and `dedupe` value. */
export async function emitOrderEvent(
  ports: Ports,
  tx: Tx,
  type: string,
  order: OrderRow,
  dedupe = 'once',
  exceptions?: readonly OrderExceptionRow[],
): Promise<void> {
  await ports.recordEvent(tx, {
    type,
    clientId: order.clientId,
    project: order.project,
    objectNo: order.orderNo,
    dedupe,
    since: order.createdAt,
    object: jsonable(viewOrder(order, { exceptions })),
    notifyUrl: order.notifyUrl,
  });
}

/** Records an event about a refund for its application, only once for each refund, type and `dedupe` value. */
export async function emitRefundEvent(
  ports: Ports,
  tx: Tx,
  type: string,
  order: OrderRow,
  refund: RefundRow,
  dedupe = 'once',
): Promise<void> {
  await ports.recordEvent(tx, {
    type,
    clientId: order.clientId,
    project: order.project,
    objectNo: refund.refundNo,
    dedupe,
    since: order.createdAt,
    object: jsonable(viewRefund(refund)),
    notifyUrl: order.notifyUrl,
  });
}

/** Records an event about a dispute for the application that owns the order; one event per change. */
export async function emitDisputeEvent(
  ports: Ports,
  tx: Tx,
  type: string,
  order: OrderRow,
  dispute: DisputeRow,
): Promise<void> {
  await ports.recordEvent(tx, {
    type,
    clientId: order.clientId,
    project: order.project,
    objectNo: dispute.disputeNo,
    dedupe: String(dispute.changes),
    since: order.createdAt,
    object: jsonable(viewDispute(dispute)),
    notifyUrl: order.notifyUrl,
  });
}

/**
 * Opens an exception (a case for an operator) and records an event. A second exception with the same order, kind and
 * `dedupe` value is not opened. If the first one is resolved and `again` is true, it is reopened.
 */
export async function raiseException(ports: Ports, tx: Tx, order: OrderRow, raised: Raised): Promise<void> {
  const { kind, received, refundNo = null, blocksRefunds = false } = raised;
  const row: OrderExceptionRow = {
    id: randomUUID(),
    orderNo: order.orderNo,
    refundNo,
    clientId: order.clientId,
    project: order.project,
    kind,
    dedupe: raised.dedupe.slice(0, 128),
    detail: raised.detail ? jsonable(raised.detail) : null,
    receivedMinor: received?.minor ?? null,
    receivedCurrency: received?.currency.slice(0, 3) ?? null,
    blocksRefunds,
    state: 'open',
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: ports.now(),
    resolvedAt: null,
  };
  const isNew = await tx.exceptions.insertIfNew(row);
  if (!isNew && !(raised.again && (await reopened(tx, row)))) return;
  ports.count('order_exception', { kind });
  const occurrence = isNew ? '' : `:${row.createdAt.getTime()}`;
  const { orderNo } = order;
  const open = await tx.exceptions.list({ orderNo, state: 'open' }, { orderBy: { createdAt: 'asc' } });
  await emitOrderEvent(ports, tx, 'order.exception', order, `${kind}:${row.dedupe}`.slice(0, 100) + occurrence, open);
}

/** Reopens a resolved exception with new details. Returns false if the exception is not resolved. */
async function reopened(tx: Tx, { orderNo, kind, dedupe, detail, blocksRefunds }: OrderExceptionRow): Promise<boolean> {
  const unresolved = { resolution: null, reason: null, resolvedBy: null, resolvedAt: null };
  const fresh = { state: 'open', detail, blocksRefunds, ...unresolved } as const;
  return (await tx.exceptions.update({ orderNo, kind, dedupe, state: 'resolved' }, fresh)) > 0;
}

/** Resolves all open exceptions that match the filter `where`. */
export async function resolveExceptions(
  ports: Ports,
  tx: Tx,
  { where, resolution, by, reason }: Resolved,
): Promise<void> {
  const answer = { resolution, resolvedBy: by, resolvedAt: ports.now(), ...(reason === undefined ? {} : { reason }) };
  await tx.exceptions.update({ ...where, state: 'open' }, { state: 'resolved', ...answer });
}

/** Copies a value as plain JSON: bigint as text, dates as RFC 3339. */
export function jsonable(value: object): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)),
  ) as Record<string, unknown>;
}

export interface AuditEntry {
  /** `noun.verb`, such as `refund.retry`. */
  readonly action: string;
  /** The number of the order or refund, or the id of the exception. */
  readonly target: string;
  readonly after?: object;
}

/**
 * Appends an action of an administrator to the audit log, as the last statement of the action's transaction. Requests
 * of applications are not in the audit log, only in the history of their orders.
 */
export async function addAuditEntry(
  { audit }: Pick<Ports, 'audit'>,
  tx: Tx,
  { person }: Pick<Requester, 'person'>,
  entry: AuditEntry,
): Promise<void> {
  if (!person) return;
  const { kind: actorKind, name: actor, ip, requestId } = person;
  await audit(tx, { actorKind, actor, ip, requestId, ...entry });
}

/** Seconds before the n-th retry of a failed side effect; the last value repeats. */
const PAUSES = [5, 15, 60, 300, 900, 3600] as const;

/** The order, and for a refund also the refund, that a side effect reads. They already have their new state. */
interface About {
  readonly order: OrderRow;
  readonly refund?: RefundRow | undefined;
}

/**
 * Runs a side effect of a state change and returns whether it is done. Only a side effect with `mayRefuse` can reject
 * the state change. A side effect that fails is stored in the same commit and retried later. While one waits, later
 * side effects of the order are also stored and wait.
 */
export async function runEffect(
  ports: Ports,
  tx: Tx,
  about: About,
  { name, run, mayRefuse }: EffectRun,
  place: number,
): Promise<boolean> {
  if (mayRefuse) return callEffects(ports, tx, about, run, false);
  const { order, refund } = about;
  const due: DueEffectRow = {
    id: randomUUID(),
    orderNo: order.orderNo,
    refundNo: refund?.refundNo ?? null,
    project: order.project,
    sequence: order.sequence,
    place,
    name: name.slice(0, 128),
    run: [...run],
    refunded: order.refunded,
    refunding: order.refunding,
    state: 'due',
    tries: 0,
    nextAt: null,
    leasedUntil: null,
    lastError: null,
    createdAt: ports.now(),
    finishedAt: null,
  };
  if (order.effectsDue) {
    await tx.dueEffects.insert(due);
    return false;
  }
  const error = await attemptEffect(ports, tx, about, due);
  if (error === undefined) return true;
  await tx.dueEffects.insert({ ...due, ...failed(due, error, ports.now()) });
  await listFailed(ports, tx, order, due, error);
  return false;
}

/**
 * Runs a stored side effect in a savepoint, so that the transaction can commit even if the side effect fails. Returns
 * the error text; undefined = the side effect succeeded.
 */
export async function attemptEffect(
  ports: Ports,
  tx: Tx,
  about: About,
  due: DueEffectRow,
): Promise<string | undefined> {
  const { refunded, refunding } = due;
  try {
    await tx.savepoint((part) =>
      callEffects(ports, part, { ...about, order: { ...about.order, refunded, refunding } }, due.run, true),
    );
    return undefined;
  } catch (error) {
    ports.log('error', 'a follow-up action failed; it is retried', { orderNo: due.orderNo, effect: due.name, error });
    return error instanceof Error ? error.message : String(error);
  }
}

/** The changes that a failed attempt makes to the stored side effect. */
export function failed({ tries }: DueEffectRow, lastError: string, now: Date): Partial<DueEffectRow> {
  const pause = PAUSES[Math.min(tries, PAUSES.length - 1)]!;
  return { tries: tries + 1, lastError, nextAt: later(now, pause), leasedUntil: null };
}

/** Opens an exception for a side effect that failed, or updates the details of the open exception. */
export async function listFailed(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  { name, tries }: DueEffectRow,
  message: string,
): Promise<void> {
  const detail = { effect: name, message, tries: tries + 1 };
  const where = { orderNo: order.orderNo, kind: 'effect_failed' as const, dedupe: name, state: 'open' as const };
  if ((await tx.exceptions.update(where, { detail })) > 0) return;
  // The exception has no refund number. Otherwise it would be resolved together with the exceptions of the refund.
  await raiseException(ports, tx, order, { kind: 'effect_failed', dedupe: name, detail });
}

async function callEffects(
  { effects }: Ports,
  tx: Tx,
  { order, refund }: About,
  run: EffectRun['run'],
  forced: boolean,
): Promise<true> {
  for (const one of run) {
    if (one === 'paid' || one === 'ended') await effects[one](tx, order);
    else if (!refund) throw new Error(`the side effect ${one} needs a refund, but was called without a refund`);
    else if (one === 'refundReserved') await effects.refundReserved(tx, order, refund, forced);
    else await effects[one](tx, order, refund);
  }
  return true;
}

/** Combines several `Effects` objects; only those for the order's kind are called, one after the other. */
export function composeEffects(...parts: readonly Effects[]): Effects {
  const concerned = ({ kind }: OrderRow) => parts.filter(({ only }) => only === undefined || only === kind);
  return {
    async admit(tx, draft, request) {
      for (const part of concerned(draft)) await part.admit(tx, draft, request);
    },
    async hold(tx, order, request) {
      let changed: Partial<OrderRow> | undefined;
      for (const part of concerned(order)) {
        const patch = await part.hold(tx, { ...order, ...changed }, request);
        if (patch) changed = { ...changed, ...patch };
      }
      return changed;
    },
    async readmit(tx, order) {
      for (const part of concerned(order)) if (!(await part.readmit(tx, order))) return false;
      return true;
    },
    async paid(tx, order) {
      for (const part of concerned(order)) await part.paid(tx, order);
    },
    async ended(tx, order) {
      for (const part of concerned(order)) await part.ended(tx, order);
    },
    async refundReserved(tx, order, refund, forced) {
      for (const part of concerned(order)) await part.refundReserved(tx, order, refund, forced);
    },
    async refundSucceeded(tx, order, refund) {
      for (const part of concerned(order)) await part.refundSucceeded(tx, order, refund);
    },
    async refundFailed(tx, order, refund) {
      for (const part of concerned(order)) await part.refundFailed(tx, order, refund);
    },
  };
}

const KINDS: ReadonlySet<string> = new Set(DIFFERENCE_KINDS);

/**
 * Closes a difference between a bill and an order after an administrator resolved its exception. A later change of the
 * bill or the order opens the difference again.
 */
export async function endDifference(
  tx: Tx,
  { kind, orderNo, dedupe: key }: Pick<OrderExceptionRow, 'kind' | 'orderNo' | 'dedupe'>,
  now: Date,
): Promise<void> {
  if (!KINDS.has(kind)) return;
  const over = { state: 'ended' as const, nextCheckAt: null, leasedUntil: null, finishedAt: now };
  const of = { orderNo, kind: kind as (typeof DIFFERENCE_KINDS)[number], key };
  // Usually the difference is `listed`: it has an exception. A difference about an unknown dispute may also be `open`,
  // because the service queries the channel about that dispute again.
  const state = kind === 'dispute_unknown_to_us' ? (['listed', 'open'] as const) : 'listed';
  await tx.billDifferences.update({ ...of, state }, over);
}

/**
 * If this many exceptions about unknown order numbers are open, a further unknown number gets no exception of its own.
 * It is counted in the one exception of its channel account, because a sender could otherwise create any number of
 * exceptions.
 */
const OWN_LINES = 100;

/**
 * Opens an exception for a verified message about an unknown order, because the message may report a payment (for
 * example of an order that is missing after a restored backup). A number in the format of this service gets its own
 * exception, up to `OWN_LINES` open ones. All other numbers of the account share one exception.
 */
export async function listUnmatched(
  ports: Ports,
  tx: Tx,
  { project, payWay }: { project: string; payWay: PayWay },
  notification: Notification,
): Promise<void> {
  const { outcome, refund, event, account, notificationId } = notification;
  if (outcome && outcome.kind !== 'paid') return;
  const number = notification.orderNo ?? notification.refundNo ?? notification.channelOrderId ?? '';
  const refunded = refund?.kind === 'succeeded' ? { refunded: refund.amount } : {};
  const facts = {
    payWay,
    account,
    event,
    noticeId: notificationId,
    number: number.slice(0, 64),
    lastAt: ports.now(),
    ...refunded,
  };
  const shared = { orderNo: '', dedupe: `${payWay}:${account}`.slice(0, 128) };
  const own = { orderNo: number, dedupe: `${payWay}:${account}:${event}`.slice(0, 128) };
  const again = { kind: 'unmatched_notice', detail: jsonable(facts) };
  const isOurs = isOurNumber(number);
  if (isOurs && (await countNotification(tx, { ...own, ...again }))) return;
  const isOwn = isOurs && (await hasRoom(tx));
  const paid = isOwn ? outcome : undefined;
  const row: OrderExceptionRow = {
    id: randomUUID(),
    ...(isOwn ? own : shared),
    refundNo: null,
    clientId: '',
    project,
    kind: again.kind,
    detail: jsonable({ ...facts, ...(paid ? { tradeNo: paid.channelNo } : {}), notices: 1 }),
    receivedMinor: paid?.amount.minor ?? null,
    receivedCurrency: paid?.amount.currency.slice(0, 3) ?? null,
    blocksRefunds: false,
    state: 'open',
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: ports.now(),
    resolvedAt: null,
  };
  if (await tx.exceptions.insertIfNew(row)) ports.count('order_exception', { kind: row.kind });
  else await countNotification(tx, { ...row, ...again });
}

async function hasRoom(tx: Tx): Promise<boolean> {
  return (await tx.exceptions.count({ kind: 'unmatched_notice', state: 'open' })) < OWN_LINES;
}
