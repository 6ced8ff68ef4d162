import test from 'ava';
import { Queues, concurrencyOfAccounts, concurrencyOfReceivers } from '../../../server/jobs/queues.ts';

const SECOND = 1000;
/** Channels with several accounts each; a queue is named by both. */
const channels = concurrencyOfAccounts({ perAccount: 4, perChannel: 8 });

/** Starts all rows that may start and returns their number by queue. */
function beginAll(queues: Queues, now: number) {
  const { capacity } = queues.capacity(now);
  const slots = [...capacity].flatMap(([queueKey, room]) =>
    Array.from({ length: room }, () => queues.begin(queueKey, now)),
  );
  return { capacity: Object.fromEntries(capacity), slots };
}

const named = (channel: string, n: number) => Array.from({ length: n }, (_, at) => `${channel} ${at}`);
const sum = (capacity: Record<string, number>) => Object.values(capacity).reduce((all, room) => all + room, 0);

test('slots are given in turns, within the limits of the queue, its group and the total', (t) => {
  const queues = new Queues(channels);
  queues.found(['a 1']);
  t.deepEqual(beginAll(queues, 0).capacity, { 'a 1': 4 });
  queues.found(['a 1', 'a 2', 'a 3', 'a 4', 'b 1']);
  t.deepEqual(beginAll(queues, 0).capacity, { 'a 2': 2, 'a 3': 1, 'a 4': 1, 'b 1': 4 });
  t.deepEqual(beginAll(queues, 0).capacity, {});
  t.is(queues.underWay, 12);
  queues.exhausted('a 1');
  t.deepEqual(queues.tally(0), [
    { group: 'a', state: 'full', count: 3 },
    { group: 'b', state: 'full', count: 1 },
  ]);
});

test('a queue that got a slot goes behind the waiting queues', (t) => {
  const queues = new Queues({ concurrency: 2, queueConcurrency: 2 });
  queues.found(['a', 'b', 'c']);
  const first = beginAll(queues, 0);
  t.deepEqual(first.capacity, { a: 1, b: 1 });
  for (const slot of first.slots) queues.end(slot, 1);
  t.deepEqual(beginAll(queues, 1).capacity, { c: 1, a: 1 });
});

test('a silent channel with many accounts takes no slot of another channel', (t) => {
  const queues = new Queues(channels);
  queues.found(named('a', 40));
  t.is(sum(beginAll(queues, 0).capacity), 8);
  queues.found(named('b', 2));
  t.deepEqual(beginAll(queues, 0).capacity, { 'b 0': 4, 'b 1': 4 });
});

test('silent accounts share one half of their channel, and the responding accounts get all of it once no account is silent', (t) => {
  const queues = new Queues(channels);
  queues.found(named('a', 2));
  const { slots } = beginAll(queues, 0);
  queues.found(['a quick']);
  t.deepEqual(beginAll(queues, 3 * SECOND).capacity, {}, 'nobody can tell yet');
  const now = 3 * SECOND + 1;
  t.deepEqual(queues.tally(now), [
    { group: 'a', state: 'held', count: 2 },
    { group: 'a', state: 'full', count: 2 },
  ]);
  const quick = beginAll(queues, now);
  t.deepEqual(quick.capacity, { 'a quick': 4 });
  for (const slot of quick.slots) queues.end(slot, now + 50);
  // The silent calls time out; their queues may have four slots again, not eight.
  for (const slot of slots) queues.end(slot, 10 * SECOND);
  queues.found([...named('a', 2), 'a quick']);
  const after = beginAll(queues, 10 * SECOND);
  t.deepEqual(after.capacity, { 'a 0': 2, 'a 1': 2, 'a quick': 4 });
  // They respond again and count as normal queues.
  for (const slot of after.slots) queues.end(slot, 11 * SECOND);
  queues.exhausted('a quick');
  t.deepEqual(beginAll(queues, 11 * SECOND).capacity, { 'a 0': 4, 'a 1': 4 });
});

test('a responding account always finds a slot however many are silent, and a silent account is retried', (t) => {
  const queues = new Queues(channels);
  let now = 0;
  for (let round = 0; round < 12; round++) {
    queues.found(named('a', 40));
    const { slots } = beginAll(queues, now);
    now += 6 * SECOND;
    for (const slot of slots) queues.end(slot, now);
  }
  queues.found([...named('a', 40), 'a quick']);
  const { capacity } = beginAll(queues, now);
  t.is(capacity['a quick'], 4);
  t.is(sum(capacity), 12, 'eight are tried, each with one');
});

