import test from 'ava';
import { ROOT_CONTEXT, context } from '@opentelemetry/api';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { batchedRead } from '../../../server/db/batched-reads.ts';
import { RequestTime, requestTime, TIMED_OUT, withinRequestTime } from '../../../server/db/pool.ts';
import { beginWork, currentWork } from '../../../server/work.ts';

interface Row {
  id: string;
  at: Date;
  amount: bigint;
  nested: { list: { n: number }[]; byName: Map<string, { n: number }> };
}

const rowOf = (id: string): Row => ({
  id,
  at: new Date(1),
  amount: 12n,
  nested: { list: [{ n: 1 }], byName: new Map([['a', { n: 1 }]]) },
});

const rowsOf = (ids: readonly string[]) => new Map(ids.filter((id) => id !== 'none').map((id) => [id, rowOf(id)]));

/** A read that records the keys of each statement; `answer` may fail or wait. */
function recorded(answer: (ids: readonly string[]) => unknown = () => {}) {
  const sent: string[][] = [];
  const read = batchedRead<string, Row>({
    idOf: String,
    async read(ids) {
      sent.push([...ids]);
      await answer(ids);
      return rowsOf(ids);
    },
  });
  return { sent, read };
}

const TOTAL = 10_000;

/** Runs one request with a time limit of its own. */
function asked<T>(work: () => Promise<T>, time = new RequestTime(TOTAL, () => 0)): Promise<T> {
  return withinRequestTime(time, work);
}

const names = (n: number) => Array.from({ length: n }, (_, index) => `k${index}`);

test('requests of one turn share one statement, and each gets its own row', async (t) => {
  const { sent, read } = recorded();
  const ids = ['b', 'none', 'a', 'c'];
  const rows = await Promise.all(ids.map((id) => asked(() => read(id))));
  t.deepEqual(sent, [ids]);
  t.deepEqual(
    rows.map((row) => row?.id),
    ['b', undefined, 'a', 'c'],
  );
});

test('100 requests share a statement, and further ones share the next', async (t) => {
  const { sent, read } = recorded();
  const rows = await Promise.all(names(250).map((id) => asked(() => read(id))));
  t.deepEqual(
    sent.map(({ length }) => length),
    [100, 100, 50],
  );
  t.deepEqual(
    rows.map((row) => row?.id),
    names(250),
  );
});

test('a request never joins a statement that was sent, and no row is kept for a later request', async (t) => {
  const gate = Promise.withResolvers<void>();
  let statements = 0;
  const { sent, read } = recorded(() => ((statements += 1) === 1 ? gate.promise : undefined));
  const first = asked(() => read('first'));
  await nextTurn();
  await nextTurn();
  t.deepEqual(sent, [['first']], 'it was sent');
  const later = asked(() => read('first'));
  const other = await asked(() => read('other'));
  t.is(other?.id, 'other', 'a running statement delays nobody');
  gate.resolve();
  await Promise.all([first, later]);
  await asked(() => read('first'));
  t.deepEqual(sent.flat().toSorted(), ['first', 'first', 'first', 'other']);
});

/** A time limit of which this part (0 to 1) is used. */
function usedTime(part: number, total = TOTAL): RequestTime {
  let now = 0;
  const time = new RequestTime(total, () => now);
  time.startWaiting();
  now = part * time.left();
  time.stopWaiting();
  return time;
}

test('work outside a request, or without time left, reads alone', async (t) => {
  const { sent, read } = recorded();
  const rows = await Promise.all([
    asked(() => read('a')),
    read('without'),
    asked(() => read('none left'), usedTime(1)),
    asked(() => read('used'), usedTime(0.5)),
  ]);
  t.deepEqual(
    rows.map((row) => row?.id),
    ['a', 'without', 'none left', 'used'],
  );
  t.deepEqual(sent.toSorted().map(String), ['a,used', 'none left', 'without']);
});

test('the shared statement may run as long as the request with the most time left', async (t) => {
  const left: (number | undefined)[] = [];
  const { read } = recorded(() => left.push(requestTime()?.left()));
  const fresh = usedTime(0.05);
  const longest = fresh.left();
  await Promise.all([usedTime(0.5), fresh, usedTime(0.9)].map((time, at) => asked(() => read(`k${at}`), time)));
  t.deepEqual(left, [longest]);
});

test('a request whose time ends fails alone, and the others wait for the shared statement', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { sent, read } = recorded(() => gate.promise);
  const late = asked(() => read('late'), usedTime(0.9, 510));
  const other = asked(() => read('other'));
  await t.throwsAsync(late, { message: TIMED_OUT });
  gate.resolve();
  t.is((await other)?.id, 'other');
  t.deepEqual(sent, [['late', 'other']]);
});

test('the time that a request waits for a shared statement is counted once, and ends with the statement', async (t) => {
  let now = 0;
  const { read } = recorded(() => void (now += 3000));
  const times = [1, 2].map(() => new RequestTime(TOTAL, () => now));
  const before = times[0]!.left();
  await Promise.all(
    times.map((time) =>
      asked(async () => {
        await Promise.all([read('a'), read('b')]);
        t.is(before - time.left(), 3000);
        now += 500;
        t.is(before - time.left(), 3000, 'nothing is waited for any more');
        now -= 500;
      }, time),
    ),
  );
});

