import { isForfeited, isOverdue, isRefunded, MAX_ATTEMPTS, readPair } from './claim.ts';
import type { Fulfilment } from './fulfil.ts';
import type { SkillPorts } from './ports.ts';

/**
 * Does for one order whatever is due: goes on after a crash, tries again after a pause, gives up, tells a person about
 * money that nobody came for. The row is claimed.
 */
export function resumeFulfilment({ store, now, payments }: SkillPorts, fulfilment: Fulfilment) {
  return async (orderNo: string): Promise<void> => {
    const { pair, forfeited } = await store.read(async (tx) => {
      const found = await readPair(tx, orderNo);
      return { pair: found, forfeited: await isForfeited(tx, found) };
    });
    const { order, skill } = pair;
    if (skill.fulfilment === 'failed' && skill.refundNo === null && !isRefunded(pair))
      return fulfilment.giveUp(orderNo);
    const isOver = skill.fulfilment === 'done' || skill.fulfilment === 'failed';
    if (isOver || order.state !== 'paid' || forfeited) return rest(orderNo);
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

  async function rest(orderNo: string): Promise<void> {
    await store.autocommit((tx) =>
      tx.skillOrders.update(
        { orderNo, fulfilment: ['none', 'done', 'failed'] },
        { nextAttemptAt: null, leasedUntil: null },
      ),
    );
  }
}
