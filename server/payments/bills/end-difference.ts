import type { OrderExceptionRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/store.ts';
import { DIFFERENCE_KINDS } from './bill-states.ts';

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
