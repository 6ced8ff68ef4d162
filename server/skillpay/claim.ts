// Claims. Before a process runs the handler of a paid order, it claims the order for a limited time, so that no other
// process runs the handler too. This file also limits the retries, and the time for which a call waits for a result.
import type { SkillOrderRow } from '../db/entities/skillpay.ts';
import { offerPairs } from '../db/queries/skillpay.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { later } from '../payments/core/plan.ts';
import type { SkillPair, SkillPorts } from './ports.ts';

/** Seconds for which a claim allows one process to run the handler. A handler must always end within this time. */
const LEASE_SECONDS = 30;
/** Maximum number of attempts to run the handler. If all attempts fail, the order is refunded. */
export const MAX_ATTEMPTS = 5;
/**
 * Time limit for all attempts to run the handler, counted from the first attempt (seconds). If nobody fetches the
 * content of a paid order for this time, an exception (a case for an operator) is opened.
 */
export const PATIENCE_SECONDS = 86_400;
/** Pauses between a failed attempt and the next attempt (seconds). */
const BACKOFF = [2, 10, 60, 600] as const;

/** The result of a claim. Either this process may now run the handler of the order, or `kind` says why not. */
export type Claimed =
  | { kind: 'claimed'; pair: SkillPair }
  | { kind: 'done' | 'running' | 'failed' | 'refunded' | 'unpaid' | 'exhausted'; pair: SkillPair }
  | { kind: 'later'; pair: SkillPair; seconds: number };

/**
 * Locks an order and its pay-per-call row. Refunds lock the same order, so a claim and a refund never run at the same
 * time.
 */
export async function lockPair(tx: Tx, orderNo: string): Promise<SkillPair> {
  const order = await tx.orders.lock({ orderNo });
  const skill = order && (await tx.skillOrders.lock({ orderNo }));
  if (!order || !skill) throw new NotFound('order');
  return { order, skill };
}

/**
 * Reads an order and its pay-per-call row in one snapshot, without locks. With `owner`, the order must belong to that
 * application. Throws NotFound.
 */
export async function readPair(tx: ReadTx, orderNo: string, owner?: { clientId: string }): Promise<SkillPair> {
  return ownPair((await offerPairs(tx, [orderNo])).get(orderNo), owner);
}

/** Returns the offer; throws NotFound if there is none or if it belongs to another application. */
export function ownPair(pair: SkillPair | undefined, owner?: { clientId: string }): SkillPair {
  if (!pair || (owner && pair.skill.clientId !== owner.clientId)) throw new NotFound('order');
  return pair;
}

/** Whether the whole payment was refunded or is being refunded. */
export function isRefunded({ order }: SkillPair): boolean {
  return order.paid > 0n && order.refunded + order.refunding >= order.paid;
}

/** States of a refund that succeeded or may still succeed. */
const ALIVE = ['pending', 'processing', 'succeeded', 'abnormal'] as const;

/**
 * Whether content that was not delivered yet must never be delivered. That is the case if the payment is refunded in
 * full or is being refunded, if the application requested a partial refund, or if the payer won a dispute. A partial
 * refund by an administrator or in the channel's portal does not prevent the delivery. If a refund fails, the content
 * may be delivered again.
 */
export async function isForfeited(tx: ReadTx, pair: SkillPair): Promise<boolean> {
  const { order, skill } = pair;
  if (isRefunded(pair)) return true;
  if (skill.fulfilment === 'done' || order.refunded + order.refunding === 0n) return false;
  const { orderNo } = order;
  if ((await tx.refunds.count({ orderNo, origin: 'merchant', surplus: false, state: ALIVE })) > 0) return true;
  const lost = await tx.disputes.list({ orderNo, state: 'lost' });
  return lost.some(({ amountLost }) => amountLost > 0n);
}

/** Whether a process may still be running the handler, because its claim has not expired. */
export function isLive(skill: Pick<SkillOrderRow, 'fulfilment' | 'leasedUntil'>, now: Date): boolean {
  return skill.fulfilment === 'running' && skill.leasedUntil !== null && skill.leasedUntil > now;
}

