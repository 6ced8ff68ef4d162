import type { Tx } from '../store.ts';

/**
 * A task of the timetable is a counter in `rate_limits` that may be used once in its period, whichever replica comes
 * first; `expire` is when it is due again.
 */
const keyOf = (task: string): string => `task:${task}`;

/** Takes a task that is due for all replicas together; false when another has it or has done it. */
export async function takeTask(tx: Tx, task: string, now: Date, leasedUntil: Date): Promise<boolean> {
  const taken = await tx.prepared(
    `insert into rate_limits (key, points, expire) values ($1, 1, cast($2 as bigint))
       on conflict (key) do update set expire = excluded.expire where rate_limits.expire <= cast($3 as bigint)
     returning key`,
    [keyOf(task), leasedUntil.getTime(), now.getTime()],
  );
  return taken.length === 1;
}

/** Says when a task is due again. */
export async function planTask(tx: Tx, task: string, at: Date): Promise<void> {
  await tx.prepared(`update rate_limits set expire = cast($2 as bigint) where key = $1`, [keyOf(task), at.getTime()]);
}
