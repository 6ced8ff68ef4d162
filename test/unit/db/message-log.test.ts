import test from 'ava';
import { createMessageLog } from '../../../server/db/message-log.ts';
import type { NewMessage } from '../../../server/db/queries/messages.ts';

const at = (seconds: number) => new Date(Date.UTC(2030, 0, 1, 0, 0, seconds));

function message(orderNo: string, seconds = 0, over: Partial<NewMessage> = {}): NewMessage {
  const facts = { payWay: 'alipay', direction: 'out', refundNo: null, status: 200, durationMs: 5, note: null } as const;
  return { ...facts, orderNo, call: 'create', request: '{}', answer: `{"n":${seconds}}`, at: at(seconds), ...over };
}

const query = (orderNo: string, seconds: number, answer = 'WAIT', over: Partial<NewMessage> = {}) =>
  message(orderNo, seconds, { call: 'query', answer, ...over });

/** A log over a database that responds on request. */
function stage() {
  const open: { batch: NewMessage[]; done: () => void; fail: (error: Error) => void }[] = [];
  const written: NewMessage[][] = [];
  const dropped: number[] = [];
  const failures: unknown[] = [];
  let most = 0;
  const log = createMessageLog({
    write(batch) {
      written.push([...batch]);
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      open.push({ batch: [...batch], done: resolve, fail: reject });
      most = Math.max(most, open.length);
      return promise.finally(() => open.shift());
    },
    failed: (error) => void failures.push(error),
    dropped: (count) => void dropped.push(count),
  });
  /** Lets pending callbacks run. */
  const turn = () => new Promise<void>((resolve) => void setImmediate(resolve));
  const answer = async () => {
    open[0]?.done();
    await turn();
  };
  const answerAll = async () => {
    while (open.length > 0) await answer();
  };
  return { log, open, written, dropped, failures, turn, answer, answerAll, most: () => most };
}

test('messages that arrive during a write are stored by the next one', async (t) => {
  const { log, written, answer, answerAll, most } = stage();
  log.record(message('P0'));
  const flushed = log.flush();
  for (let n = 1; n <= 50; n += 1) {
    log.record(message(`P${n}`));
    void log.flush();
  }
  t.is(written.length, 1);
  await answer();
  t.is(written.length, 2, 'fifty batches are one');
  t.is(written[1]?.length, 50);
  await answerAll();
  await flushed;
  t.is(most(), 1, 'never two at once');
});

test('waiting messages are written in statements of at most 300 rows and a megabyte of text', async (t) => {
  const { log, written, answerAll } = stage();
  for (let n = 0; n < 700; n += 1) log.record(message(`P${n}`));
  for (let n = 0; n < 40; n += 1) log.record(message(`Q${n}`, 0, { answer: 'x'.repeat(100_000) }));
  const flushed = log.flush();
  await answerAll();
  await flushed;
  t.is(written.flat().length, 740);
  for (const batch of written) {
    t.true(batch.length <= 300);
    t.true(batch.reduce((sum, { answer }) => sum + (answer?.length ?? 0), 0) <= 1024 * 1024);
  }
});

test('a message beyond the size limit is dropped, counted and marked at its order, and later messages are stored again', async (t) => {
  const { log, written, dropped, answerAll } = stage();
  log.record(message('P0'));
  const flushed = log.flush();
  const large = (n: number) => message('P1', n, { call: `call${n}`, answer: 'x'.repeat(1024 * 1024) });
  for (let n = 1; n <= 20; n += 1) log.record(large(n));
  log.record(message('P2', 30));
  await answerAll();
  await flushed;
  const rows = written.flat();
  const kept = rows.filter(({ answer }) => (answer?.length ?? 0) > 1000);
  t.is(kept.length, 15, 'sixteen megabytes');
  t.is(
    dropped.reduce((sum, n) => sum + n, 0),
    5,
  );
  t.like(
    rows.find(({ call }) => call === 'missing'),
    { orderNo: 'P1', call: 'missing', request: null, answer: null, times: 5, at: at(16), lastAt: at(20) },
    'one mark for one gap',
  );
  t.true(
    rows.some(({ orderNo, call }) => orderNo === 'P2' && call === 'create'),
    'a small one had still room',
  );
  log.record(large(40));
  const again = log.flush();
  await answerAll();
  await again;
  t.is(written.at(-1)?.[0]?.call, 'call40');
});

test('a failed write drops its messages and leaves a mark, which the next write stores', async (t) => {
  const { log, open, written, dropped, failures, turn, answerAll } = stage();
  log.record(message('P1', 1));
  log.record(message('P1', 2));
  log.record(message('P2', 3));
  const failing = log.flush();
  open[0]?.fail(new Error('gone'));
  await failing;
  await turn();
  t.is(failures.length, 1);
  t.deepEqual(dropped, [3]);
  const flushed = log.flush();
  open[0]?.fail(new Error('still gone'));
  await flushed;
  t.deepEqual(dropped, [3], 'a mark that waits longer is no other message');
  log.record(message('P3', 4));
  const closed = log.close();
  await answerAll();
  await closed;
  t.deepEqual(
    written.at(-1)?.map(({ orderNo, call, times }) => [orderNo, call, times]),
    [
      ['P1', 'missing', 2],
      ['P2', 'missing', 1],
      ['P3', 'create', 1],
    ],
  );
});

test('an identical query and response increments a count, but another response, order, refund or call does not', async (t) => {
  const { log, written, answerAll } = stage();
  const asked = [
    query('P1', 1),
    query('P1', 2, 'WAIT', { durationMs: 9 }),
    query('P2', 3),
    message('P1', 4),
    query('P1', 5),
    query('P1', 6, 'PAID'),
    query('P1', 7),
    query('P1', 8, 'WAIT', { refundNo: 'R1' }),
    query('P1', 9, 'WAIT', { status: 500 }),
    message('P1', 4),
  ];
  for (const one of asked) log.record(one);
  const flushed = log.flush();
  await answerAll();
  await flushed;
  t.deepEqual(
    written.flat().map(({ call, orderNo, answer, times, lastAt }) => [orderNo, call, answer, times, lastAt]),
    [
      ['P1', 'query', 'WAIT', 3, at(5)],
      ['P2', 'query', 'WAIT', 1, null],
      ['P1', 'create', '{"n":4}', 1, null],
      ['P1', 'query', 'PAID', 1, null],
      ['P1', 'query', 'WAIT', 1, null],
      ['P1', 'query', 'WAIT', 1, null],
      ['P1', 'query', 'WAIT', 1, null],
      ['P1', 'create', '{"n":4}', 1, null],
    ],
  );
});

test('characters that a column cannot store are replaced', async (t) => {
  const { log, written, answerAll } = stage();
  log.record(message('P1', 1, { answer: `a\0b\uD800c` }));
  const flushed = log.flush();
  await answerAll();
  await flushed;
  t.is(written[0]?.[0]?.answer, 'a\uFFFDb\uFFFDc');
});
