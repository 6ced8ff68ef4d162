import { randomUUID } from 'node:crypto';
import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { BUSY, NotFound, causes } from '../errors.ts';
import { noteOrder, noteWork } from '../work.ts';
import { type OrderCommand, decideOrder, orderNeeds, paymentNamed } from './core/decide-order.ts';
import { type RefundCommand, decideRefund, unanswered } from './core/decide-refund.ts';
import type { OrderReport, OrderFacts, RefundFacts } from './core/facts.ts';
import { explainedBy } from './core/apply-order-outcome.ts';
import { type RefundReport, isReversal, mayBeOutdated } from './core/apply-refund-outcome.ts';
import type { Change, Refusal } from './core/transitions.ts';
import { queueKeyOf, later } from './core/plan.ts';
import { raiseException, resolveExceptions } from './side-effects.ts';
import { type Via, apply } from './ledger.ts';
import { numberAtChannel } from './numbers.ts';
import type { Owner, Ports } from './ports.ts';
import { refusalFor } from './errors.ts';

/**
 * Maximum number of open lookups (queries about a refund that the channel named) per order, because WeChat Pay allows
 * 50 refunds per order. Refunds beyond this number are not queried; one exception (a case for an operator) is opened
 * for all of them.
 */
const MOST_OPEN = 50;
/** Seconds until a job queries the channel, in case the process that received the message has not done so. */
const FIRST_SECONDS = 10;

/** A refund that a channel's message named without a result. */
export interface Named {
  readonly number: string;
  /** The total refunded amount of the order in minor units, if the channel named it. */
  readonly total?: bigint | undefined;
}

/**
 * Stores that the service must query the channel about a refund. Runs in the transaction that stores the channel's
 * message, while the order is locked. Returns the id of this lookup, or undefined if the order has too many open
 * lookups.
 */
export async function openLookup(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  { number, total }: Named,
): Promise<string | undefined> {
  const { orderNo } = order;
  const now = ports.now();
  const found = await tx.refundLookups.find({ orderNo, number });
  if (found?.state === 'open') {
    const more = total !== undefined && total > (found.total ?? 0n) ? { total } : {};
    await tx.refundLookups.update({ id: found.id }, { ...more, revision: found.revision + 1 });
    return found.id;
  }
  if ((await tx.refundLookups.count({ orderNo, state: 'open' })) >= MOST_OPEN) {
    await raiseException(ports, tx, order, { ...unanswered(number), dedupe: 'many' });
    return undefined;
  }
  const id = found?.id ?? randomUUID();
  const fresh = {
    total: total ?? found?.total ?? null,
    state: 'open' as const,
    checks: 0,
    revision: (found?.revision ?? 0) + 1,
    nextAt: later(now, FIRST_SECONDS),
    leasedUntil: null,
    lastAnswer: null,
    createdAt: now,
    finishedAt: null,
  };
  if (found) await tx.refundLookups.update({ id }, fresh);
  else await tx.refundLookups.insert({ id, orderNo, number, queueKey: queueKeyOf(order), ...fresh });
  return id;
}

/**
 * Records that another message about the refund has arrived: the answer of a running query is discarded, and the
 * channel is queried again.
 */
export async function queryAgain(ports: Ports, tx: Tx, refund: RefundRow): Promise<void> {
  const { orderNo, channelRefundNo } = refund;
  const names = [numberAtChannel(refund), ...(channelRefundNo === null ? [] : [channelRefundNo])];
  for (const { id, revision } of await tx.refundLookups.list({ orderNo, number: names, state: 'open' }))
    await tx.refundLookups.update({ id }, { revision: revision + 1, nextAt: ports.now() });
}

/** Whether the service still has to query the channel about this refund. A query may be running now. */
export async function isQueried(tx: Tx, orderNo: string, number: string): Promise<boolean> {
  return (await tx.refundLookups.find({ orderNo, number, state: 'open' })) !== undefined;
}

/** Ends the queries about a refund on an administrator's request. */
export async function giveUpLookup(ports: Ports, tx: Tx, orderNo: string, number: string): Promise<void> {
  const over = { state: 'given_up' as const, nextAt: null, leasedUntil: null, finishedAt: ports.now() };
  await tx.refundLookups.update({ orderNo, number, state: 'open' }, over);
}

/**
 * Resolves exceptions of the kind `refund_unexplained` (the channel reported a larger refund total than the service
 * knew), if the known refunds now explain the total.
 */
export async function explainSums(ports: Ports, tx: Tx, order: OrderRow): Promise<void> {
  const { orderNo } = order;
  const open = await tx.exceptions.list({ orderNo, kind: 'refund_unexplained', state: 'open' });
  for (const answer of explainedBy(order, open)) await resolveExceptions(ports, tx, answer);
}

