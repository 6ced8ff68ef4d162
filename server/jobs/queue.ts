import { fromKysely, fromPglite, PgBoss } from 'pg-boss';
import type { OpenDatabase } from '../db/orm.ts';
import type { Wake } from '../db/tx.ts';

/** What wakes a worker: a queue's name and what it does with one message. */
export type Worker = (data: Record<string, string>) => Promise<void>;

/** The job queue in our own database. It only wakes: rows say what is due. */
export interface JobQueue {
  /** Enqueues in the caller's transaction; does nothing before `start`. */
  wake: Wake;
  start(
    workers: Readonly<Record<string, Worker>>,
    scheduled: Readonly<Record<string, { cron: string; run: () => Promise<void> }>>,
  ): Promise<void>;
  stop(): Promise<void>;
}

type Log = (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;

/** A killed worker's message comes back after this long. */
const EXPIRE_SECONDS = 60;

/** A queue on pg-boss, on PostgreSQL and on the embedded database alike. */
export function createJobQueue(database: OpenDatabase, url: string, log: Log): JobQueue {
  let boss: PgBoss | undefined;
  let known = new Set<string>();
  return { wake, start, stop };

  async function wake(...[em, queue, data, afterSeconds]: Parameters<Wake>): Promise<void> {
    if (!boss || !known.has(queue)) return;
    // MikroORM's Kysely runs on the transaction of `em`, so the message commits with the row that it is about.
    const db = fromKysely(em.getKysely() as never);
    await boss.send(queue, data, { db, ...(afterSeconds > 0 ? { startAfter: afterSeconds } : {}) });
  }

  async function start(...[workers, scheduled]: Parameters<JobQueue['start']>): Promise<void> {
    const opened = await open();
    opened.on('error', (error) => log('error', 'the job queue failed', { error }));
    await opened.start();
    const names = [...Object.keys(workers), ...Object.keys(scheduled)];
    await Promise.all(
      names.map((name) => opened.createQueue(name, { expireInSeconds: EXPIRE_SECONDS, retryLimit: 2 })),
    );
    // On the one connection of the embedded database a first look-up inside a transaction would wait for itself.
    for (const name of names) await opened.getQueue(name);
    for (const [name, worker] of Object.entries(workers)) await listen(opened, name, worker);
    for (const [name, { cron, run }] of Object.entries(scheduled)) {
      await listen(opened, name, run);
      await opened.schedule(name, cron);
    }
    known = new Set(names);
    boss = opened;
  }

  async function listen(opened: PgBoss, name: string, worker: Worker): Promise<void> {
    await opened.work<Record<string, string>>(name, { batchSize: 10, pollingIntervalSeconds: 2 }, async (jobs) => {
      for (const { data } of jobs) await guarded(name, () => worker(data ?? {}));
    });
  }

  /** The row stays due when a worker fails, so the message need not come back. */
  async function guarded(name: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      log('error', 'a job failed', { queue: name, error });
    }
  }

  async function open(): Promise<PgBoss> {
    if (database.kind === 'postgres')
      return new PgBoss({
        connectionString: url,
        max: 2,
        application_name: 'unified-payment-jobs',
        connectionTimeoutMillis: 2_000,
      });
    const connection = database.orm.em.getConnection() as unknown as { getNativeClient(): Promise<unknown> };
    const db = fromPglite((await connection.getNativeClient()) as never);
    return new PgBoss({ db, backend: 'pglite' });
  }

  async function stop(): Promise<void> {
    await boss?.stop({ graceful: true, timeout: 5_000 });
    boss = undefined;
  }
}
