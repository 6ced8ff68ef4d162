import { randomUUID } from 'node:crypto';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';

/** Writes many events to the embedded database in a folder and dies by `kill -9` during the writes, so that the next start must recover. */
const [folder = '', transactions = '0'] = process.argv.slice(2);
const database = await openDatabase({ kind: 'pglite', url: `pglite://${folder}`, folder });
const store = createStore(database, () => {});
const payload = { subject: 'x'.repeat(1500) };
for (let at = 0; at < Number(transactions); at += 1)
  await store.transaction(async (tx) => {
    const rows = Array.from({ length: 20 }, () => ({
      id: `evt_${randomUUID()}`,
      type: 'order.paid',
      clientId: 'app_bench',
      project: 'default',
      objectNo: randomUUID(),
      dedupe: 'once',
      payload,
      notifyUrl: null,
      createdAt: new Date(),
    }));
    await tx.events.insertMany(rows);
  });
process.kill(process.pid, 'SIGKILL');
