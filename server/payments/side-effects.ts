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

/** Tells the order's owner; `dedupe` makes it once. */
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

/** Tells the order's owner about a refund; `dedupe` makes it once. */
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

/** Tells the order's owner about a dispute; each change of it once. */
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

/** Opens an exception once per (order, kind, dedupe), or again when its cause came back, and tells about it. */
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

/** A resolved exception is open again, with what is known now; false when it was open all the time. */
async function reopened(tx: Tx, { orderNo, kind, dedupe, detail, blocksRefunds }: OrderExceptionRow): Promise<boolean> {
  const unresolved = { resolution: null, reason: null, resolvedBy: null, resolvedAt: null };
  const fresh = { state: 'open', detail, blocksRefunds, ...unresolved } as const;
  return (await tx.exceptions.update({ orderNo, kind, dedupe, state: 'resolved' }, fresh)) > 0;
}

/** Ends the open exceptions that something answers. */
export async function resolveExceptions(
  ports: Ports,
  tx: Tx,
  { where, resolution, by, reason }: Resolved,
): Promise<void> {
  const answer = { resolution, resolvedBy: by, resolvedAt: ports.now(), ...(reason === undefined ? {} : { reason }) };
  await tx.exceptions.update({ ...where, state: 'open' }, { state: 'resolved', ...answer });
}

/** A copy that is plain JSON: bigint as text, dates as RFC 3339. */
export function jsonable(value: object): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(value, (_key, one: unknown) => (typeof one === 'bigint' ? one.toString() : one)),
  ) as Record<string, unknown>;
}

/** What a person did, for the audit log. */
export interface AuditEntry {
  /** `noun.verb`, such as `refund.retry`. */
  readonly action: string;
  /** The number of the order or refund, or the id of the exception. */
  readonly target: string;
  readonly after?: object;
}

/**
 * Writes down what a person asks for, in the transaction of the intent or decision itself: neither is there without the other.
 * The last statement of the transaction. An application's requests are in the history of its orders and nowhere else.
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

/** Seconds until an effect that failed so many times is tried again. */
const PAUSES = [5, 15, 60, 300, 900, 3600] as const;

/** The rows that an effect is about, as the move left them. */
interface About {
  readonly order: OrderRow;
  readonly refund?: RefundRow | undefined;
}

/**
 * What others do because an order or refund moved; gives whether it is done. Only what may refuse can stop the change. What
 * fails, or comes after something of the same order that failed, is written down as due in the same commit.
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

/** Runs an effect in a savepoint, so that what it is about commits all the same; gives the error as text. */
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
    ports.log('error', 'a follow-up action failed', { orderNo: due.orderNo, effect: due.name, error });
    return error instanceof Error ? error.message : String(error);
  }
}

/** What a try that failed changes about the row. */
export function failed({ tries }: DueEffectRow, lastError: string, now: Date): Partial<DueEffectRow> {
  const pause = PAUSES[Math.min(tries, PAUSES.length - 1)]!;
  return { tries: tries + 1, lastError, nextAt: later(now, pause), leasedUntil: null };
}

/** Lists it for a person for as long as it is due. */
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
  // Without the number of a refund: what ends the refund's own exceptions does not end this one.
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
    else if (!refund) throw new Error(`the effect ${one} has no refund`);
    else if (one === 'refundReserved') await effects.refundReserved(tx, order, refund, forced);
    else await effects[one](tx, order, refund);
  }
  return true;
}

/** Several effects as one: those that an order has to do with run in order, and any of them may refuse what may be refused. */
export function composeEffects(...parts: readonly Effects[]): Effects {
  const concerned = ({ kind }: OrderRow) => parts.filter(({ only }) => only === undefined || only === kind);
  return {
    async admit(tx, draft, asked) {
      for (const part of concerned(draft)) await part.admit(tx, draft, asked);
    },
    async hold(tx, order, asked) {
      let otherwise: Partial<OrderRow> | undefined;
      for (const part of concerned(order)) {
        const held = await part.hold(tx, { ...order, ...otherwise }, asked);
        if (held) otherwise = { ...otherwise, ...held };
      }
      return otherwise;
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

/** A person resolved the exception of a difference between a bill and an order: it is over until one of them says something else. */
export async function endDifference(
  tx: Tx,
  { kind, orderNo, dedupe: key }: Pick<OrderExceptionRow, 'kind' | 'orderNo' | 'dedupe'>,
  now: Date,
): Promise<void> {
  if (!KINDS.has(kind)) return;
  const over = { state: 'ended' as const, nextCheckAt: null, leasedUntil: null, finishedAt: now };
  const of = { orderNo, kind: kind as (typeof DIFFERENCE_KINDS)[number], key };
  // One that is asked about once more is still an exception, and as much over.
  const state = kind === 'dispute_unknown_to_us' ? (['listed', 'open'] as const) : 'listed';
  await tx.billDifferences.update({ ...of, state }, over);
}

/** More numbers than that share one exception, so that whoever can repeat messages cannot fill the list. */
const OWN_LINES = 100;

/**
 * Lists a genuine message about an order that nobody knows: money may have come, for example for an order that is younger than a
 * restored backup. Each number of our form has an exception of its own; those of other systems at the same account share one.
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
  const told = {
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
  const again = { kind: 'unmatched_notice', detail: jsonable(told) };
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
    detail: jsonable({ ...told, ...(paid ? { tradeNo: paid.channelNo } : {}), notices: 1 }),
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
