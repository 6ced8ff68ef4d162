import type { ReadTx } from '../db/store.ts';
import { isForfeited, isLive, isOverdue, isRefunded, lockPair, MAX_ATTEMPTS, readPair } from './claim.ts';
import type { Fulfilment } from './fulfil.ts';
import type { SkillPair, SkillPorts } from './ports.ts';

/**
 * Does for one order whatever is due: goes on after a crash, tries again after a pause, gives up, tells a person about
 * money that nobody came for. The row is claimed.
 */
export function resumeFulfilment({ store, now, payments }: SkillPorts, fulfilment: Fulfilment) {
  return async (orderNo: string): Promise<void> => {
    const { skill, isDone } = await store.read(async (tx) => {
      const pair = await readPair(tx, orderNo);
      return { skill: pair.skill, isDone: await isOver(tx, pair) };
    });
    if (isDone) return rest(orderNo);
    if (skill.fulfilment === 'failed') return fulfilment.giveUp(orderNo);
    if (skill.attempts === 0) return unclaimed(orderNo);
    if (skill.attempts >= MAX_ATTEMPTS || isOverdue(skill, now())) return fulfilment.giveUp(orderNo);
    const { work } = await fulfilment.begin(orderNo, { due: true });
    await work;
  };

  /** Paid, and nobody came for it: the content waits on, but a person should know. */
  async function unclaimed(orderNo: string): Promise<void> {
    await store.transaction(async (tx) => {
      const order = await tx.orders.lock({ orderNo });
      const isStill = await tx.skillOrders.update({ orderNo, attempts: 0 }, { nextAttemptAt: null });
      if (order && isStill === 1) await payments.raise(tx, order, { kind: 'unclaimed', dedupe: 'once' });
    });
  }

  /** Looked at again under the lock: a refund that fails meanwhile makes the work due. A claim whose maker died is over, too. */
  async function rest(orderNo: string): Promise<void> {
    await store.transaction(async (tx) => {
      const pair = await lockPair(tx, orderNo);
      const { fulfilment: word } = pair.skill;
      if (isLive(pair.skill, now()) || !(await isOver(tx, pair))) return;
      const fulfilment = word === 'running' ? 'none' : word;
      await tx.skillOrders.update({ orderNo }, { fulfilment, nextAttemptAt: null, leasedUntil: null });
    });
  }
}

/** Whether nothing is to be done any more: neither work nor, after it failed, a refund. */
async function isOver(tx: ReadTx, pair: SkillPair): Promise<boolean> {
  const { order, skill } = pair;
  if (skill.fulfilment === 'failed') return skill.refundNo !== null || isRefunded(pair);
  return skill.fulfilment === 'done' || order.state !== 'paid' || isForfeited(tx, pair);
}
