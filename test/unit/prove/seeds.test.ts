import test from 'ava';
import { PAY_WAYS } from '../../../server/domain.ts';
import { runMany } from '../../prove/seeds/many.ts';
import type { SeedResult, WorkOrder } from '../../prove/seeds/work-order.ts';

/** Few and small; `npm run prove -- --seeds 1..1000` runs many. */
const SMALL = { on: 'memory', seeds: [1, 2, 3, 4], orders: 12 } as const;

async function run(order: WorkOrder, threads = 1): Promise<SeedResult[]> {
  const results: SeedResult[] = [];
  await runMany(order, threads, (one) => void results.push(one));
  return results;
}

/** The first of these seeds with the fault; later ones are needed only if a plan came out differently. */
async function firstOf(
  seeds: readonly number[],
  order: Omit<WorkOrder, 'seeds'>,
  shows: (result: SeedResult) => unknown,
): Promise<SeedResult | undefined> {
  for (const seed of seeds) {
    const [result] = await run({ ...order, seeds: [seed] });
    if (shows(result!)) return result;
  }
  return undefined;
}

test('the same seeds give the same worlds in every thread, without faults', async (t) => {
  const first = await run(SMALL);
  for (const { seed, wrong } of first) t.deepEqual(wrong, [], `seed ${seed}`);
  t.is(new Set(first.map(({ hash }) => hash)).size, first.length);
  const sum = (name: 'calls' | 'transactions' | 'notices' | 'refunds') =>
    first.reduce((all, { counts }) => all + counts[name], 0);
  t.true(sum('calls') > 300 && sum('transactions') > 1_000 && sum('notices') > 20 && sum('refunds') > 8);
  for (const payWay of PAY_WAYS)
    t.true(
      first.some(({ paid }) => paid[payWay]),
      `${payWay} pays in none of the worlds`,
    );
  const struck = new Set(first.flatMap((one) => one.struck.map(([, fate]) => fate)));
  for (const fate of ['lost', 'unheard', 'undone', 'query-lag', 'slow']) t.true(struck.has(fate), fate);
  const hashes = (results: readonly SeedResult[]) => results.map(({ seed, hash }) => [seed, hash]);
  t.deepEqual(hashes(await run({ ...SMALL, seeds: SMALL.seeds.toReversed() }, 2)).toReversed(), hashes(first));
});

test('a world on the embedded database equals the world in memory', async (t) => {
  // A world with refunds, deaths and an exception that the service does not query for weeks.
  const order = { ...SMALL, seeds: [34], orders: 5 };
  const [memory] = await run(order);
  const [pglite] = await run({ ...order, on: 'pglite' });
  t.deepEqual(pglite!.wrong, []);
  t.true(memory!.counts.refunds > 1 && memory!.counts.listed > 0 && memory!.counts.deaths > 0);
  t.deepEqual(pglite!.counts, memory!.counts);
  t.is(pglite!.hash, memory!.hash);
});

test('a service that gives each refund attempt a new number is found, and the shortened story reproduces it', async (t) => {
  const order = { ...SMALL, orders: 25, planted: 'each try has its own number' } as const;
  const { seed, wrong, shrunk } = (await firstOf([2, 1], order, (one) => one.shrunk)) ?? t.fail();
  t.regex(wrong.join('\n'), /happened \d+ times|refunded \d+, the channel \d+/);
  t.regex(shrunk!.wrong.join('\n'), /happened \d+ times|refunded \d+, the channel \d+/);
  t.true(shrunk!.acts <= 6, `${shrunk!.acts} acts`);
  const story = shrunk!.story.join('\n');
  t.regex(story, /\(place\)/);
  t.regex(story, /asks \w+: [\w.]*refund P\w+ R\w+_\d/);
  const { without } = shrunk!;
  const [again] = await run({ ...order, seeds: [seed], without, isTold: true, isShrunk: false });
  t.deepEqual(again!.story, shrunk!.story);
  t.deepEqual(again!.wrong, shrunk!.wrong);
});

test('a service that forgets Idempotency-Keys is found from the client responses', async (t) => {
  const order = { ...SMALL, orders: 40, planted: 'keys are forgotten', isShrunk: false } as const;
  const several = /under key \S+ of \w+ became several/;
  t.truthy(await firstOf([1, 3], order, ({ wrong }) => several.test(wrong.join('\n'))));
});
