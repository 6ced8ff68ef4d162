// A replica reduced to its jobs: the scheduler over orders whose work is one update. Its orders come as JSON in BENCH_JOBS; a line
// on standard input is an order number that it commits as due. It prints each action with its time.
import { createInterface } from 'node:readline';
import { dueOrders, lookForDue, planTask, takeTask } from '../../server/db/queries/due.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';
import { createScheduler } from '../../server/jobs/scheduler.ts';
import { concurrencyOfAccounts } from '../../server/jobs/queues.ts';

const { url, works } = JSON.parse(process.env['BENCH_JOBS'] ?? '{}') as { url: string; works: boolean };
const database = await openDatabase({ kind: 'postgres', url });
const store = createStore(database, (by, row) => scheduler.wake(by, row));
const tell = (what: string, orderNo: string) =>
  process.stdout.write(`${what} ${orderNo} ${performance.timeOrigin + performance.now()}\n`);

/** The default concurrency of the service. */
const PLACES = concurrencyOfAccounts({ perAccount: 16, perChannel: 32 });

async function work(orderNo: string): Promise<void> {
  if (orderNo.startsWith('W')) tell('began', orderNo);
  await store.transaction((tx) => tx.orders.update({ orderNo }, { nextCheckAt: null, leasedUntil: null }));
}

const scheduler = createScheduler({
  store,
  now: () => new Date(),
  log: (_, message, details) => void process.stderr.write(`${message} ${String(details?.['error'])}\n`),
  lookForDue,
  takeTask,
  planTask,
  kinds: [{ name: 'order', wokenBy: 'capture', rows: dueOrders(true), run: work, ...PLACES }],
  tasks: [],
});
if (works) scheduler.start();
process.stdout.write('ready\n');
for await (const orderNo of createInterface(process.stdin)) {
  await store.transaction(async (tx) => {
    await tx.orders.update({ orderNo }, { nextCheckAt: new Date() });
    await tx.afterCommit('capture', { orderNo });
  });
  tell('committed', orderNo);
}
process.exit(0);
