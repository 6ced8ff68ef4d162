import test from 'ava';
import { Lanes, placesOfAccounts, placesOfReceivers } from '../../../server/jobs/lanes.ts';

const SECOND = 1000;
/** Channels of several accounts each, as the service has them: a lane is named by both. */
const channels = placesOfAccounts({ perAccount: 4, perChannel: 8 });

/** What may begin, as numbers by lane; it begins. */
function beginAll(lanes: Lanes, now: number) {
  const { rooms } = lanes.rooms(now);
  const places = [...rooms].flatMap(([lane, room]) => Array.from({ length: room }, () => lanes.begin(lane, now)));
  return { rooms: Object.fromEntries(rooms), places };
}

const named = (channel: string, n: number) => Array.from({ length: n }, (_, at) => `${channel} ${at}`);
const sum = (rooms: Record<string, number>) => Object.values(rooms).reduce((all, room) => all + room, 0);

test('places are given in turns, no more than a lane, its group and all together have', (t) => {
  const lanes = new Lanes(channels);
  lanes.found(['a 1']);
  t.deepEqual(beginAll(lanes, 0).rooms, { 'a 1': 4 });
  lanes.found(['a 1', 'a 2', 'a 3', 'a 4', 'b 1']);
  t.deepEqual(beginAll(lanes, 0).rooms, { 'a 2': 2, 'a 3': 1, 'a 4': 1, 'b 1': 4 });
  t.deepEqual(beginAll(lanes, 0).rooms, {});
  t.is(lanes.underWay, 12);
  lanes.exhausted('a 1');
  t.deepEqual(lanes.tally(0), [
    { group: 'a', state: 'full', count: 3 },
    { group: 'b', state: 'full', count: 1 },
  ]);
});

test('who got a place goes behind those who wait', (t) => {
  const lanes = new Lanes({ width: 2, laneWidth: 2 });
  lanes.found(['a', 'b', 'c']);
  const first = beginAll(lanes, 0);
  t.deepEqual(first.rooms, { a: 1, b: 1 });
  for (const place of first.places) lanes.end(place, 1);
  t.deepEqual(beginAll(lanes, 1).rooms, { c: 1, a: 1 });
});

test('a channel that is silent with any number of accounts takes no place of another one', (t) => {
  const lanes = new Lanes(channels);
  lanes.found(named('a', 40));
  t.is(sum(beginAll(lanes, 0).rooms), 8);
  lanes.found(named('b', 2));
  t.deepEqual(beginAll(lanes, 0).rooms, { 'b 0': 4, 'b 1': 4 });
});

test('accounts that are silent share one half of their channel; the others have the rest, and all of it when nobody is', (t) => {
  const lanes = new Lanes(channels);
  lanes.found(named('a', 2));
  const { places } = beginAll(lanes, 0);
  lanes.found(['a quick']);
  t.deepEqual(beginAll(lanes, 3 * SECOND).rooms, {}, 'nobody can tell yet');
  const now = 3 * SECOND + 1;
  t.deepEqual(lanes.tally(now), [
    { group: 'a', state: 'held', count: 2 },
    { group: 'a', state: 'full', count: 2 },
  ]);
  const quick = beginAll(lanes, now);
  t.deepEqual(quick.rooms, { 'a quick': 4 });
  for (const place of quick.places) lanes.end(place, now + 50);
  // The silent calls are given up; again their lanes may have four places, not eight.
  for (const place of places) lanes.end(place, 10 * SECOND);
  lanes.found([...named('a', 2), 'a quick']);
  const after = beginAll(lanes, 10 * SECOND);
  t.deepEqual(after.rooms, { 'a 0': 2, 'a 1': 2, 'a quick': 4 });
  // They answer again, so they are as all others.
  for (const place of after.places) lanes.end(place, 11 * SECOND);
  lanes.exhausted('a quick');
  t.deepEqual(beginAll(lanes, 11 * SECOND).rooms, { 'a 0': 4, 'a 1': 4 });
});

test('however many accounts were silent, one that answers finds room; and a silent one is tried again', (t) => {
  const lanes = new Lanes(channels);
  let now = 0;
  for (let round = 0; round < 12; round++) {
    lanes.found(named('a', 40));
    const { places } = beginAll(lanes, now);
    now += 6 * SECOND;
    for (const place of places) lanes.end(place, now);
  }
  lanes.found([...named('a', 40), 'a quick']);
  const { rooms } = beginAll(lanes, now);
  t.is(rooms['a quick'], 4);
  t.is(sum(rooms), 12, 'eight are tried, each with one');
});

