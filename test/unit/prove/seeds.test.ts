import test from 'ava';
import { runMany } from '../../prove/seeds/many.ts';
import type { SeedResult, WorkOrder } from '../../prove/seeds/work-order.ts';

/** Few and small: at length they are run by `npm run prove -- --seeds 1..1000`. */
const SMALL = { on: 'memory', seeds: [1, 2, 3, 4], orders: 12 } as const;

async function run(order: WorkOrder, threads = 1): Promise<SeedResult[]> {
  const results: SeedResult[] = [];
  await runMany(order, threads, (one) => void results.push(one));
  return results;
}

test.serial('the same seeds make the same worlds in every thread, and nothing is wrong in them', async (t) => {
  const first = await run(SMALL);
  for (const { seed, wrong } of first) t.deepEqual(wrong, [], `seed ${seed}`);
  t.is(new Set(first.map(({ hash }) => hash)).size, first.length);
  const sum = (name: 'calls' | 'transactions' | 'notices' | 'refunds') =>
    first.reduce((all, { counts }) => all + counts[name], 0);
  t.true(sum('calls') > 300 && sum('transactions') > 1_000 && sum('notices') > 20 && sum('refunds') > 8);
  const struck = new Set(first.flatMap((one) => one.struck.map(([, fate]) => fate)));
  for (const fate of ['lost', 'unheard', 'undone', 'query-lag', 'slow']) t.true(struck.has(fate), fate);
  const hashes = (results: readonly SeedResult[]) => results.map(({ seed, hash }) => [seed, hash]);
  t.deepEqual(hashes(await run({ ...SMALL, seeds: SMALL.seeds.toReversed() }, 2)).toReversed(), hashes(first));
});

test.serial('a world on the embedded database is the world in memory', async (t) => {
  const order = { ...SMALL, seeds: [3], orders: 5 };
  const [memory] = await run(order);
  const [pglite] = await run({ ...order, on: 'pglite' });
  t.deepEqual(pglite!.wrong, []);
  t.deepEqual(pglite!.counts, memory!.counts);
  t.is(pglite!.hash, memory!.hash);
});

test.serial(
  'a service whose every try of a refund is another refund is found out, and its short story is told again',
  async (t) => {
    const order = { ...SMALL, seeds: [1, 2], orders: 25, planted: 'each try has its own number' } as const;
    const found = await run(order, 2);
    const { seed, wrong, shrunk } = found.find((one) => one.shrunk) ?? t.fail();
    t.regex(wrong.join('\n'), /happened \d+ times|gave back \d+, the channel \d+/);
    t.regex(shrunk!.wrong.join('\n'), /happened \d+ times|gave back \d+, the channel \d+/);
    t.true(shrunk!.acts <= 6, `${shrunk!.acts} acts`);
    const story = shrunk!.story.join('\n');
    t.regex(story, /\(place\)/);
    t.regex(story, /asks \w+: [\w.]*refund P\w+ R\w+_\d/);
    const { without } = shrunk!;
    const [again] = await run({ ...order, seeds: [seed], without, isTold: true, isShrunk: false });
    t.deepEqual(again!.story, shrunk!.story);
    t.deepEqual(again!.wrong, shrunk!.wrong);
  },
);

test.serial('a service that forgets Idempotency-Keys is found out by what clients were told', async (t) => {
  const found = await run({ ...SMALL, seeds: [1, 3], orders: 40, planted: 'keys are forgotten', isShrunk: false }, 2);
  t.regex(found.flatMap(({ wrong }) => wrong).join('\n'), /under key \S+ of \w+ became several/);
});
