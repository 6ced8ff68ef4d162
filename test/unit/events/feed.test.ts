import test from 'ava';
import { mock } from 'node:test';
import type { EventRow } from '../../../server/db/entities/events.ts';
import { settledHead } from '../../../server/db/queries/events.ts';
import type { ReadTx, Store } from '../../../server/db/store.ts';
import { createFeed, type Reader } from '../../../server/events/feed.ts';
import { fakeSql } from '../../support/fake-sql.ts';

const STEPS = ['join', 'leave', 'answer', 'fail', 'time', 'event'] as const;
type Step = (typeof STEPS)[number];
const POLL_MS = 10;

/** A log in memory whose reads wait for the test. */
function gatedLog() {
  const rows: EventRow[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  let reads = 0;
  const tx = { sql: fakeSql(() => [{ head: BigInt(rows.length) }]) } as unknown as ReadTx;
  const reader: Reader<EventRow> = {
    async list(_tx, _filter, after, most, settled) {
      const head = settled ?? (await settledHead(tx));
      return rows.filter(({ sequence }) => sequence > after && sequence <= head).slice(0, most);
    },
    page: 200,
    kept: 2000,
  };
  const read: Store['read'] = async (work) => {
    reads += 1;
    const gate = Promise.withResolvers<void>();
    waiting.push(gate);
    await gate.promise;
    return work(tx);
  };
  return {
    store: { read } as Store,
    reader,
    append: () => rows.push({ sequence: BigInt(rows.length + 1), id: `evt_${rows.length + 1}` } as EventRow),
    answer: () => waiting.shift()?.resolve(),
    fail: () => waiting.shift()?.reject(new Error('away')),
    waiting,
    count: () => reads,
  };
}

/** Lets all pending callbacks run. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Plays one sequence of steps and returns its faults. */
async function play(steps: readonly Step[]): Promise<{ faults: string[]; events: number }> {
  const log = gatedLog();
  const feed = createFeed({ store: log.store, log: () => {} }, log.reader, POLL_MS);
  const cursors: bigint[] = [];
  const tried: Promise<unknown>[] = [];
  const play: Record<Step, () => unknown> = {
    join: () =>
      tried.push(
        feed.join().then(
          (head) => cursors.push(head),
          () => {},
        ),
      ),
    leave: () => cursors.length > 0 && (cursors.pop(), feed.leave()),
    answer: log.answer,
    fail: log.fail,
    time: () => mock.timers.tick(POLL_MS),
    event: log.append,
  };
  for (const step of steps) {
    play[step]();
    await settle();
  }
  const calm = async () => {
    while (log.waiting.length > 0) {
      log.answer();
      await settle();
    }
  };
  await calm();
  await Promise.all(tried);
  const faults: string[] = [];
  for (let round = 0; round < 2; round++) {
    log.append();
    const before = log.count();
    mock.timers.tick(POLL_MS);
    await settle();
    const loops = log.count() - before;
    if (loops !== (cursors.length > 0 ? 1 : 0)) faults.push(`${loops} loops for ${cursors.length} followers`);
    await calm();
  }
  let came = 0;
  for (const cursor of cursors) {
    const { events, upTo } = await feed.since({}, cursor);
    came += events.length;
    const numbers = events.map(({ sequence }) => sequence);
    const expected = Array.from({ length: Number(upTo - cursor) }, (_, at) => cursor + BigInt(at) + 1n);
    if (String(numbers) !== String(expected)) faults.push(`after ${cursor} came ${numbers}`);
  }
  feed.stop();
  return { faults, events: came };
}

function* ordersOf(length: number): Generator<Step[]> {
  if (length === 0) return yield [];
  for (const rest of ordersOf(length - 1)) for (const step of STEPS) yield [...rest, step];
}

test('there is one loop and each event arrives once, however followers join and leave', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const faults: string[] = [];
  let [count, events] = [0, 0];
  for (const steps of ordersOf(5)) {
    // Starts with a reading loop and one follower; only the following steps vary.
    const all: Step[] = ['join', 'answer', 'time', ...steps];
    const played = await play(all);
    for (const fault of played.faults) faults.push(`${all.join(' ')}: ${fault}`);
    events += played.events;
    count += 1;
  }
  t.deepEqual(faults.slice(0, 5), []);
  t.is(count, 6 ** 5);
  t.true(events > count, `${events} events came`);
});
