import test from 'ava';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { migrate } from '../../server/db/migrate.ts';
import { openDatabase } from '../../server/db/orm.ts';
import { createStore } from '../../server/db/store.ts';
import { recordEvents } from '../../server/events/record.ts';
import { count, inParallel } from '../support/counts.ts';
import { PATIENT } from '../support/database.ts';
import { startPostgres } from '../support/postgres.ts';

/** An inserted row, its values as text. */
type DecodedRow = Readonly<Record<string, string | null>>;

/**
 * Decodes messages of PostgreSQL's plugin `pgoutput` (protocol version 1; PostgreSQL manual, "Logical Replication Message Formats")
 * as far as inserts need it: relations (R) name the columns, inserts (I) bring rows; begin, commit, origin and type are skipped;
 * messages that change a row are returned separately.
 */
function decodeInserts(messages: readonly Buffer[]): { rows: DecodedRow[]; others: string[] } {
  const columns = new Map<number, string[]>();
  const rows: DecodedRow[] = [];
  const others: string[] = [];
  for (const message of messages) {
    const kind = String.fromCodePoint(message[0] ?? 0);
    const reader = readerOf(message.subarray(1));
    if (kind === 'R') columns.set(...readRelation(reader));
    else if (kind === 'I') rows.push(readInsert(reader, columns));
    else if (!'BCOY'.includes(kind)) others.push(kind);
  }
  return { rows, others };
}

function readerOf(bytes: Buffer) {
  let at = 0;
  const take = (length: number) => bytes.subarray(at, (at += length));
  return {
    byte: () => take(1).readUInt8(),
    short: () => take(2).readUInt16BE(),
    int: () => take(4).readUInt32BE(),
    text: (length: number) => take(length).toString('utf8'),
    word() {
      const end = bytes.indexOf(0, at);
      const text = bytes.toString('utf8', at, end);
      at = end + 1;
      return text;
    },
  };
}

type Reader = ReturnType<typeof readerOf>;

function readRelation({ int, word, byte, short }: Reader): [number, string[]] {
  const id = int();
  word();
  word();
  byte();
  const names = Array.from({ length: short() }, () => {
    byte();
    const name = word();
    int();
    int();
    return name;
  });
  return [id, names];
}

function readInsert(reader: Reader, columns: ReadonlyMap<number, string[]>): DecodedRow {
  const names = columns.get(reader.int());
  if (!names) throw new Error('a row of a relation that was not described');
  reader.byte();
  reader.short();
  const cell = () => (reader.byte() === 't'.codePointAt(0) ? reader.text(reader.int()) : null);
  return Object.fromEntries(names.map((name) => [name, cell()]));
}

/** The documented SQL statements, so that the test runs the published text. */
const documented = (name: string) =>
  new RegExp(`-- ${name}\\n([\\s\\S]*?)\\n(?:--|\`\`\`)`).exec(
    readFileSync(new URL('../../server/db/README.md', import.meta.url), 'utf8'),
  )![1]!;

test('the documented publication sends every committed event once, and neither rolled back nor removed ones', async (t) => {
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
  // Only flushed WAL is decoded; the tests' PostgreSQL delays flushes.
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
