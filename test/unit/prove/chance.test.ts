import test from 'ava';
import fc from 'fast-check';
import { createChance } from '../../prove/chance.ts';

const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });

test('a seed repeats its random sequence, and a fork has a sequence of its own', (t) => {
  fc.assert(
    fc.property(seeds, (seed) => {
      const [one, other] = [createChance(seed), createChance(seed)];
      const draw = (chance: typeof one) => Array.from({ length: 20 }, () => chance.next());
      t.deepEqual(draw(one), draw(other));
      const [forked, again] = [one.fork(), other.fork()];
      draw(forked);
      t.deepEqual(draw(one), draw(other), 'the haste of a fork changes nothing');
      t.notDeepEqual(draw(again), draw(one));
    }),
  );
});

test('whole numbers stay within their bounds and reach both', (t) => {
  const chance = createChance(1);
  const drawn = Array.from({ length: 1000 }, () => chance.whole(3, 7));
  t.deepEqual([...new Set(drawn)].toSorted(), [3, 4, 5, 6, 7]);
});

test('an option with weight zero is never chosen, and the others are chosen by weight', (t) => {
  const chance = createChance(2);
  const drawn = Array.from({ length: 4000 }, () => chance.weighted({ never: 0, seldom: 1, often: 3 }));
  const count = (name: string) => drawn.filter((one) => one === name).length;
  t.is(count('never'), 0);
  t.true(count('seldom') > 800 && count('seldom') < 1200, String(count('seldom')));
});
