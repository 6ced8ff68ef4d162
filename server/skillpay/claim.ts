// The claim of paid work: one claim at a time, how often and how long the work is tried, and how a call waits for it.
import type { SkillOrderRow } from '../db/entities/skillpay.ts';
import { offerPair } from '../db/queries/skillpay.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { NotFound } from '../errors.ts';
import { later } from '../payments/core/plan.ts';
import type { SkillPair, SkillPorts } from './ports.ts';

/** A claim is its maker's for this long: longer than any handler may take. */
const LEASE_SECONDS = 30;
/** Tries before the money goes back. */
export const MAX_ATTEMPTS = 5;
/** From the first try on, the work may take this long (and an unclaimed order waits as long before a person is told). */
export const PATIENCE_SECONDS = 86_400;
/** Seconds between a failed try and the next. */
const BACKOFF = [2, 10, 60, 600] as const;

/** What stands in the way of the work, or the claim to do it. */
export type Claimed =
  | { kind: 'claimed'; pair: SkillPair }
  | { kind: 'done' | 'running' | 'failed' | 'refunded' | 'unpaid' | 'exhausted'; pair: SkillPair }
  | { kind: 'later'; pair: SkillPair; seconds: number };

/** Both rows under the order's lock, which refunds take too: a claim and a refund never pass each other. */
export async function lockPair(tx: Tx, orderNo: string): Promise<SkillPair> {
  const order = await tx.orders.lock({ orderNo });
  const skill = order && (await tx.skillOrders.lock({ orderNo }));
  if (!order || !skill) throw new NotFound('order');
  return { order, skill };
}

/** Both rows without a lock, as they are at one moment; of one application when it is named. Throws NotFound. */
export async function readPair(tx: ReadTx, orderNo: string, owner?: { clientId: string }): Promise<SkillPair> {
  const pair = await offerPair(tx, owner ? { orderNo, clientId: owner.clientId } : { orderNo });
  if (!pair) throw new NotFound('order');
  return pair;
}

/** All the money is back or on its way back. */
export function isRefunded({ order }: SkillPair): boolean {
  return order.paid > 0n && order.refunded + order.refunding >= order.paid;
}

/** States of a refund whose money is back, or may still go back. */
const ALIVE = ['pending', 'processing', 'succeeded', 'abnormal'] as const;

/**
 * Whether content that was not delivered never will be: all the money is back or on its way, or a part of it went back because the
 * application asked, or because its payer won a dispute. What the operator gives back (as administrator, in the channel's portal)
 * takes nothing away, and a refund that failed gives the claim back.
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

/** A claim of the work whose maker may still be at it. */
export function isLive(skill: Pick<SkillOrderRow, 'fulfilment' | 'leasedUntil'>, now: Date): boolean {
  return skill.fulfilment === 'running' && skill.leasedUntil !== null && skill.leasedUntil > now;
}

/**
 * Claims the work by compare-and-set under the order's lock: one claim at a time, each with a fencing number of its own.
 * `due`: the job that comes at its time need not wait for the pause between tries.
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

/** The part of a row that says how far its work is. */
type Progress = Pick<
  SkillOrderRow,
  'fulfilment' | 'fencing' | 'attempts' | 'firstAttemptAt' | 'leasedUntil' | 'nextAttemptAt'
>;

/** What stands in the way of work that is neither done nor given up. */
export type Obstacle = { kind: 'running' | 'exhausted' } | { kind: 'later'; seconds: number };

/** Whether paid work may be claimed now; undefined = it may. */
export function obstacleTo(work: Progress, now: Date, due: boolean): Obstacle | undefined {
  if (isLive(work, now)) return { kind: 'running' };
  if (work.attempts >= MAX_ATTEMPTS || isOverdue(work, now)) return { kind: 'exhausted' };
  const pause = work.fulfilment === 'none' && work.attempts > 0 ? work.nextAttemptAt : null;
  if (!due && pause !== null && pause > now)
    return { kind: 'later', seconds: Math.ceil((pause.getTime() - now.getTime()) / 1000) };
  return undefined;
}

/** What a claim writes; its fencing number is its own. */
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

/** The first try was too long ago to go on. */
export function isOverdue({ firstAttemptAt }: Pick<SkillOrderRow, 'firstAttemptAt'>, now: Date): boolean {
  return firstAttemptAt !== null && now >= later(firstAttemptAt, PATIENCE_SECONDS);
}

/** When the next try may begin after `attempts` failed ones. */
export function nextAttempt(attempts: number, now: Date): Date {
  return later(now, BACKOFF[Math.min(attempts, BACKOFF.length) - 1] ?? BACKOFF[0]);
}

/** How often a waiting call looks whether another replica has done the work (ms). */
export const LOOK_MS = 100;

/** Until the work ends, at most `ms`. */
export async function pause(work: Promise<void> | undefined, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race(work ? [work, promise] : [promise]);
  clearTimeout(timer);
}
