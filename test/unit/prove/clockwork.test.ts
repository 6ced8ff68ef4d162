import test from 'ava';
import { setTimeout as pause } from 'node:timers/promises';
import { createChance } from '../../prove/chance.ts';
import { Clockwork } from '../../prove/seeds/clockwork.ts';
import { createFates } from '../../prove/seeds/fates.ts';

test('events happen at their time, and simultaneous events in the order of scheduling', async (t) => {
  const chance = createChance(7);
  const told: string[] = [];
  const clockwork = new Clockwork(1_000, (label) => void told.push(String(label)));
  const wished = Array.from({ length: 500 }, (_, at) => ({ moment: 1_000 + chance.whole(0, 60), label: String(at) }));
  for (const { moment, label } of wished) clockwork.at(moment, label, () => {});
  await clockwork.runUntil(1_030);
  const isNow = ({ moment }: { moment: number }) => moment <= 1_030;
  t.is(told.length, wished.filter(isNow).length);
  await clockwork.runUntil(Infinity);
  t.deepEqual(
    told,
    wished.toSorted((a, b) => a.moment - b.moment).map(({ label }) => label),
  );
  t.is(clockwork.now, Math.max(...wished.map(({ moment }) => moment)));
  t.is(clockwork.next, undefined);
});

test('an event of a dead process or a cancelled event does not happen, and no event happens while another one runs', async (t) => {
  const told: string[] = [];
  const clockwork = new Clockwork(0, (label) => void told.push(String(label)));
  const life = { dead: false };
  clockwork.at(1, 'slow', async () => {
    await pause(20);
    told.push('and over');
  });
  clockwork.at(2, 'dies', () => void (life.dead = true));
  clockwork.at(3, 'never', () => {}, life);
  clockwork.at(4, 'taken back', () => {})();
  clockwork.at(5, 'last', () => {});
  await clockwork.runUntil(10);
  t.deepEqual(told, ['slow', 'and over', 'dies', 'last']);
});

test('the fate of a name does not depend on other draws, and is the default one in calm weather or when spared', (t) => {
  const weights = [
    ['well', 1],
    ['badly', 1],
  ] as const;
  const names = Array.from({ length: 200 }, (_, at) => `step ${at}`);
  const fates = createFates(5);
  const drawn = names.map((name) => fates.draw(name, weights));
  t.deepEqual(
    names.toReversed().map((name) => createFates(5).draw(name, weights)),
    drawn.toReversed(),
  );
  t.notDeepEqual(
    names.map((name) => createFates(6).draw(name, weights)),
    drawn,
  );
  const bad = names.filter((_name, at) => drawn[at] === 'badly');
  t.true(bad.length > 60 && bad.length < 140, String(bad.length));
  t.deepEqual([...fates.struck.keys()], bad);
  const spared = createFates(5, new Set(bad.slice(1)));
  t.deepEqual(
    names.filter((name) => spared.draw(name, weights) === 'badly'),
    bad.slice(0, 1),
  );
  fates.calm();
  t.true(names.every((name) => fates.draw(name, weights) === 'well'));
});
