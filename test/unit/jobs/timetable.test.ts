import test from 'ava';
import { createTimetable, type Task } from '../../../server/jobs/timetable.ts';
import { fakeRows } from './due-rows.ts';

/** Timetables of several replicas on one clock and one table. */
function replicas(tasks: readonly Task[], n: number) {
  let time = 0;
  const now = () => new Date(time);
  const advance = (seconds: number) => void (time += seconds * 1000);
  const due = new Map<string, Date>();
  const logged: string[] = [];
  const ports = {
    store: fakeRows().store,
    now,
    log: (_: string, message: string) => void logged.push(message),
    takeTask: async (_: unknown, task: string, at: Date, leasedUntil: Date) => {
      if ((due.get(task) ?? at) > at) return false;
      due.set(task, leasedUntil);
      return true;
    },
    planTask: async (_: unknown, task: string, at: Date) => void due.set(task, at),
  };
  const tables = Array.from({ length: n }, () => createTimetable(tasks, ports));
  const look = async () => {
    for (const table of tables) table.look();
    await Promise.all(tables.map((table) => table.idle()));
  };
  return { look, advance, logged, tables };
}

test('a task runs at the start and then once per period, on one of the replicas', async (t) => {
  let times = 0;
  const { look, advance } = replicas([{ name: 'tidy', everySeconds: 3600, run: async () => void (times += 1) }], 3);
  for (const [seconds, expected] of [
    [0, 1],
    [3500, 1],
    [101, 2],
    [60, 2],
    [7200, 3],
  ] as const) {
    advance(seconds);
    await look();
    t.is(times, expected, `after ${seconds} s more`);
  }
});

test('a failed task is logged and retried after ten minutes, and the other tasks still run', async (t) => {
  const done: string[] = [];
  const failing = async () => {
    done.push('bad');
    if (done.filter((name) => name === 'bad').length === 1) throw new Error('on purpose');
  };
  const { look, advance, logged } = replicas(
    [
      { name: 'bad', everySeconds: 86_400, run: failing },
      { name: 'good', everySeconds: 86_400, run: async () => void done.push('good') },
    ],
    2,
  );
  await look();
  t.deepEqual(done.toSorted(), ['bad', 'good']);
  t.deepEqual(logged, ['a task failed']);
  advance(590);
  await look();
  t.is(done.length, 2);
  advance(80);
  await look();
  t.deepEqual(done.toSorted(), ['bad', 'bad', 'good']);
  advance(3600);
  await look();
  t.is(done.length, 3);
});

test('a task of a dead replica is run by another replica', async (t) => {
  let times = 0;
  const run = async () => {
    times += 1;
    if (times === 1) await new Promise(() => {});
  };
  const { tables, advance } = replicas([{ name: 'tidy', everySeconds: 3600, run }], 2);
  const [dead, other] = tables;
  dead!.look();
  other!.look();
  await other!.idle();
  t.is(times, 1);
  advance(661);
  other!.look();
  await other!.idle();
  t.is(times, 2);
});

test('a long task is notified when its replica stops, and is due again afterwards', async (t) => {
  let parts = 0;
  const part = Promise.withResolvers<void>();
  const run = async (goesOn: () => boolean) => {
    do {
      parts += 1;
      await part.promise;
    } while (goesOn() && parts < 5);
  };
  const { tables, advance, look } = replicas([{ name: 'tidy', everySeconds: 3600, run }], 2);
  tables[0]!.look();
  const stopped = tables[0]!.stop();
  part.resolve();
  await stopped;
  t.is(parts, 1);
  advance(661);
  await look();
  t.is(parts, 5);
});
