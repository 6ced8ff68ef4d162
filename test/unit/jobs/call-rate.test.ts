import test from 'ava';
import { createCallRate, noteChannelCall } from '../../../server/jobs/call-rate.ts';
import { createWorkers } from '../../../server/jobs/workers.ts';
import { fakeRows, rowsOf } from './due-rows.ts';

const tx = {} as never;

/** Call rates of several replicas over one table of bookings, on one clock. */
function paces(perSecond: number, n = 1) {
  const clock = { ms: 1_000_000 };
  const bookedUntil = new Map<string, number>();
  const ports = {
    perSecond,
    now: () => new Date(clock.ms),
    async bookCalls(_: unknown, now: Date, calls: ReadonlyMap<string, number>) {
      for (const [queueKey, count] of calls) {
        const from = Math.max(bookedUntil.get(queueKey) ?? 0, now.getTime());
        bookedUntil.set(queueKey, from + (count * 1000) / perSecond);
      }
      return new Map([...calls.keys()].map((queueKey) => [queueKey, bookedUntil.get(queueKey)!]));
    },
  };
  return { clock, all: Array.from({ length: n }, () => createCallRate(ports)) };
}

test("a quarter of a second's calls may start at once, then each queue waits for its own rate", async (t) => {
  const { clock, all } = paces(20);
  const [callRate] = all as [(typeof all)[0]];
  t.is(callRate.allowance('a'), 5);
  await callRate.book(tx, new Map([['a', 5]]));
  t.is(callRate.allowance('a'), 0);
  t.is(callRate.allowance('b'), 5);
  t.is(callRate.waitMs('a'), 125);
  clock.ms += 125;
  t.is(callRate.allowance('a'), 2);
  clock.ms += 60_000;
  t.is(callRate.allowance('a'), 5);
});

test('replicas share one rate, and the next booking makes up for calls that started too early', async (t) => {
  const { clock, all } = paces(10, 3);
  let begun = 0;
  for (let ms = 0; ms < 60_000; ms += 50) {
    clock.ms += 50;
    for (const callRate of all) {
      const rows = callRate.allowance('a');
      if (rows === 0) continue;
      await callRate.book(tx, new Map([['a', rows]]));
      begun += rows;
    }
  }
  t.true(begun >= 595 && begun <= 610, `${begun} in a minute`);
});

test('a row is booked with the number of channel calls it made, which may be none or several', async (t) => {
  const { all } = paces(20);
  const [callRate] = all as [(typeof all)[0]];
  noteChannelCall();
  await callRate.counted('a', async () => {
    for (let n = 0; n < 3; n++) {
      await Promise.resolve();
      noteChannelCall();
    }
  });
  t.is(callRate.allowance('a'), 3);
  await callRate.counted('b', async () => {});
  await callRate.book(tx, new Map([['b', 2]]));
  t.is(callRate.allowance('b'), 4);
  await t.throwsAsync(
    callRate.counted('b', async () => {
      noteChannelCall();
      noteChannelCall();
      throw new Error('on purpose');
    }),
  );
  t.is(callRate.allowance('b'), 3);
});

test('a queue at its rate limit claims no row that would wait and does not delay other queues', async (t) => {
  const { clock, all } = paces(100);
  const fake = fakeRows([...rowsOf(60, 'a'), ...rowsOf(3, 'b')]);
  const worked: string[] = [];
  const kind = {
    name: 'thing',
    rows: fake.rows,
    run: async (id: string) => {
      noteChannelCall();
      worked.push(id);
      // The booking clock advances with the work, so the speed of the test does not matter.
      clock.ms += 10;
    },
    concurrency: 64,
    queueConcurrency: 64,
    asksChannel: true,
  };
  const workers = createWorkers(kind, {
    store: fake.store,
    now: () => new Date(clock.ms),
    log: () => {},
    callRate: all[0]!,
    gatherMs: 0,
  });
  t.is(await workers.drain(), 63);
  t.true(worked.indexOf('b-2') < 40, String(worked.indexOf('b-2')));
  t.true(
    fake.claims.every((asked) => Number(asked) <= 50),
    String(fake.claims),
  );
  t.true(clock.ms >= 1_000_000 + 350);
});
