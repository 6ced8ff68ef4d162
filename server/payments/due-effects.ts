import type { DueEffectRow, OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import { noteEffects } from './ledger.ts';
import { attemptEffect, failed, listFailed, resolveExceptions } from './side-effects.ts';
import type { Ports } from './ports.ts';

interface RetryBy {
  readonly actor: string;
  readonly reason: string;
}

/**
 * Runs side effects (of orders and refunds) that failed before. Then runs later side effects of the same order, which
 * had to wait.
 */
export function dueEffects(ports: Ports) {
  return {
    /** `id`: a row of `due_effects`; all due side effects of its order are run. */
    async run(id: string): Promise<void> {
      const row = await ports.store.read((tx) => tx.dueEffects.find({ id }));
      if (row?.state === 'due') await work(row.orderNo);
    },
    work,
  };

  /** Runs the side effects in the sequence of the state changes that caused them; stops at the first failure. */
  function work(orderNo: string, retry?: RetryBy): Promise<void> {
    return ports.store.transaction(async (tx) => {
      const order = await tx.orders.lock({ orderNo });
      if (!order) return;
      for (const row of await waiting(tx, orderNo)) if (!(await attempt(tx, order, row, retry))) return;
      await noteEffects(tx, order, false);
    });
  }

  async function attempt(tx: Tx, order: OrderRow, row: DueEffectRow, retry: RetryBy | undefined): Promise<boolean> {
    const { id, orderNo, refundNo, name } = row;
    const refund = refundNo === null ? undefined : await tx.refunds.find({ refundNo });
    const error = await attemptEffect(ports, tx, { order, refund }, row);
    if (error !== undefined) {
      await tx.dueEffects.update({ id }, failed(row, error, ports.now()));
      await listFailed(ports, tx, order, row, error);
      return false;
    }
    const over = { nextAt: null, leasedUntil: null, finishedAt: ports.now() };
    await tx.dueEffects.update({ id }, { ...over, state: 'done', tries: row.tries + 1 });
    const listed = await tx.exceptions.find({ orderNo, kind: 'effect_failed', dedupe: name, state: 'open' });
    const how = retry ? { by: retry.actor, reason: retry.reason } : { by: 'service' };
    if (listed) await resolveExceptions(ports, tx, { where: { id: listed.id }, resolution: 'done', ...how });
    return true;
  }
}

/** Whether the side effect failed before, or waits for an earlier side effect of the order. */
export async function isEffectDue(tx: Tx, orderNo: string, name: string): Promise<boolean> {
  return (await tx.dueEffects.find({ orderNo, name, state: 'due' })) !== undefined;
}

/**
 * Ends a due side effect without running it. The later side effects of the order then run. The caller holds the order's
 * lock.
 */
export async function giveUpEffect(ports: Ports, tx: Tx, order: OrderRow, name: string): Promise<void> {
  const { orderNo } = order;
  const now = ports.now();
  const over = { state: 'given_up' as const, nextAt: null, leasedUntil: null, finishedAt: now };
  await tx.dueEffects.update({ orderNo, name, state: 'due' }, over);
  const [next] = await waiting(tx, orderNo);
  if (!order.effectsDue) return;
  if (next) await tx.dueEffects.update({ id: next.id }, { nextAt: next.nextAt ?? now });
  else await noteEffects(tx, order, false);
}

function waiting(tx: Tx, orderNo: string): Promise<DueEffectRow[]> {
  return tx.dueEffects.list({ orderNo, state: 'due' }, { orderBy: { sequence: 'asc', place: 'asc' } });
}
