import test from 'ava';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { migrate } from '../../server/db/migrate.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';
import { recordEvents } from '../../server/events/record.ts';
import { count, inParallel } from '../support/counts.ts';
import { PATIENT } from '../support/database.ts';
import { decodeInserts } from '../support/decoded-log.ts';
import { startPostgres } from '../support/postgres.ts';

/** The statements of the document, so that what is tested is what is written there. */
const documented = (name: string) =>
  new RegExp(`-- ${name}\\n([\\s\\S]*?)\\n(?:--|\`\`\`)`).exec(
    readFileSync(new URL('../../server/db/README.md', import.meta.url), 'utf8'),
  )![1]!;

test('the documented publication brings every event once, rolled back ones never, and says nothing of what is removed', async (t) => {
  const postgres = await startPostgres({ logical: true });
  const database = await openDatabase({ kind: 'postgres', url: postgres.url, poolSize: 8, timeouts: PATIENT });
  const admin = new pg.Client({ connectionString: postgres.url });
  t.teardown(async () => {
    await admin.end();
    await database.close();
    await postgres.stop();
  });
  await migrate(database);
  await admin.connect();
  await admin.query(documented('publication'));
  await admin.query(documented('slot'));
  const store = createStore(database, () => {});
  const record = recordEvents(() => new Date());
  const events = count(2_000, 200);
  await inParallel(events, 8, async (turn) => {
    const event = {
      type: 'order.paid',
      clientId: `app_${turn % 3}`,
      project: 'default',
      objectNo: `P${turn}`,
      dedupe: 'once',
      since: new Date(),
      object: { orderNo: `P${turn}`, subject: '两杯咖啡 "☕"' },
    };
    const write = store.transaction(async (tx) => {
      await record(tx, event);
      if (turn % 5 === 0) throw new Error('rolled back');
    });
    await (turn % 5 === 0 ? t.throwsAsync(write, { message: 'rolled back' }) : write);
  });
  // What is decoded is what is on disk; the tests' PostgreSQL does not hurry to write.
  await admin.query('set synchronous_commit = on');
  await admin.query(`update events set notify_url = 'http://127.0.0.1' where object_no = 'P1'`);
  await admin.query(`delete from events where object_no = 'P1'`);
  const { rows } = await admin.query<{ data: Buffer }>(
    `select data from pg_logical_slot_get_binary_changes('pay_events', null, null,
       'proto_version', '1', 'publication_names', 'pay_events')`,
  );
  const { rows: told, others } = decodeInserts(rows.map(({ data }) => data));
  t.deepEqual(others, []);
  const kept = Array.from({ length: events }, (_, turn) => turn).filter((turn) => turn % 5 !== 0);
  t.deepEqual(told.map((row) => row['object_no']).toSorted(), kept.map((turn) => `P${turn}`).toSorted());
  t.is(new Set(told.map(({ id }) => id)).size, kept.length);
  t.is(new Set(told.map(({ sequence }) => sequence)).size, kept.length);
  for (const { payload, object_no: objectNo } of told)
    t.like(JSON.parse(payload!), { orderNo: objectNo, subject: '两杯咖啡 "☕"' });
});