test('an account that has answered lately never waits for those that are tried for the first time', (t) => {
  const lanes = new Lanes(channels);
  lanes.end(lanes.begin('a quick', 0), 50);
  lanes.found(named('a', 100));
  t.is(sum(beginAll(lanes, SECOND).rooms), 8);
  lanes.found(['a quick']);
  t.deepEqual(beginAll(lanes, SECOND).rooms, { 'a quick': 4 });
});

test('a slow account is tried again although silent ones fill the half that it is in', (t) => {
  const lanes = new Lanes(channels);
  lanes.end(lanes.begin('a slow', 0), 4 * SECOND);
  lanes.found(['a silent']);
  beginAll(lanes, 4 * SECOND);
  const now = 8 * SECOND;
  lanes.found(['a slow']);
  const { rooms, places } = beginAll(lanes, now);
  t.deepEqual(rooms, { 'a slow': 1 });
  lanes.end(places[0]!, now + SECOND);
  t.deepEqual(beginAll(lanes, now + SECOND).rooms, { 'a slow': 4 });
});

test('how a lane was is forgotten when nothing of it was under way for ten minutes', (t) => {
  const lanes = new Lanes(channels);
  lanes.end(lanes.begin('a 0', 0), 4 * SECOND);
  const held = () => lanes.tally(700 * SECOND).length;
  lanes.tidy(604 * SECOND);
  t.is(held(), 1);
  lanes.tidy(604 * SECOND + 1);
  t.is(held(), 0);
});

test('what a commit has just made due may take half as many places more', (t) => {
  const lanes = new Lanes(channels);
  lanes.found(named('a', 2));
  beginAll(lanes, 0);
  const { POSITIVE_INFINITY: any } = Number;
  t.deepEqual(lanes.reserve(0), { limit: any, fullLanes: [], fullGroups: [] });
  for (let n = 0; n < 2; n++) lanes.begin('a 0', 0);
  t.deepEqual(lanes.reserve(0), { limit: any, fullLanes: ['a 0'], fullGroups: [] });
  for (let n = 0; n < 2; n++) lanes.begin('a 1', 0);
  t.deepEqual(lanes.reserve(0).fullGroups, ['a']);
});

test('a lane may be given no more than its allowance, and it is told who could begin more', (t) => {
  const lanes = new Lanes(channels);
  lanes.found(['a 0', 'a 1', 'b 0']);
  const allowances: Record<string, number> = { 'a 0': 1, 'a 1': 0 };
  const { rooms, limited } = lanes.rooms(0, (lane) => allowances[lane] ?? 9);
  t.deepEqual(Object.fromEntries(rooms), { 'a 0': 1, 'b 0': 4 });
  t.deepEqual([...limited], ['a 1', 'a 0']);
});

test('deliveries of an application, and those to a receiver, are bounded across the other; dead receivers take one half', (t) => {
  const lanes = new Lanes(placesOfReceivers(8));
  const now = 10 * SECOND;
  lanes.found(['app_a //dead', 'app_b //dead', 'app_a //shop', 'app_c //shop']);
  const { rooms, places } = beginAll(lanes, 0);
  const to = (word: string) =>
    Object.entries(rooms).reduce((all, [lane, room]) => all + (lane.split(' ').includes(word) ? room : 0), 0);
  t.deepEqual([to('//dead'), to('//shop'), to('app_a')], [8, 8, 8]);
  t.is(lanes.reserve(0).limit, 144 - 16);
  for (const place of places) lanes.end(place, now);
  // Twelve hosts that do not answer would have all places by now.
  for (let n = 0; n < 24; n++) for (let m = 0; m < 8; m++) lanes.begin(`app_x${n} //dead-${n}`, 0);
  lanes.found(['app_c //quick']);
  t.deepEqual(beginAll(lanes, now).rooms, { 'app_c //quick': 8 });
});

test('a receiver that is dead has no more places, however many applications send to it and however long it takes', (t) => {
  const lanes = new Lanes(placesOfReceivers(8));
  let now = 0;
  for (let n = 0; n < 40; n++) {
    lanes.found([`app_${n} //dead`]);
    beginAll(lanes, now);
    now += 4 * SECOND;
  }
  t.is(lanes.underWay, 8);
});

test('a group of one place is tried although nobody answers there', (t) => {
  const lanes = new Lanes({ width: 1, laneWidth: 1 });
  lanes.found(['a', 'b']);
  const [place] = beginAll(lanes, 0).places;
  lanes.end(place!, 10 * SECOND);
  t.deepEqual(beginAll(lanes, 10 * SECOND).rooms, { b: 1 });
});