/** A refund and its order, both locked. */
export interface Pair {
  readonly order: OrderRow;
  readonly refund: RefundRow;
}

/**
 * Unique indexes that apply to more than one order. The lock of one order does not prevent another transaction from
 * storing the same value.
 */
const CONTENDED: ReadonlySet<unknown> = new Set([
  'orders_channel_trade_no',
  'orders_live_merchant_no',
  'disputes_pay_way_account_channel_dispute_no_unique',
]);
const UNIQUE_VIOLATION = '23505';
const MOST_TRIES = 3;

/**
 * Runs a transaction that stores an outcome. If another transaction takes the same payment, `merchantOrderNo` or
 * dispute at the same time, the unique index rejects this commit, and the decision is made again with the new rows.
 */
export async function settling<T>({ store }: Pick<Ports, 'store'>, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1)
    try {
      return await store.transaction(work);
    } catch (error) {
      if (tries === MOST_TRIES || !isContended(error)) throw error;
    }
}

function isContended(error: unknown): boolean {
  for (const cause of causes(error)) {
    const { code, constraint } = cause as { code?: unknown; constraint?: unknown };
    if (code === UNIQUE_VIOLATION && CONTENDED.has(constraint)) return true;
  }
  return false;
}

/** Locks the order until the transaction ends; throws 404 if it does not exist or belongs to another owner. */
export async function lockOrder(tx: Tx, orderNo: string, owner: Owner): Promise<OrderRow> {
  const order = await tx.orders.lock({ orderNo, ...(owner === 'any' ? {} : owner) });
  if (!order) throw new NotFound('order');
  noteOrder(order);
  return order;
}

/** Locks the order, then the refund; every transaction uses this sequence of locks. */
export async function lockPair(tx: Tx, refundNo: string): Promise<Pair> {
  const found = await tx.refunds.find({ refundNo });
  const order = found && (await tx.orders.lock({ orderNo: found.orderNo }));
  const refund = order && (await tx.refunds.lock({ refundNo }));
  if (!order || !refund) throw new NotFound('refund');
  noteOrder(order);
  noteWork({ refundNo });
  return { order, refund };
}

/** Applies a channel's result (outcome) or an instruction (command, such as `close`) to a locked order. */
export async function settleLocked(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  input: Omit<OrderReport, 'cause'> | OrderCommand,
  via: Via,
): Promise<OrderRow> {
  const asked = 'command' in input ? input : { ...input, cause: via.cause };
  const facts = await loadFacts(ports, tx, order, asked);
  const change = permitted(decideOrder(order, facts, asked, ports.now()), order);
  return (await apply(ports, tx, { order }, change, via)).order;
}

/** Applies an outcome or a command (such as `retry`) to a locked refund and order; one commit changes both. */
export async function settleRefundLocked(
  ports: Ports,
  tx: Tx,
  pair: Pair,
  input: RefundReport | RefundCommand,
  via: Via,
): Promise<Pair> {
  const { order, refund } = pair;
  const change = permitted(decideRefund(order, refund, input, ports.now()), order);
  const after = await apply(ports, tx, pair, change, via);
  return { order: after.order, refund: after.refund ?? refund };
}

/** Applies a result from the channel (outcome) or an instruction (command) to an order. Runs in its own transaction. */
export async function settle(
  ports: Ports,
  orderNo: string,
  input: Omit<OrderReport, 'cause'> | OrderCommand,
  via: Via,
): Promise<OrderRow> {
  return settling(ports, async (tx) => settleLocked(ports, tx, await lockOrder(tx, orderNo, 'any'), input, via));
}

/**
 * Applies a result from the channel (outcome) or an instruction (command) to a refund. Runs in its own transaction. If
 * the result may be outdated, it is not applied; the service queries the channel again instead.
 */
export async function settleRefund(
  ports: Ports,
  refundNo: string,
  input: RefundReport | RefundCommand,
  via: Via,
): Promise<Pair> {
  return ports.store.transaction(async (tx) => {
    const pair = await lockPair(tx, refundNo);
    const { order, refund } = pair;
    if ('command' in input || !isOvertaken(refund, input)) return settleRefundLocked(ports, tx, pair, input, via);
    const { attempt = refund.attempt } = input;
    await openLookup(ports, tx, order, { number: numberAtChannel({ refundNo, attempt }) });
    return pair;
  });
}

/**
 * Whether the channel's answer may be outdated, because a message or another change arrived while the channel was
 * queried. An answer about an earlier attempt counts as outdated only if it reports success.
 */