/**
 * Claims an order, so that only one process runs its handler at a time. Each claim has a higher fencing number than the
 * previous one. Only the claim with the highest number may store a result. With `due`, the pause after a failed attempt
 * is not checked, because the job has already waited.
 */
export async function claimWork(
  { store, now }: Pick<SkillPorts, 'store' | 'now'>,
  orderNo: string,
  { due = false } = {},
): Promise<Claimed> {
  return store.transaction(async (tx) => {
    const pair = await lockPair(tx, orderNo);
    const at = now();
    const obstacle = obstacleOf(pair, await isForfeited(tx, pair), at, due);
    if (obstacle) return obstacle;
    const patch = claimPatch(pair.skill, at);
    await tx.skillOrders.update({ orderNo }, patch);
    return { kind: 'claimed', pair: { order: pair.order, skill: { ...pair.skill, ...patch } } };
  });
}

function obstacleOf(pair: SkillPair, forfeited: boolean, now: Date, due: boolean): Claimed | undefined {
  const { order, skill } = pair;
  if (skill.fulfilment === 'failed') return { kind: 'failed', pair };
  if (forfeited) return { kind: 'refunded', pair };
  if (order.state !== 'paid') return { kind: 'unpaid', pair };
  if (skill.fulfilment === 'done') return { kind: 'done', pair };
  const obstacle = obstacleTo(skill, now, due);
  return obstacle && { ...obstacle, pair };
}

type Progress = Pick<
  SkillOrderRow,
  'fulfilment' | 'fencing' | 'attempts' | 'firstAttemptAt' | 'leasedUntil' | 'nextAttemptAt'
>;

/** Why the handler of an order cannot be run now, although the order has no final result. */
export type Obstacle = { kind: 'running' | 'exhausted' } | { kind: 'later'; seconds: number };

/**
 * Returns why the handler cannot be run now, or undefined if it can. With `due`, the pause after a failed attempt is
 * not checked.
 */
export function obstacleTo(work: Progress, now: Date, due: boolean): Obstacle | undefined {
  if (isLive(work, now)) return { kind: 'running' };
  if (work.attempts >= MAX_ATTEMPTS || isOverdue(work, now)) return { kind: 'exhausted' };
  const pause = work.fulfilment === 'none' && work.attempts > 0 ? work.nextAttemptAt : null;
  if (!due && pause !== null && pause > now)
    return { kind: 'later', seconds: Math.ceil((pause.getTime() - now.getTime()) / 1000) };
  return undefined;
}

/** Returns the columns of a new claim. Its higher fencing number keeps earlier claims from storing a result. */
export function claimPatch(work: Progress, now: Date): Progress {
  const leasedUntil = later(now, LEASE_SECONDS);
  return {
    fulfilment: 'running',
    fencing: work.fencing + 1,
    attempts: work.attempts + 1,
    firstAttemptAt: work.firstAttemptAt ?? now,
    leasedUntil,
    nextAttemptAt: leasedUntil,
  };
}

/** Whether the time limit since the first attempt has passed. */
export function isOverdue({ firstAttemptAt }: Pick<SkillOrderRow, 'firstAttemptAt'>, now: Date): boolean {
  return firstAttemptAt !== null && now >= later(firstAttemptAt, PATIENCE_SECONDS);
}

/** Returns the time of the next attempt, after the given number of failed attempts. */
export function nextAttempt(attempts: number, now: Date): Date {
  return later(now, BACKOFF[Math.min(attempts, BACKOFF.length) - 1] ?? BACKOFF[0]);
}

/** Interval in which a waiting call checks whether another replica has stored the result (ms). */
export const LOOK_MS = 100;

/** Waits until the work ends, but at most for the given time (ms). Without `work`, waits for the whole time. */
export async function pause(work: Promise<void> | undefined, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race(work ? [work, promise] : [promise]);
  clearTimeout(timer);
}
