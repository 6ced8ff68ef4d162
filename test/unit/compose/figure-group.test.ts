import test from 'ava';
import { Registry } from 'prom-client';
import { type FigurePorts, figureGroup } from '../../../server/compose/database-figures.ts';
import type { Store } from '../../../server/db/store.ts';

/** A group of two metrics over a controllable database. */
function stage(more: Partial<FigurePorts<number>> = {}) {
  const registry = new Registry();
  const answered: boolean[] = [];
  const database = { reads: 0, answer: (): Promise<number> => Promise.resolve(7) };
  const store = { read: () => ((database.reads += 1), database.answer()) } as unknown as Pick<Store, 'read'>;
  const group = figureGroup<number>({
    store,
    registry,
    read: async () => 0,
    answered: (isAnswered) => void answered.push(isAnswered),
    show(found) {
      one.set({ kind: 'a' }, found);
      two.set({ kind: 'a' }, found * 2);
    },
    ...more,
  });
  const one = group.gauge({ name: 'one', help: 'One.', labelNames: ['kind'] });
  const two = group.gauge({ name: 'two', help: 'Two.', labelNames: ['kind'] });
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => /^\w/.test(line));
  return { database, answered, lines };
}

test('a group is read once for all its metrics and cached for a while', async (t) => {
  const { database, answered, lines } = stage();
  t.deepEqual(await lines(), ['one{kind="a"} 7', 'two{kind="a"} 14']);
  database.answer = () => Promise.resolve(8);
  t.deepEqual(await lines(), ['one{kind="a"} 7', 'two{kind="a"} 14']);
  t.is(database.reads, 1);
  t.deepEqual(answered, [true]);
});

test('an expired group is read again, once for concurrent scrapes', async (t) => {
  const { database, lines } = stage({ everyMs: 0 });
  await lines();
  database.answer = () => Promise.resolve(8);
  t.deepEqual(await Promise.all([lines(), lines()]), Array(2).fill(['one{kind="a"} 8', 'two{kind="a"} 16']));
  t.is(database.reads, 2);
});

test('the metrics are absent during a database failure and return afterwards', async (t) => {
  const { database, answered, lines } = stage({ everyMs: 0 });
  await lines();
  database.answer = () => Promise.reject(new Error('gone'));
  t.deepEqual(await lines(), []);
  database.answer = () => Promise.resolve(9);
  t.deepEqual(await lines(), ['one{kind="a"} 9', 'two{kind="a"} 18']);
  t.deepEqual(answered, [true, false, true]);
});

test('a scrape does not wait for a silent database, and the next one returns the late result', async (t) => {
  const { database, answered, lines } = stage({ patienceMs: 1 });
  const late = Promise.withResolvers<number>();
  database.answer = () => late.promise;
  t.deepEqual(await lines(), []);
  t.true(answered.length > 0 && !answered.includes(true));
  t.deepEqual(await lines(), []);
  t.is(database.reads, 1, 'it is not asked again while it is silent');
  late.resolve(5);
  await late.promise;
  t.deepEqual(await lines(), ['one{kind="a"} 5', 'two{kind="a"} 10']);
});