function isOvertaken(refund: RefundRow, { outcome, attempt = refund.attempt }: RefundReport): boolean {
  if (attempt !== refund.attempt) return outcome.kind === 'succeeded';
  return mayBeOutdated(refund, outcome) || isReversal(refund, outcome);
}

/** Returns the change; throws if the decision is a refusal, so that nothing is written. */
export function permitted(decided: Change | Refusal, order: OrderRow): Change {
  if ('refuse' in decided) throw refusalFor(decided, order);
  return decided;
}

/** Reads only the facts that the decision about an order needs. The caller holds the order's lock. */
async function loadFacts(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  input: OrderReport | OrderCommand,
): Promise<OrderFacts> {
  let facts: OrderFacts = {};
  for (let need = orderNeeds(order, facts, input); need; need = orderNeeds(order, facts, input))
    facts = { ...facts, [need]: await load[need](ports, tx, order, input) };
  return facts;
}

const load: {
  [Fact in keyof OrderFacts]-?: (
    ports: Ports,
    tx: Tx,
    order: OrderRow,
    input: OrderReport | OrderCommand,
  ) => Promise<OrderFacts[Fact]>;
} = {
  owner: (_ports, tx, order, input) => ownerOf(tx, order, paymentNamed(input) ?? ''),
  sibling: (_ports, tx, order) => hasSibling(tx, order),
  mismatch: (_ports, tx, order, input) => stateOfMismatch(tx, order, input),
  readmitted: (ports, tx, order) => isReadmitted(ports, tx, order),
};

/** The number of another order that already has this payment of the same channel account; null = none. */
export async function ownerOf(
  tx: ReadTx,
  { orderNo, payWay, account }: Pick<OrderRow, 'orderNo' | 'payWay' | 'account'>,
  channelTradeNo: string,
): Promise<string | null> {
  const found = await tx.orders.find({ payWay, account, channelTradeNo });
  return found && found.orderNo !== orderNo ? found.orderNo : null;
}

/**
 * Whether another order with the same merchantOrderNo is paid or can be paid. The merchant wants only one payment per
 * number.
 */
export async function hasSibling(tx: ReadTx, order: OrderRow): Promise<boolean> {
  if (order.merchantOrderNo === null) return false;
  const siblings = await tx.orders.list({ clientId: order.clientId, merchantOrderNo: order.merchantOrderNo });
  return siblings.some(
    ({ orderNo, state, paid }) =>
      orderNo !== order.orderNo && (state === 'created' || state === 'pending' || state === 'paid' || paid > 0n),
  );
}

async function stateOfMismatch(
  tx: Tx,
  { orderNo }: OrderRow,
  input: OrderReport | OrderCommand,
): Promise<OrderFacts['mismatch']> {
  const channelNo = 'outcome' in input && 'channelNo' in input.outcome ? input.outcome.channelNo : '';
  const known = { orderNo, kind: 'amount_mismatch' as const };
  if (!(await tx.exceptions.find({ ...known, dedupe: channelNo.slice(0, 128) }))) return 'new';
  return (await tx.exceptions.find({ ...known, state: 'open' })) ? 'open' : 'ended';
}

/**
 * Reserves stock for a late payment; returns whether this succeeded. If the database is busy, the error is thrown, so
 * that the caller retries. Any other error opens an exception (a case for an operator) and counts as no stock.
 */
async function isReadmitted(ports: Ports, tx: Tx, order: OrderRow): Promise<boolean> {
  const asked = { isThere: false };
  try {
    await tx.savepoint(async (part) => void (asked.isThere = await ports.effects.readmit(part, order)));
    return asked.isThere;
  } catch (error) {
    if (causes(error).some((cause) => BUSY.test(String((cause as { code?: unknown }).code)))) throw error;
    ports.log('error', 'the stock for a late payment could not be reserved', { orderNo: order.orderNo, error });
    const detail = { effect: 'readmit', message: error instanceof Error ? error.message : String(error) };
    await raiseException(ports, tx, order, { kind: 'effect_failed', dedupe: 'readmit', detail });
    return false;
  }
}

/** Reads the data (facts) that the decision about a new or repeated refund needs. The caller holds the order's lock. */
export async function loadRefundFacts(
  ports: Pick<Ports, 'channels'>,
  tx: ReadTx,
  { orderNo, payWay }: OrderRow,
): Promise<RefundFacts> {
  const blocking = await tx.exceptions.find({ orderNo, state: 'open', blocksRefunds: true });
  return { blockedBy: blocking?.kind ?? null, limits: ports.channels.kindOf(payWay).limits };
}
