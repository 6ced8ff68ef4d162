import test from 'ava';
import {
  connectWithin,
  outsideRequestTime,
  RequestTime,
  requestTime,
  withinRequestTime,
} from '../../../server/db/pool.ts';

/** A silent database: each statement takes its full time limit. */
function blackHole(total: number, own: number) {
  let at = 0;
  let asked = 0;
  const time = new RequestTime(total, () => at);
  const ask = (text: string) => {
    const given = Math.min(own, time.leftFor(text));
    time.startWaiting();
    asked += given;
    at += given;
    time.stopWaiting();
  };
  return { time, ask, pass: (ms: number) => void (at += ms), asked: () => asked };
}

test('the total wait of a request for a silent database is limited', (t) => {
  const { ask, asked } = blackHole(5000, 4000);
  for (const text of ['begin', 'select 1', 'rollback']) ask(text);
  t.is(asked(), 5000);
  const many = blackHole(5000, 4000);
  for (let round = 0; round < 20; round += 1) many.ask('select 1');
  t.is(many.asked(), 4500, 'and there is always time to end a transaction');
  t.is(many.time.leftFor('COMMIT'), 500);
  t.is(many.time.leftFor('commitment'), 0);
});

test('channel time is not counted, and parallel waits count once', (t) => {
  const { ask, pass, time } = blackHole(5000, 1000);
  ask('select 1');
  pass(60_000);
  t.is(time.left(), 3500);
  time.startWaiting();
  ask('select 1');
  time.startWaiting();
  time.stopWaiting();
  time.stopWaiting();
  t.is(time.left(), 2500);
});

test('background work of a request has its own time limit', async (t) => {
  const time = new RequestTime(5000, () => 0);
  let later: RequestTime | undefined;
  await withinRequestTime(time, async () => {
    t.is(requestTime(), time);
    outsideRequestTime(() => t.is(requestTime(), undefined));
    later = requestTime();
  });
  t.is(later?.left(), Number.POSITIVE_INFINITY);
  t.is(requestTime(), undefined);
});

test('a connection that arrives after the timeout returns to the pool', async (t) => {
  const connecting = Promise.withResolvers<unknown>();
  const released = Promise.withResolvers<void>();
  const pool = { connect: () => connecting.promise };
  const asked = connectWithin(pool as unknown as Parameters<typeof connectWithin>[0], 0);
  await t.throwsAsync(asked, { message: 'timeout exceeded when trying to connect' });
  connecting.resolve({ release: released.resolve });
  await t.notThrowsAsync(released.promise);
});
