import test from 'ava';
import { createPace, noteChannelCall } from '../../../server/jobs/pace.ts';
import { createWorkers } from '../../../server/jobs/workers.ts';
import { fakeRows, rowsOf } from './due-rows.ts';

const tx = {} as never;

/** Paces of several replicas over one table of bookings, on one clock. */
function paces(perSecond: number, n = 1) {
  const clock = { ms: 1_000_000 };
  const bookedUntil = new Map<string, number>();
  const ports = {
    perSecond,
    now: () => new Date(clock.ms),
    async bookCalls(_: unknown, now: Date, calls: ReadonlyMap<string, number>) {
      for (const [lane, count] of calls) {
        const from = Math.max(bookedUntil.get(lane) ?? 0, now.getTime());
        bookedUntil.set(lane, from + (count * 1000) / perSecond);
      }
      return new Map([...calls.keys()].map((lane) => [lane, bookedUntil.get(lane)!]));
    },
  };
  return { clock, all: Array.from({ length: n }, () => createPace(ports)) };
}

test('a quarter of a second may begin at once; then each lane waits for its own turn', async (t) => {
  const { clock, all } = paces(20);
  const [pace] = all as [(typeof all)[0]];
  t.is(pace.allowance('a'), 5);
  await pace.book(tx, new Map([['a', 5]]));
  t.is(pace.allowance('a'), 0);
  t.is(pace.allowance('b'), 5);
  t.is(pace.waitMs('a'), 125);
  clock.ms += 125;
  t.is(pace.allowance('a'), 2);
  clock.ms += 60_000;
  t.is(pace.allowance('a'), 5);
});

test('replicas share a rate: what one has begun too early the next booking makes up for', async (t) => {
  const { clock, all } = paces(10, 3);
  let begun = 0;
  for (let ms = 0; ms < 60_000; ms += 50) {
    clock.ms += 50;
    for (const pace of all) {
      const rows = pace.allowance('a');
      if (rows === 0) continue;
      await pace.book(tx, new Map([['a', rows]]));
      begun += rows;
    }
  }
  t.true(begun >= 595 && begun <= 610, `${begun} in a minute`);
});

test('a row that calls its channel more than once, or not at all, is booked as such', async (t) => {
  const { all } = paces(20);
  const [pace] = all as [(typeof all)[0]];
  noteChannelCall();
  await pace.counted('a', async () => {
    for (let n = 0; n < 3; n++) {
      await Promise.resolve();
      noteChannelCall();
    }
  });
  t.is(pace.allowance('a'), 3);
  await pace.counted('b', async () => {});
  await pace.book(tx, new Map([['b', 2]]));
  t.is(pace.allowance('b'), 4);
  await t.throwsAsync(
    pace.counted('b', async () => {
      noteChannelCall();
      noteChannelCall();
      throw new Error('on purpose');
    }),
  );
  t.is(pace.allowance('b'), 3);
});

test('a lane at its rate claims nothing that would wait, and holds up no other', async (t) => {
  const { clock, all } = paces(100);
  const fake = fakeRows([...rowsOf(60, 'a'), ...rowsOf(3, 'b')]);
  const worked: string[] = [];
  const kind = {
    name: 'thing',
    rows: fake.rows,
    run: async (id: string) => {
      noteChannelCall();
      worked.push(id);
      // The clock of the bookings goes on with the work, so it does not matter how fast the test is.
      clock.ms += 10;
    },
    width: 64,
    laneWidth: 64,
    asksChannel: true,
  };
  const workers = createWorkers(kind, {
    store: fake.store,
    now: () => new Date(clock.ms),
    log: () => {},
    pace: all[0]!,
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
