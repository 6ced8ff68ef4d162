import test from 'ava';
import { aheadOf, DatabaseClock } from '../../../server/db/clock.ts';

function stage() {
  const machine = { wall: 1_000_000_000, steady: 50 };
  const clock = new DatabaseClock(
    () => machine.wall,
    () => machine.steady,
  );
  /** Feeds a database time (ms) whose response took `took` ms. */
  const hear = (time: number | undefined, took = 2) =>
    clock.measure(
      async () => {
        machine.steady += took;
        machine.wall += took;
      },
      () => time && time / 1000,
    );
  const pass = (ms: number): void => {
    machine.steady += ms;
    machine.wall += ms;
  };
  return { machine, clock, hear, pass };
}

test('a synchronized machine keeps its own clock, to the millisecond', async (t) => {
  const { machine, clock, hear } = stage();
  t.is(clock.time(), machine.wall, 'before the first answer');
  await hear(machine.wall + 900);
  t.is(clock.time(), machine.wall);
});

test('a machine clock that is hours off is replaced by the database clock, which advances between responses', async (t) => {
  for (const wrong of [3, -3]) {
    const { machine, clock, hear, pass } = stage();
    const right = machine.wall - wrong * 3_600_000;
    await hear(right + 1);
    t.is(clock.time(), right + 2);
    pass(10_000);
    t.deepEqual(clock.now(), new Date(right + 10_002));
  }
});

test('a machine clock that jumps between two responses does not move the time', async (t) => {
  const { machine, clock, hear, pass } = stage();
  const start = machine.wall;
  await hear(machine.wall + 1);
  machine.wall += 7_200_000;
  pass(500);
  t.is(clock.time(), start + 502);
});

test('a slow response counts only as the first one, and only beyond its uncertainty', async (t) => {
  const { machine, clock, hear } = stage();
  await hear(machine.wall + 10_000, 30_000);
  t.is(clock.time(), machine.wall, 'fifteen seconds may be the way of the answer');
  await hear(machine.wall - 3_600_000, 2);
  const right = clock.time();
  t.is(right, machine.wall - 3_600_000 - 1);
  await hear(machine.wall, 5_000);
  t.is(clock.time(), right + 5_000);
  await hear(undefined);
  t.is(clock.time(), right + 5_002, 'an answer without a time says nothing');
});

test('an instant is a whole number of milliseconds, as database columns store it', async (t) => {
  const { machine, clock, hear } = stage();
  await hear(machine.wall - 3_600_000.4567);
  t.true(Number.isInteger(clock.time()));
});

test('a query that waited for a connection and a slow response do not make a clock look wrong', (t) => {
  const asked = 1_000_000_000;
  for (const [took, told, ahead] of [
    [0, asked, 0],
    [60_000, asked + 60_000, 0],
    [60_000, asked, 0],
    [4, asked - 60_000, 60_000],
    [4, asked + 60_000, -59_996],
    [60_000, asked - 30_000, 30_000],
    [60_000, asked + 90_000, -30_000],
  ] as const)
    t.is(
      aheadOf({ sentAt: asked, theirs: told, receivedAt: asked + took }),
      ahead,
      `told ${told - asked} after, took ${took}`,
    );
});
