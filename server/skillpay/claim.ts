// Claims: before a process runs a paid order's handler, it leases the work. Also the limits of retries, and the wait of
// a call for a result.
import type { SkillOrderRow } from '../db/entities/skillpay.ts';
import { offerPair } from '../db/queries/skillpay.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { later } from '../payments/core/plan.ts';
import type { SkillPair, SkillPorts } from './ports.ts';

/** How long a claim is valid (seconds); longer than any handler may take. */
const LEASE_SECONDS = 30;
/** Attempts before the order is refunded. */
export const MAX_ATTEMPTS = 5;
/**
 * Time limit of the work from the first attempt (seconds). If no call fetches paid content, an exception is opened
 * after the same time.
 */
export const PATIENCE_SECONDS = 86_400;
/** Seconds between a failed attempt and the next. */
const BACKOFF = [2, 10, 60, 600] as const;

/** A claim, or why the work cannot be claimed. */
export type Claimed =
  | { kind: 'claimed'; pair: SkillPair }
  | { kind: 'done' | 'running' | 'failed' | 'refunded' | 'unpaid' | 'exhausted'; pair: SkillPair }
  | { kind: 'later'; pair: SkillPair; seconds: number };

/**
 * Locks the order and its pay-per-call row. Refunds also lock the order, so a claim and a refund cannot be made at the
 * same time.
 */
export async function lockPair(tx: Tx, orderNo: string): Promise<SkillPair> {
  const order = await tx.orders.lock({ orderNo });
  const skill = order && (await tx.skillOrders.lock({ orderNo }));
  if (!order || !skill) throw new NotFound('order');
  return { order, skill };
}

/**
 * Reads the order and its pay-per-call row in one snapshot, without a lock. With `owner`, only an order of that
 * application. Throws NotFound.
 */
export async function readPair(tx: ReadTx, orderNo: string, owner?: { clientId: string }): Promise<SkillPair> {
  const pair = await offerPair(tx, owner ? { orderNo, clientId: owner.clientId } : { orderNo });
  if (!pair) throw new NotFound('order');
  return pair;
}

/** Whether the whole payment is refunded or being refunded. */
export function isRefunded({ order }: SkillPair): boolean {
  return order.paid > 0n && order.refunded + order.refunding >= order.paid;
}

/** States of a refund that was paid or can still be paid. */
const ALIVE = ['pending', 'processing', 'succeeded', 'abnormal'] as const;

/**
 * Whether content that is not delivered yet must never be delivered. That is so if the payment is refunded in full (or
 * is being refunded), if a part was refunded on the application's request, or if the payer won a dispute. A partial
 * refund by an administrator or in the channel's portal does not count, and after a failed refund the content may be
 * delivered again.
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

/** Whether a claim's lease is still running. */
export function isLive(skill: Pick<SkillOrderRow, 'fulfilment' | 'leasedUntil'>, now: Date): boolean {
  return skill.fulfilment === 'running' && skill.leasedUntil !== null && skill.leasedUntil > now;
}

/**
 * Claims the work under the order's lock: one claim at a time, each with its own fencing number, which must be current
 * to store a result. `due`: called by the job at the retry time, so the pause between attempts is over.
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

/** The columns that record the progress of the work. */
type Progress = Pick<
  SkillOrderRow,
  'fulfilment' | 'fencing' | 'attempts' | 'firstAttemptAt' | 'leasedUntil' | 'nextAttemptAt'
>;

/** Why work that is neither done nor failed cannot be claimed. */
export type Obstacle = { kind: 'running' | 'exhausted' } | { kind: 'later'; seconds: number };

/** Returns why the work cannot be claimed now; undefined = it can. */
export function obstacleTo(work: Progress, now: Date, due: boolean): Obstacle | undefined {
  if (isLive(work, now)) return { kind: 'running' };
  if (work.attempts >= MAX_ATTEMPTS || isOverdue(work, now)) return { kind: 'exhausted' };
  const pause = work.fulfilment === 'none' && work.attempts > 0 ? work.nextAttemptAt : null;
  if (!due && pause !== null && pause > now)
    return { kind: 'later', seconds: Math.ceil((pause.getTime() - now.getTime()) / 1000) };
  return undefined;
}

/** The columns that a claim writes, with the next fencing number. */
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

/** The time of the next attempt after `attempts` failed ones. */
export function nextAttempt(attempts: number, now: Date): Date {
  return later(now, BACKOFF[Math.min(attempts, BACKOFF.length) - 1] ?? BACKOFF[0]);
}

/** How often a waiting call checks for the result of another replica (ms). */
export const LOOK_MS = 100;

/** Waits until the work ends, at most `ms`. */
export async function pause(work: Promise<void> | undefined, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race(work ? [work, promise] : [promise]);
  clearTimeout(timer);
}
