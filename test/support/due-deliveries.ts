import { sql } from 'kysely';
import type { ExecutionContext } from 'ava';
import { dueDeliveries, lookForDue, planTask, takeTask } from '../../server/db/queries/due.ts';
import type { Store } from '../../server/db/store.ts';
import { createScheduler, type Scheduler, type SchedulerParts } from '../../server/jobs/scheduler.ts';

/** Inserts deliveries that are due now, in turns for each app; gives their ids. */
export async function insertDeliveries(
  store: Store,
  n: number,
  apps: readonly string[] = ['app_a'],
  url = 'https://shop.example/',
): Promise<string[]> {
  const rows = await store.transaction(
    (tx) =>
      tx.sql<{
        id: string;
      }>`insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
       select gen_random_uuid(), 'evt_' || n, (array[${sql.raw(apps.map((app) => `'${app}'`).join(', '))}])[n % ${sql.lit(apps.length)} + 1],
              'webhook', ${url}, 'pending', 0, now() - interval '1 minute', now()
         from generate_series(1, ${n}) n returning id`,
  );
  return rows.map(({ id }) => id);
}

/** Says that a delivery is done. */
export async function finishDelivery(store: Store, id: string): Promise<void> {
  await store.transaction((tx) => tx.deliveries.update({ id }, { state: 'delivered', nextAttemptAt: null }));
}

/** A scheduler over deliveries of a database, as one replica has it; it ends with the test. */
export function deliveryScheduler(
  t: ExecutionContext,
  store: Store,
  run: (id: string) => Promise<unknown>,
  more: Partial<SchedulerParts> = {},
): Scheduler {
  const scheduler = createScheduler({
    store,
    now: () => new Date(),
    log: () => {},
    lookForDue,
    takeTask,
    planTask,
    kinds: [{ name: 'delivery', wokenBy: 'deliver-event', rows: dueDeliveries(), run, width: 16, laneWidth: 8 }],
    tasks: [],
    lookMs: 20,
    ...more,
  });
  t.teardown(() => scheduler.stop(10_000));
  return scheduler;
}
