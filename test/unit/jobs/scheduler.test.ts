import test, { type ExecutionContext } from 'ava';
import { createScheduler, type SchedulerParts } from '../../../server/jobs/scheduler.ts';
import { fakeRows, rowsOf } from './due-rows.ts';
import { createClock, until } from '../../support/service.ts';

function schedulerOf(t: ExecutionContext, run: (id: string) => Promise<unknown>, more: Partial<SchedulerParts> = {}) {
  const fake = fakeRows();
  const logged: string[] = [];
  const worked: [string, boolean][] = [];
  let looks = 0;
  const scheduler = createScheduler({
    store: fake.store,
    now: createClock().now,
    log: (_, message) => void logged.push(message),
    kinds: [{ name: 'thing', wokenBy: 'made', rows: fake.rows, run, concurrency: 8, queueConcurrency: 4 }],
    tasks: [],
    lookForDue: async () => [fake.due.length > 0 ? 1 : undefined],
    takeTask: async () => false,
    planTask: async () => {},
    worked: (kind, failed) => void worked.push([kind, failed]),
    looked: () => void (looks += 1),
    lookMs: 2,
    ...more,
  });
  t.teardown(() => scheduler.stop(0));
  return { scheduler, fake, logged, worked, looks: () => looks };
}

test('due rows are found by looking, whether they became due before or after the start', async (t) => {
  const { scheduler, fake, worked } = schedulerOf(t, async () => {});
  fake.due = rowsOf(3, 'a');
  scheduler.start();
  await until('the first three', async () => worked.length === 3);
  fake.due = rowsOf(2, 'a');
  await until('two more', async () => worked.length === 5);
  t.deepEqual(new Set(worked.map(([kind, failed]) => `${kind} ${failed}`)), new Set(['thing false']));
});

test('a look reports the lag of each kind: the age of its oldest row, none when nothing is due, never below zero', async (t) => {
  const found = [12.5, undefined, -1];
  const told: Record<string, number>[] = [];
  const { scheduler } = schedulerOf(t, async () => {}, {
    lookForDue: async () => [found[Math.min(told.length, 2)]],
    looked: (lags) => void told.push(lags),
  });
  scheduler.start();
  await until('three looks', async () => told.length >= 3);
  t.deepEqual(told.slice(0, 3), [{ thing: 12.5 }, { thing: 0 }, { thing: 0 }]);
});

test('a commit wakes the scheduler by row id without a look, and does nothing before the start', async (t) => {
  const ids: string[] = [];
  const { scheduler, fake } = schedulerOf(t, async (id) => void ids.push(id), { lookForDue: async () => [undefined] });
  fake.due = rowsOf(4, 'a');
  scheduler.wake('made', { orderNo: 'a-0' });
  t.is(fake.claims.length, 0);
  scheduler.start();
  scheduler.wake('made', { orderNo: 'a-3' });
  scheduler.wake('something else', { orderNo: 'a-1' });
  await until('worked', async () => ids.length === 1);
  t.deepEqual(ids, ['a-3']);
});

test('a database outage is logged once, and so is its end', async (t) => {
  let away = true;
  let tries = 0;
  const { scheduler, logged, looks } = schedulerOf(t, async () => {}, {
    lookForDue: async () => {
      tries += 1;
      if (away) throw new Error('away');
      return [undefined];
    },
  });
  scheduler.start();
  await until('some looks', async () => tries > 5);
  t.is(looks(), 0);
  away = false;
  await until('a look', async () => looks() > 2);
  t.deepEqual(logged, ['jobs could not look for due rows', 'jobs look for due rows again']);
});

test('a stop waits for running work, and for a hanging worker only until the deadline', async (t) => {
  const gates = new Map<string, PromiseWithResolvers<void>>();
  const { scheduler, fake, logged, worked, looks } = schedulerOf(t, (id) => {
    const gate = Promise.withResolvers<void>();
    gates.set(id, gate);
    return gate.promise;
  });
  fake.due = rowsOf(2, 'a');
  scheduler.start();
  await until('both are under way', async () => scheduler.busy()['thing'] === 2);
  const stopping = scheduler.stop(100);
  gates.get('a-0')!.resolve();
  await stopping;
  t.is(worked.length, 1);
  t.deepEqual(logged, ['stopped before every job had ended; unfinished jobs resume when their leases expire']);
  const seen = looks();
  fake.due = rowsOf(1, 'a');
  gates.get('a-1')!.resolve();
  await scheduler.stop(60_000);
  t.is(looks(), seen);
  t.is(fake.due.length, 1);
});
