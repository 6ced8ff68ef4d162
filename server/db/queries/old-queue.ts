import type { Tx } from '../store.ts';

/** The queues of the releases that woke their jobs through pg-boss. */
const OLD_QUEUES = ['deliver-event', 'capture', 'refund-check', 'clean-up', 'certificate-expiry'];

/**
 * Removes the schema `pgboss` of an older release when none of its replicas has shown itself for a day: they stamp
 * `cron_on` every minute and send messages. A schema with queues that were never ours stays. True when it was removed.
 */
export async function dropOldQueue(tx: Tx): Promise<boolean> {
  const [found] = await tx.sql<{ there: boolean }>(
    `select to_regclass('pgboss.version') is not null and to_regclass('pgboss.queue') is not null as there`,
  );
  if (found?.there !== true) return false;
  const [old] = await tx.sql<{ abandoned: boolean }>(
    `select not exists (select 1 from pgboss.version where cron_on > now() - interval '1 day')
        and not exists (select 1 from pgboss.job where created_on > now() - interval '1 day')
        and exists (select 1 from pgboss.queue where name = ?)
        and not exists (select 1 from pgboss.queue
                         where name not in (${OLD_QUEUES.map(() => '?').join(', ')}) and name not like '\\_\\_pgboss\\_\\_%')
        as abandoned`,
    ['deliver-event', ...OLD_QUEUES],
  );
  if (old?.abandoned !== true) return false;
  await tx.sql('drop schema pgboss cascade');
  return true;
}
