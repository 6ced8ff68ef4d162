import type { Tx } from '../tx.ts';

/** Forgets idempotency keys of more than seven days whose intent is final; returns how many. */
export async function deleteOldKeys(tx: Tx, now: Date): Promise<number> {
  const before = new Date(now.getTime() - 7 * 86_400_000);
  const rows = await tx.sql(
    `delete from idempotency_keys k where k.created_at < ?
        and not exists (select 1 from orders o where o.order_no = k.intent_no and o.state in ('created', 'pending', 'closing'))
        and not exists (select 1 from refunds r where r.refund_no = k.intent_no and r.state in ('pending', 'processing', 'abnormal'))
      returning 1`,
    [before],
  );
  return rows.length;
}