test('a shared statement runs without the time limit, log context, trace and storage of the first request', async (t) => {
  const own = new AsyncLocalStorage<string>();
  const seen: unknown[] = [];
  const times = [new RequestTime(TOTAL, () => 0), new RequestTime(TOTAL, () => 0)];
  const { read } = recorded(() => {
    seen.push({ work: { ...currentWork() }, own: own.getStore(), trace: context.active() === ROOT_CONTEXT });
    const time = requestTime();
    seen.push(time !== undefined && !times.includes(time) && time.left() === times[1]!.left());
  });
  await Promise.all(
    times.map((time, at) =>
      own.run(`request ${at}`, () =>
        beginWork({ requestId: `r${at}` }, () =>
          asked(async () => {
            await read(`k${at}`);
            t.is(requestTime(), time, 'the request goes on within its own time limit');
            t.is(currentWork().requestId, `r${at}`);
            t.is(own.getStore(), `request ${at}`);
          }, time),
        ),
      ),
    ),
  );
  t.deepEqual(seen, [{ work: {}, own: undefined, trace: true }, true]);
});

test('the first request may end before the shared statement, and its end does not end the time limit of the statement', async (t) => {
  const gate = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<RequestTime | undefined>();
  const { read } = recorded(async () => {
    sent.resolve(requestTime());
    await gate.promise;
  });
  // As `readAhead` does for a caller who is refused.
  const ended = asked(async () => void read('first'));
  const second = asked(() => read('second'));
  await ended;
  const time = await sent.promise;
  t.true(Number.isFinite(time?.left()));
  gate.resolve();
  t.is((await second)?.id, 'second');
  t.is(time?.left(), Number.POSITIVE_INFINITY, 'the time limit ends with the statement');
});

test('a value that PostgreSQL rejects fails only the request that sent it', async (t) => {
  const fault = Object.assign(new Error('invalid byte sequence'), { code: '22021' });
  const { sent, read } = recorded((ids) => {
    if (ids.includes('bad')) throw fault;
  });
  const results = await Promise.allSettled(['a', 'bad', 'b'].map((id) => asked(() => read(id))));
  t.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value?.id : result.reason)),
    ['a', fault, 'b'],
  );
  t.deepEqual(sent, [['a', 'bad', 'b'], ['a'], ['bad'], ['b']]);
});

test('a shared statement is repeated once after a lost connection, and never after its time has ended', async (t) => {
  let failures = 1;
  const lost = recorded(() => {
    if (failures-- > 0) throw new Error('Connection terminated unexpectedly');
  });
  const ids = ['a', 'b', 'c'];
  const rows = await Promise.all(ids.map((id) => asked(() => lost.read(id))));
  t.deepEqual(
    rows.map((row) => row?.id),
    ids,
  );
  t.deepEqual(lost.sent, [ids, ids]);
  const late = recorded(() => {
    throw new Error(TIMED_OUT);
  });
  const results = await Promise.allSettled(ids.map((id) => asked(() => late.read(id))));
  t.true(results.every(({ status }) => status === 'rejected'));
  t.deepEqual(late.sent, [ids]);
});

test('a request that is alone in its batch is not read twice after a failure', async (t) => {
  const { sent, read } = recorded(() => {
    throw new Error('gone');
  });
  await t.throwsAsync(
    asked(() => read('a')),
    { message: 'gone' },
  );
  t.deepEqual(sent, [['a']]);
});

test('a failed statement is no reason for the next request to fail', async (t) => {
  let isDown = true;
  const { read } = recorded(() => {
    if (isDown) throw new Error('gone');
  });
  const results = await Promise.allSettled(names(3).map((id) => asked(() => read(id))));
  t.true(results.every(({ status }) => status === 'rejected'));
  isDown = false;
  t.is((await asked(() => read('a')))?.id, 'a');
});

test('requests for one row never get the same object, at any depth', async (t) => {
  const { read } = recorded();
  const ids = ['a', 'b', 'a', 'a'];
  const rows = (await Promise.all(ids.map((id) => asked(() => read(id))))) as Row[];
  for (const [at, row] of rows.entries()) {
    t.deepEqual(row, rowOf(ids[at]!));
    // Each request changes its row after the others received theirs.
    row.at.setTime(at + 100);
    row.nested.list[0]!.n = at;
    row.nested.list.push({ n: at });
    row.nested.byName.get('a')!.n = at;
    row.nested.byName.set(`of ${at}`, { n: at });
  }
  for (const [at, row] of rows.entries()) {
    const byName = new Map([
      ['a', { n: at }],
      [`of ${at}`, { n: at }],
    ]);
    t.deepEqual(row, { ...rowOf(ids[at]!), at: new Date(at + 100), nested: { list: [{ n: at }, { n: at }], byName } });
  }
});

test('work that goes on after the response has no time limit of its request', async (t) => {
  const gate = Promise.withResolvers<void>();
  const { read } = recorded(() => gate.promise);
  const time = new RequestTime(TOTAL);
  time.end();
  const reading = asked(() => read('a'), time);
  // Longer than the shortest timer of Node.
  const timer = Promise.withResolvers<void>();
  setTimeout(timer.resolve, 2);
  await timer.promise;
  gate.resolve();
  t.is((await reading)?.id, 'a');
});
