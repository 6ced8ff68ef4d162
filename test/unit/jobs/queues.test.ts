import test from 'ava';
import { Queues, concurrencyOfAccounts, concurrencyOfReceivers } from '../../../server/jobs/queues.ts';

const SECOND = 1000;
/** Channels of several accounts each, as the service has them: a lane is named by both. */
const channels = concurrencyOfAccounts({ perAccount: 4, perChannel: 8 });

/** What may begin, as numbers by lane; it begins. */
function beginAll(queues: Queues, now: number) {
  const { capacity } = queues.capacity(now);
  const slots = [...capacity].flatMap(([queueKey, room]) =>
    Array.from({ length: room }, () => queues.begin(queueKey, now)),
  );
  return { capacity: Object.fromEntries(capacity), slots };
}

const named = (channel: string, n: number) => Array.from({ length: n }, (_, at) => `${channel} ${at}`);
const sum = (capacity: Record<string, number>) => Object.values(capacity).reduce((all, room) => all + room, 0);

test('places are given in turns, no more than a lane, its group and all together have', (t) => {
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

test('who got a place goes behind those who wait', (t) => {
  const queues = new Queues({ concurrency: 2, queueConcurrency: 2 });
  queues.found(['a', 'b', 'c']);
  const first = beginAll(queues, 0);
  t.deepEqual(first.capacity, { a: 1, b: 1 });
  for (const slot of first.slots) queues.end(slot, 1);
  t.deepEqual(beginAll(queues, 1).capacity, { c: 1, a: 1 });
});

test('a channel that is silent with any number of accounts takes no place of another one', (t) => {
  const queues = new Queues(channels);
  queues.found(named('a', 40));
  t.is(sum(beginAll(queues, 0).capacity), 8);
  queues.found(named('b', 2));
  t.deepEqual(beginAll(queues, 0).capacity, { 'b 0': 4, 'b 1': 4 });
});

test('accounts that are silent share one half of their channel; the others have the rest, and all of it when nobody is', (t) => {
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
  // The silent calls are given up; again their lanes may have four places, not eight.
  for (const slot of slots) queues.end(slot, 10 * SECOND);
  queues.found([...named('a', 2), 'a quick']);
  const after = beginAll(queues, 10 * SECOND);
  t.deepEqual(after.capacity, { 'a 0': 2, 'a 1': 2, 'a quick': 4 });
  // They answer again, so they are as all others.
  for (const slot of after.slots) queues.end(slot, 11 * SECOND);
  queues.exhausted('a quick');
  t.deepEqual(beginAll(queues, 11 * SECOND).capacity, { 'a 0': 4, 'a 1': 4 });
});

test('however many accounts were silent, one that answers finds room; and a silent one is tried again', (t) => {
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

test('an account that has answered lately never waits for those that are tried for the first time', (t) => {
  const queues = new Queues(channels);
  queues.end(queues.begin('a quick', 0), 50);
  queues.found(named('a', 100));
  t.is(sum(beginAll(queues, SECOND).capacity), 8);
  queues.found(['a quick']);
  t.deepEqual(beginAll(queues, SECOND).capacity, { 'a quick': 4 });
});

test('a slow account is tried again although silent ones fill the half that it is in', (t) => {
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

test('how a lane was is forgotten when nothing of it was under way for ten minutes', (t) => {
  const queues = new Queues(channels);
  queues.end(queues.begin('a 0', 0), 4 * SECOND);
  const held = () => queues.tally(700 * SECOND).length;
  queues.tidy(604 * SECOND);
  t.is(held(), 1);
  queues.tidy(604 * SECOND + 1);
  t.is(held(), 0);
});

test('what a commit has just made due may take half as many places more', (t) => {
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

test('a lane may be given no more than its allowance, and it is told who could begin more', (t) => {
  const queues = new Queues(channels);
  queues.found(['a 0', 'a 1', 'b 0']);
  const allowances: Record<string, number> = { 'a 0': 1, 'a 1': 0 };
  const { capacity, limited } = queues.capacity(0, (queueKey) => allowances[queueKey] ?? 9);
  t.deepEqual(Object.fromEntries(capacity), { 'a 0': 1, 'b 0': 4 });
  t.deepEqual([...limited], ['a 1', 'a 0']);
});

test('deliveries of an application, and those to a receiver, are bounded across the other; dead receivers take one half', (t) => {
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
  // Twelve hosts that do not answer would have all places by now.
  for (let n = 0; n < 24; n++) for (let m = 0; m < 8; m++) queues.begin(`app_x${n} //dead-${n}`, 0);
  queues.found(['app_c //quick']);
  t.deepEqual(beginAll(queues, now).capacity, { 'app_c //quick': 8 });
});

test('a receiver that is dead has no more places, however many applications send to it and however long it takes', (t) => {
  const queues = new Queues(concurrencyOfReceivers(8));
  let now = 0;
  for (let n = 0; n < 40; n++) {
    queues.found([`app_${n} //dead`]);
    beginAll(queues, now);
    now += 4 * SECOND;
  }
  t.is(queues.underWay, 8);
});

test('a group of one place is tried although nobody answers there', (t) => {
  const queues = new Queues({ concurrency: 1, queueConcurrency: 1 });
  queues.found(['a', 'b']);
  const [slot] = beginAll(queues, 0).slots;
  queues.end(slot!, 10 * SECOND);
  t.deepEqual(beginAll(queues, 10 * SECOND).capacity, { b: 1 });
});
