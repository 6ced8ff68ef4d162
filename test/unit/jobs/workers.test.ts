import test from 'ava';
import fc from 'fast-check';
import type { DueKind } from '../../../server/jobs/queues.ts';
import { createWorkers } from '../../../server/jobs/workers.ts';
import { type FakeRows, fakeRows, rowsOf } from './due-rows.ts';
import { until } from '../../support/service.ts';

function workersOf(
  fake: FakeRows,
  run: DueKind['run'],
  { concurrency = 8, queueConcurrency = 4, logged = [] as string[] } = {},
) {
  const kind = { name: 'thing', rows: fake.rows, run, concurrency, queueConcurrency };
  const log = (_: string, message: string) => void logged.push(message);
  return createWorkers(kind, { store: fake.store, now: () => new Date(0), log, gatherMs: 0 });
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('every row is worked once, within the concurrency of its queue, and of the kind plus half', async (t) => {
  const plan = fc.record({
    queues: fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 60 }),
    concurrency: fc.integer({ min: 1, max: 9 }),
    queueConcurrency: fc.integer({ min: 1, max: 9 }),
    turns: fc.array(fc.nat(4), { minLength: 1, maxLength: 7 }),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ queues, concurrency, queueConcurrency, turns }) => {
      const fake = fakeRows(queues.map((queueKey, at) => ({ id: `${queueKey}-${at}`, queueKey })));
      const underWay: string[] = [];
      const worked: string[] = [];
      const workers = workersOf(
        fake,
        async (id) => {
          underWay.push(id);
          t.true(underWay.length <= concurrency + Math.ceil(concurrency / 2));
          t.true(underWay.filter((other) => other[0] === id[0]).length <= queueConcurrency);
          for (let n = turns[underWay.length % turns.length]!; n > 0; n--) await turn();
          underWay.splice(underWay.indexOf(id), 1);
          worked.push(id);
        },
        { concurrency, queueConcurrency },
      );
      t.is(await workers.drain(), queues.length);
      t.deepEqual(worked.toSorted(), queues.map((queueKey, at) => `${queueKey}-${at}`).toSorted());
    }),
    { numRuns: 60 },
  );
});

test('a queue that never finishes delays only its own rows', async (t) => {
  const fake = fakeRows([...rowsOf(50, 'silent'), ...rowsOf(50, 'quick')]);
  const silence = Promise.withResolvers<void>();
  const worked: string[] = [];
  const workers = workersOf(fake, async (id) => {
    if (id.startsWith('silent')) await silence.promise;
    await turn();
    worked.push(id);
  });
  workers.wake();
  await until('the other lane is done', async () => worked.length === 50);
  t.true(worked.every((id) => id.startsWith('quick')));
  t.is(workers.busy, 4);
  silence.resolve();
  await until('everything is done', async () => worked.length === 100);
});

test('a full queue resumes while another one is still silent', async (t) => {
  const fake = fakeRows([...rowsOf(20, 'silent'), ...rowsOf(20, 'slow')]);
  const silence = Promise.withResolvers<void>();
  const gates: (() => void)[] = [];
  const workers = workersOf(fake, async (id) => {
    await (id.startsWith('silent') ? silence.promise : new Promise<void>((resolve) => gates.push(resolve)));
  });
  workers.wake();
  for (let ended = 0; ended < 20; ended++) {
    await until('a slow row is under way', async () => gates.length > 0);
    gates.shift()!();
  }
  await until('the slow lane is done', async () => workers.busy < 8 && gates.length === 0);
  t.is(fake.due.filter(({ queueKey }) => queueKey === 'slow').length, 0);
  silence.resolve();
  await workers.stop();
});

test('a named row is worked before the backlog of its queue, and the backlog continues', async (t) => {
  const fake = fakeRows([...rowsOf(500, 'a'), { id: 'a-new', queueKey: 'a' }]);
  const worked: string[] = [];
  const workers = workersOf(fake, async (id) => {
    await turn();
    worked.push(id);
  });
  workers.wake();
  workers.wake('a-new');
  await until('everything is done', async () => worked.length === 501);
  t.true(worked.indexOf('a-new') < 20, String(worked.indexOf('a-new')));
});

test('a wake during a look is not lost', async (t) => {
  const fake = fakeRows();
  const worked: string[] = [];
  const workers = workersOf(fake, async (id) => void worked.push(id));
  fake.beforeAnswer = () => {
    fake.beforeAnswer = () => {};
    fake.due.push({ id: 'late', queueKey: 'a' });
    workers.wake();
  };
  workers.wake();
  await until('the late row is worked', async () => worked.length === 1);
  t.deepEqual(worked, ['late']);
});

test('a row named during a look is not lost', async (t) => {
  const fake = fakeRows();
  const worked: string[] = [];
  const workers = workersOf(fake, async (id) => void worked.push(id));
  const looked = Promise.withResolvers<void>();
  fake.beforeAnswer = () => {
    fake.beforeAnswer = () => {};
    fake.due.push({ id: 'named', queueKey: 'a' });
    workers.wake('named');
    looked.resolve();
  };
  workers.wake();
  await looked.promise;
  for (let n = 0; n < 20 && worked.length === 0; n++) await turn();
  t.deepEqual(worked, ['named']);
});

test('a drain works a row again if it becomes due again', async (t) => {
  const fake = fakeRows([{ id: 'again', queueKey: 'a' }]);
  let times = 0;
  const workers = workersOf(fake, async (id) => {
    times += 1;
    if (times < 3) fake.due.push({ id, queueKey: 'a' });
  });
  t.is(await workers.drain(), 3);
});

test('a failure is logged: a failed row does not stop the others, and a failed claim ends only the current drain', async (t) => {
  const fake = fakeRows(rowsOf(5, 'a'));
  const logged: string[] = [];
  const worked: string[] = [];
  const workers = workersOf(
    fake,
    async (id) => {
      worked.push(id);
      if (id === 'a-1') throw new Error('on purpose');
    },
    { logged },
  );
  fake.beforeAnswer = () => Promise.reject(new Error('no database'));
  await t.throwsAsync(workers.drain(), { message: 'no database' });
  fake.beforeAnswer = () => {};
  fake.due = rowsOf(5, 'a');
  t.is(await workers.drain(), 5);
  t.deepEqual(worked.toSorted(), ['a-0', 'a-1', 'a-2', 'a-3', 'a-4']);
  t.deepEqual(logged, ['due rows could not be claimed', 'a due row could not be handled']);
});

test('after a stop no new row is claimed, and running work is awaited', async (t) => {
  const fake = fakeRows(rowsOf(20, 'a', 'b'));
  const gate = Promise.withResolvers<void>();
  const workers = workersOf(fake, () => gate.promise);
  workers.wake();
  await until('all hands are busy', async () => workers.busy === 8);
  const stopped = workers.stop();
  gate.resolve();
  await stopped;
  t.is(workers.busy, 0);
  t.is(fake.due.length, 32);
  workers.wake();
  t.is(await workers.drain(), 0);
  t.is(fake.due.length, 32);
});
