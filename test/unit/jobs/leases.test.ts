import test from 'ava';
import type { Renewal, Renewed } from '../../../server/db/queries/due.ts';
import { createLeases } from '../../../server/jobs/workers.ts';
import { createScheduler } from '../../../server/jobs/scheduler.ts';
import { fakeRows, rowsOf } from './due-rows.ts';
import { createClock, until } from '../../support/service.ts';

const SECOND = 1000;

/** Leases of one kind on a clock that starts at 0; `answer` decides the result of each renewal. */
function leases(answer: (renewal: Renewal) => Renewed[]) {
  const clock = { ms: 0 };
  const asked: Renewal[] = [];
  const logged: string[] = [];
  let lost = 0;
  const { rows, store } = fakeRows();
  rows.renew = async (_, renewal) => {
    asked.push({ ...renewal, rows: renewal.rows.map((row) => ({ ...row })) });
    return answer(renewal);
  };
  const kept = createLeases(
    { name: 'thing', rows },
    {
      store,
      now: () => new Date(clock.ms),
      log: (_, message) => void logged.push(message),
      leaseLost: () => void (lost += 1),
    },
  );
  const hold = (id: string) => kept.hold({ id, queueKey: 'a', lease: new Date(clock.ms + 60 * SECOND) });
  return { clock, asked, logged, lost: () => lost, kept, hold };
}

const renewAll = ({ now, rows }: Renewal): Renewed[] =>
  rows.map(() => ({ kind: 'renewed', lease: new Date(now.getTime() + 60 * SECOND) }));

test('all leases are renewed in one statement once one has half of its time left', async (t) => {
  const { clock, asked, kept, hold } = leases(renewAll);
  hold('old');
  clock.ms += 20 * SECOND;
  hold('young');
  kept.drop(hold('over'));
  await kept.renew();
  t.is(asked.length, 0);
  clock.ms += 10 * SECOND;
  await kept.renew();
  t.deepEqual(
    asked.map(({ rows }) => rows.map(({ id, lease }) => [id, lease.getTime() / SECOND])),
    [
      [
        ['old', 60],
        ['young', 80],
      ],
    ],
  );
  clock.ms += 29 * SECOND;
  await kept.renew();
  t.is(asked.length, 1);
  clock.ms += SECOND;
  await kept.renew();
  t.deepEqual(
    asked[1]?.rows.map(({ lease }) => lease.getTime() / SECOND),
    [90, 90],
  );
});

test('a row replanned by its own work is dropped, a locked row is renewed again, and a lost row is logged once', async (t) => {
  const became: Record<string, Renewed> = {
    planned: { kind: 'over' },
    locked: { kind: 'busy' },
    taken: { kind: 'lost' },
    twice: { kind: 'lost' },
  };
  const { clock, asked, logged, lost, kept, hold } = leases(({ rows }) => rows.map(({ id }) => became[id]!));
  for (const id of ['planned', 'locked', 'taken', 'twice', 'twice']) hold(id);
  clock.ms += 30 * SECOND;
  await kept.renew();
  t.is(lost(), 1, 'what this replica has claimed once more itself is not lost');
  t.deepEqual(logged, ['another replica has claimed a row that is still being processed here']);
  await kept.renew();
  t.deepEqual(
    asked.map(({ rows }) => rows.map(({ id }) => id)),
    [['planned', 'locked', 'taken', 'twice', 'twice'], ['locked']],
  );
});

test('a database outage is logged once, and renewals resume after it', async (t) => {
  let away = true;
  const { clock, asked, logged, kept, hold } = leases((renewal) => {
    if (away) throw new Error('away');
    return renewAll(renewal);
  });
  hold('one');
  clock.ms += 30 * SECOND;
  for (let n = 0; n < 3; n++) await kept.renew();
  t.is(asked.length, 3);
  t.deepEqual(logged, ['leases of due rows could not be renewed']);
  away = false;
  await kept.renew();
  await kept.renew();
  t.is(asked.length, 4);
});

test('a scheduler renews leases while it runs and while it stops, and not afterwards', async (t) => {
  const fake = fakeRows(rowsOf(1, 'a'));
  const clock = createClock();
  let renewals = 0;
  fake.rows.renew = async (_, renewal) => {
    renewals += 1;
    return renewAll(renewal);
  };
  const { claim } = fake.rows;
  fake.rows.claim = async (...asked) =>
    (await claim(...asked)).map((row) => ({ ...row, lease: new Date(clock.now().getTime() + 60 * SECOND) }));
  const gate = Promise.withResolvers<void>();
  const scheduler = createScheduler({
    store: fake.store,
    now: clock.now,
    log: () => {},
    kinds: [{ name: 'thing', rows: fake.rows, run: () => gate.promise, concurrency: 8, queueConcurrency: 4 }],
    tasks: [],
    lookForDue: async () => [fake.due.length > 0 ? 1 : undefined],
    takeTask: async () => false,
    planTask: async () => {},
    lookMs: 2,
  });
  scheduler.start();
  await until('it is under way', async () => scheduler.busy()['thing'] === 1);
  t.is(renewals, 0);
  clock.advance(31);
  await until('it is renewed', async () => renewals === 1);
  const stopping = scheduler.stop(60_000);
  clock.advance(31);
  await until('it is renewed while the scheduler stops', async () => renewals === 2);
  gate.resolve();
  await stopping;
  clock.advance(31);
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.is(renewals, 2);
});
