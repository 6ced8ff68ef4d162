import test from 'ava';
import { mock } from 'node:test';
import type { EventRow } from '../../../server/db/entities/events.ts';
import type { ReadTx, Store } from '../../../server/db/store.ts';
import { createEventFeed } from '../../../server/events/feed.ts';

const STEPS = ['join', 'leave', 'answer', 'fail', 'time', 'event'] as const;
type Step = (typeof STEPS)[number];
const POLL_MS = 10;

/** A log in memory whose every read waits until the test lets it go on. */
function gatedLog() {
  const rows: EventRow[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  let reads = 0;
  const tx = {
    sql: async (statement: string, [after = '0', head = '0']: unknown[] = []) =>
      statement.includes('pg_locks')
        ? [{ head: rows.length }]
        : rows.filter(({ sequence }) => sequence > BigInt(String(after)) && sequence <= BigInt(String(head))),
    events: {
      list: async (where: { sequence: bigint[] }) => rows.filter((row) => where.sequence.includes(row.sequence)),
    },
  } as unknown as ReadTx;
  const read: Store['read'] = async (work) => {
    reads += 1;
    const gate = Promise.withResolvers<void>();
    waiting.push(gate);
    await gate.promise;
    return work(tx);
  };
  return {
    store: { read } as Store,
    append: () => rows.push({ sequence: BigInt(rows.length + 1), id: `evt_${rows.length + 1}` } as EventRow),
    answer: () => waiting.shift()?.resolve(),
    fail: () => waiting.shift()?.reject(new Error('away')),
    waiting,
    count: () => reads,
  };
}

/** Lets everything that can go on go on. */
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Plays one order of steps; gives what is wrong afterwards. */
async function play(steps: readonly Step[]): Promise<string[]> {
  const log = gatedLog();
  const feed = createEventFeed({ store: log.store, log: () => {} }, POLL_MS);
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
  for (const cursor of cursors) {
    const { events, upTo } = await feed.since({}, cursor);
    const numbers = events.map(({ sequence }) => sequence);
    const expected = Array.from({ length: Number(upTo - cursor) }, (_, at) => cursor + BigInt(at) + 1n);
    if (String(numbers) !== String(expected)) faults.push(`after ${cursor} came ${numbers}`);
  }
  feed.stop();
  return faults;
}

function* ordersOf(length: number): Generator<Step[]> {
  if (length === 0) return yield [];
  for (const rest of ordersOf(length - 1)) for (const step of STEPS) yield [...rest, step];
}

test('whoever joins and leaves at whatever moment, there is one loop, and each event comes once', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const faults: string[] = [];
  let count = 0;
  for (const steps of ordersOf(5)) {
    // A loop that reads, with one follower: what comes then is what matters.
    const all: Step[] = ['join', 'answer', 'time', ...steps];
    for (const fault of await play(all)) faults.push(`${all.join(' ')}: ${fault}`);
    count += 1;
  }
  t.deepEqual(faults.slice(0, 5), []);
  t.is(count, 6 ** 5);
});
