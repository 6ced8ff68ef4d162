import test from 'ava';
import type { Store, Tx } from '../../../server/db/store.ts';
import { createReporter } from '../../../server/live/process.ts';
import { fakeSql } from '../../support/fake-sql.ts';

function reporterOver(fails = false) {
  const written: { followed: unknown }[] = [];
  const warned: string[] = [];
  const removed: unknown[] = [];
  let elapsed = 0;
  const tx = {
    sql: fakeSql((_, values) => {
      if (fails) throw new Error('away');
      written.push({ followed: values[6] });
      return [];
    }),
    replicas: { delete: async (where: unknown) => void removed.push(where) },
  } as unknown as Tx;
  const reporter = createReporter(
    {
      store: { autocommit: (work) => work(tx) } as Pick<Store, 'autocommit'> as Store,
      log: (_level, message) => void warned.push(message),
      process: { id: 'p-1', host: 'h', pid: 1, worker: null, version: '1', startedAt: new Date() },
      measure: () => ({
        loopDelayMs: { p99: 0, max: 0 },
        cpu: 0,
        memoryBytes: 0,
        seconds: 1,
        channels: [],
        underWay: {},
      }),
    },
    2000,
    () => elapsed,
  );
  return { reporter, written, warned, removed, pass: (ms: number) => void (elapsed += ms) };
}

test('a process reports at most every two seconds, and reports its followers', async (t) => {
  const { reporter, written, removed, pass } = reporterOver();
  for (let look = 0; look < 10; look++) {
    await reporter.report();
    await reporter.report();
    pass(1000);
  }
  t.deepEqual(written, Array(5).fill({ followed: null }));
  reporter.followedHere = true;
  pass(1000);
  await reporter.report();
  t.deepEqual(written.at(-1), { followed: 10 });
  await reporter.leave();
  t.deepEqual(removed, [{ id: 'p-1' }]);
  pass(10_000);
  await reporter.report();
  t.is(written.length, 6, 'who has left is not there again');
});

test('a process that never reported deletes nothing, and a database outage is logged once', async (t) => {
  const quiet = reporterOver();
  await quiet.reporter.leave();
  t.deepEqual(quiet.removed, []);
  const { reporter, warned, pass } = reporterOver(true);
  for (let look = 0; look < 3; look++) {
    await reporter.report();
    pass(2000);
  }
  t.is(warned.length, 1);
});