test('an account that responded recently never waits for accounts that are tried for the first time', (t) => {
  const queues = new Queues(channels);
  queues.end(queues.begin('a quick', 0), 50);
  queues.found(named('a', 100));
  t.is(sum(beginAll(queues, SECOND).capacity), 8);
  queues.found(['a quick']);
  t.deepEqual(beginAll(queues, SECOND).capacity, { 'a quick': 4 });
});

test('a slow account is retried even if silent accounts fill its half', (t) => {
  const queues = new Queues(channels);
  queues.end(queues.begin('a slow', 0), 4 * SECOND);
  queues.found(['a silent']);
  beginAll(queues, 4 * SECOND);
  const now = 8 * SECOND;
  queues.found(['a slow']);
  const { capacity, slots } = beginAll(queues, now);
  t.deepEqual(capacity, { 'a slow': 1 });
  queues.end(slots[0]!, now + SECOND);
  t.deepEqual(beginAll(queues, now + SECOND).capacity, { 'a slow': 4 });
});

test('the state of a queue is dropped after ten minutes without work', (t) => {
  const queues = new Queues(channels);
  queues.end(queues.begin('a 0', 0), 4 * SECOND);
  const held = () => queues.tally(700 * SECOND).length;
  queues.tidy(604 * SECOND);
  t.is(held(), 1);
  queues.tidy(604 * SECOND + 1);
  t.is(held(), 0);
});

test('rows made due by a commit may use half as many slots more', (t) => {
  const queues = new Queues(channels);
  queues.found(named('a', 2));
  beginAll(queues, 0);
  const { POSITIVE_INFINITY: any } = Number;
  t.deepEqual(queues.reserve(0), { limit: any, fullQueues: [], fullGroups: [] });
  for (let n = 0; n < 2; n++) queues.begin('a 0', 0);
  t.deepEqual(queues.reserve(0), { limit: any, fullQueues: ['a 0'], fullGroups: [] });
  for (let n = 0; n < 2; n++) queues.begin('a 1', 0);
  t.deepEqual(queues.reserve(0).fullGroups, ['a']);
});

test('a queue gets no more than its allowance, and the limited queues are reported', (t) => {
  const queues = new Queues(channels);
  queues.found(['a 0', 'a 1', 'b 0']);
  const allowances: Record<string, number> = { 'a 0': 1, 'a 1': 0 };
  const { capacity, limited } = queues.capacity(0, (queueKey) => allowances[queueKey] ?? 9);
  t.deepEqual(Object.fromEntries(capacity), { 'a 0': 1, 'b 0': 4 });
  t.deepEqual([...limited], ['a 1', 'a 0']);
});

test('deliveries are limited both by application and by receiver, and silent receivers share one half', (t) => {
  const queues = new Queues(concurrencyOfReceivers(8));
  const now = 10 * SECOND;
  queues.found(['app_a //dead', 'app_b //dead', 'app_a //shop', 'app_c //shop']);
  const { capacity, slots } = beginAll(queues, 0);
  const to = (word: string) =>
    Object.entries(capacity).reduce(
      (all, [queueKey, room]) => all + (queueKey.split(' ').includes(word) ? room : 0),
      0,
    );
  t.deepEqual([to('//dead'), to('//shop'), to('app_a')], [8, 8, 8]);
  t.is(queues.reserve(0).limit, 144 - 16);
  for (const slot of slots) queues.end(slot, now);
  // Without the limit twelve silent hosts would hold all slots by now.
  for (let n = 0; n < 24; n++) for (let m = 0; m < 8; m++) queues.begin(`app_x${n} //dead-${n}`, 0);
  queues.found(['app_c //quick']);
  t.deepEqual(beginAll(queues, now).capacity, { 'app_c //quick': 8 });
});

test('a silent receiver gets no more slots, however many applications send to it', (t) => {
  const queues = new Queues(concurrencyOfReceivers(8));
  let now = 0;
  for (let n = 0; n < 40; n++) {
    queues.found([`app_${n} //dead`]);
    beginAll(queues, now);
    now += 4 * SECOND;
  }
  t.is(queues.underWay, 8);
});

test('a group with one slot is retried although it is silent', (t) => {
  const queues = new Queues({ concurrency: 1, queueConcurrency: 1 });
  queues.found(['a', 'b']);
  const [slot] = beginAll(queues, 0).slots;
  queues.end(slot!, 10 * SECOND);
  t.deepEqual(beginAll(queues, 10 * SECOND).capacity, { b: 1 });
});
