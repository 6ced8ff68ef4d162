import test from 'ava';
import { setTimeout as pause } from 'node:timers/promises';
import { listEvents } from '../../server/db/queries/events.ts';
import type { Store, Tx } from '../../server/db/store.ts';
import { createEventFeed } from '../../server/events/feed.ts';
import { recordEvents } from '../../server/events/record.ts';
import { eventStreams } from '../../server/events/stream.ts';
import { count, inParallel } from '../support/counts.ts';
import { postgresDatabase } from '../support/database.ts';

const record = recordEvents(() => new Date());
const event = (objectNo: string, clientId = 'app_a') => ({
  type: 'order.paid',
  clientId,
  project: 'default',
  objectNo,
  dedupe: 'once',
  since: new Date(),
  object: { orderNo: objectNo },
});
const read = (store: Store, after: bigint) => store.read((tx) => listEvents(tx, {}, after, 200));

/** A transaction that stays open after its work until it is released. */
function held(store: Store, work: (tx: Tx) => Promise<void>) {
  const worked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const done = store.transaction(async (tx) => {
    await work(tx);
    worked.resolve();
    await gate.promise;
  });
  return { worked: worked.promise, commit: () => (gate.resolve(), done) };
}

test('a reader waits for the lower number, whichever transaction is older', async (t) => {
  const { store } = await postgresDatabase(t);
  for (const younger of [false, true]) {
    const start = (await read(store, 0n)).length;
    // An older transaction that takes its number later must not be shown before the younger one with the lower number.
    const begin = (tx: Tx) => tx.sql`select pg_current_xact_id()`.then(() => {});
    const gate = Promise.withResolvers<void>();
    const high = held(store, async (tx) => {
      if (younger) await begin(tx);
      await gate.promise;
      await record(tx, event(`high-${younger}`));
    });
    const low = held(store, (tx) => record(tx, event(`low-${younger}`)));
    await low.worked;
    gate.resolve();
    await high.worked;
    await high.commit();
    t.is((await read(store, 0n)).length, start, 'the lower number is still open');
    await low.commit();
    const shown = (await read(store, 0n)).slice(start).map(({ objectNo }) => objectNo);
    t.deepEqual(shown, [`low-${younger}`, `high-${younger}`]);
  }
});

test('a transaction that rolls back blocks no reader, and the same event happens once', async (t) => {
  const { store } = await postgresDatabase(t);
  await t.throwsAsync(
    store.transaction(async (tx) => {
      await record(tx, event('lost'));
      throw new Error('no');
    }),
  );
  await Promise.all([1, 2, 3].map(() => store.transaction((tx) => record(tx, event('kept')))));
  t.deepEqual(
    (await read(store, 0n)).map(({ objectNo }) => objectNo),
    ['kept'],
  );
});

test('a follower far behind misses nothing if the lowest open number falls below its cursor', async (t) => {
  const { store } = await postgresDatabase(t);
  for (let index = 1; index <= 10; index += 1) await store.transaction((tx) => record(tx, event(`o${index}`)));
  const feed = createEventFeed({ store, log: () => {} }, 5);
  t.is(await feed.join(), 10n);
  // A writer that read number 3 long ago and gets its lock only now; its own number is a new one.
  const slow = held(store, async (tx) => void (await tx.sql`select pg_advisory_xact_lock_shared(1702258030, 3)`));
  await slow.worked;
  const { events, upTo } = await feed.since({}, 0n);
  await slow.commit();
  feed.stop();
  t.is(upTo, 10n);
  t.is(events.length, 10, 'every event up to the cursor is there');
});

test('G14: with 8 writers, readers by cursor, readers of one app and streams miss nothing and see nothing twice', async (t) => {
  const { store } = await postgresDatabase(t, 20);
  const total = count(8000, 400);
  let writing = true;
  const numbers = new Map<string, string>();
  const write = inParallel(total, 8, async (index) => {
    const clientId = index % 3 === 0 ? 'app_b' : 'app_a';
    await store
      .transaction(async (tx) => {
        await record(tx, event(`o${index}`, clientId));
        if (index % 7 === 0) await pause(index % 20);
        if (index % 5 === 0) await record(tx, event(`o${index}-second`, clientId));
        if (index % 31 === 0) throw new Error('rolled back');
      })
      .then(
        () => {
          numbers.set(`o${index}`, clientId);
          if (index % 5 === 0) numbers.set(`o${index}-second`, clientId);
        },
        () => {},
      );
  }).finally(() => (writing = false));

  const byCursor = async (clientId: string | undefined, limit: number) => {
    const seen: string[] = [];
    let after = 0n;
    for (;;) {
      const last = !writing;
      const rows = await store.read((tx) => listEvents(tx, { clientId }, after, limit));
      seen.push(...rows.map(({ objectNo }) => objectNo));
      after = rows.at(-1)?.sequence ?? after;
      if (last && rows.length === 0) return seen;
    }
  };
  const feed = createEventFeed({ store, log: () => {} }, 5);
  const open = eventStreams(feed);
  const byStream = async (after: bigint | undefined) => {
    const seen: string[] = [];
    const body = open({ filter: {}, after, stillAllowed: async () => {} });
    for await (const part of body)
      for (const [, number] of String(part).matchAll(/"objectNo":"([\w-]+)"/g)) {
        seen.push(number!);
        if (number === 'end') return seen;
      }
    return seen;
  };
  const cursors = [byCursor(undefined, 200), byCursor(undefined, 7), byCursor('app_b', 50)];
  const streams = [byStream(0n), byStream(undefined), pause(50).then(() => byStream(0n))];
  await write;
  await store.transaction((tx) => record(tx, event('end')));
  const all = [...numbers.keys()].toSorted();
  for (const [index, reader] of cursors.entries()) {
    const seen = (await reader).filter((number) => number !== 'end').toSorted();
    const expected = index === 2 ? all.filter((number) => numbers.get(number) === 'app_b') : all;
    t.deepEqual(seen, expected, `cursor ${index}`);
  }
  for (const [index, stream] of streams.entries()) {
    const seen = (await stream).filter((number) => number !== 'end').toSorted();
    if (index === 1) t.is(new Set(seen).size, seen.length, 'from now on: nothing twice');
    else t.deepEqual(seen, all, `stream ${index}`);
  }
  feed.stop();
  t.log(`${all.length} events by 8 writers, 3 cursors and 3 streams: 0 missed, 0 twice`);
});
