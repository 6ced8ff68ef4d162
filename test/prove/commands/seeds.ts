import { createHash } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { runMany } from '../seeds/many.ts';
import { DATABASES, type DatabaseName } from '../seeds/prepare.ts';
import type { SeedResult, WorkOrder } from '../seeds/work-order.ts';
import type { Command } from './command.ts';

const ORDERS = 50;

/** Reports the progress after so many worlds. */
const TOLD_EVERY = 100;

const OPTIONS = { on: { type: 'string' }, orders: { type: 'string' } } as const;

/** `--seed N`: one world with its whole story and hash. */
export const seedCommand: Command = {
  name: 'seed',
  usage: '--seed N [--on pglite] [--orders N] [--without NAMES]    one simulated world: its story and its hash',
  options: { seed: { type: 'string' }, without: { type: 'string' }, ...OPTIONS },
  async run({ seed, without, ...rest }) {
    const seeds = [Number(seed)];
    const left = without ? { without: without.split(',') } : {};
    let result: SeedResult | undefined;
    const order = { ...readOptions(rest), seeds, ...left, isTold: true, isShrunk: !without };
    await runMany(order, 1, (one) => void (result = one));
    if (!result) return false;
    for (const line of result.story) console.log(line);
    console.log(describe(result, rest['orders']));
    return result.wrong.length === 0;
  },
};

/** `--seeds A..B`: many worlds on all cores. */
export const seedsCommand: Command = {
  name: 'seeds',
  usage: '--seeds A..B [--on pglite] [--orders N]    many simulated worlds: what went wrong, and the hash of all',
  options: { seeds: { type: 'string' }, ...OPTIONS },
  async run({ seeds: range = '', ...rest }) {
    const [first, last = first] = range.split('..').map(Number) as [number, number?];
    const seeds = Array.from({ length: last! - first + 1 }, (_, at) => first + at);
    const hash = createHash('sha256');
    const [sums, transitions, exceptions, faults] = [new Sums(), new Sums(), new Sums(), new Sums()];
    let failed = 0;
    let done = 0;
    const begun = performance.now();
    await runMany({ ...readOptions(rest), seeds }, availableParallelism(), (one) => {
      hash.update(one.hash);
      sums.add(one.counts);
      transitions.add(one.transitions);
      exceptions.add(one.exceptions);
      for (const [, fate] of one.struck) faults.add({ [fate]: 1 });
      done += 1;
      if (one.wrong.length > 0) {
        failed += 1;
        console.log(describe(one, rest['orders']));
      }
      if (done % TOLD_EVERY === 0 && done < seeds.length)
        console.log(
          `${first}..${one.seed}: ${failed} with something wrong, hash ${hash.copy().digest('hex').slice(0, 32)}`,
        );
    });
    const seconds = (performance.now() - begun) / 1000;
    console.log(
      [
        `${seeds.length} worlds in ${seconds.toFixed(1)} s, ${(seeds.length / seconds).toFixed(1)} a second: ${failed} with something wrong`,
        sums.inWords(),
        `faults: ${faults.inWords()}`,
        `moves: ${transitions.inWords()}`,
        `listed: ${exceptions.inWords()}`,
        `hash ${hash.digest('hex').slice(0, 32)}`,
      ].join('\n'),
    );
    return failed === 0;
  },
};

/** The counts of each event over all worlds. */
class Sums {
  readonly #sums = new Map<string, number>();

  add(counts: Readonly<Record<string, number>>): void {
    for (const [name, count] of Object.entries(counts)) this.#sums.set(name, (this.#sums.get(name) ?? 0) + count);
  }

  /** The most frequent first. */
  inWords(): string {
    const all = [...this.#sums].toSorted((a, b) => b[1] - a[1]);
    return all.map(([name, count]) => `${count} ${name}`).join(', ');
  }
}

function readOptions({
  on = 'memory',
  orders,
}: Readonly<Record<string, string | undefined>>): Omit<WorkOrder, 'seeds'> {
  if (!(DATABASES as readonly string[]).includes(on)) throw new TypeError(`--on is one of ${DATABASES.join(', ')}`);
  return { on: on as DatabaseName, orders: Number(orders ?? ORDERS) };
}

/** A world in short, and its faults at length. */
function describe({ seed, hash, wrong, counts, shrunk }: SeedResult, orders: string | undefined): string {
  const { orders: made, refunds, steps, calls, listed, deaths } = counts;
  const lines = [
    `seed ${seed}: ${hash}, ${made} orders, ${refunds} refunds, ${calls} calls, ${steps} steps, ${deaths} deaths, ${listed} listed, ${wrong.length} wrong`,
    ...wrong.map((one) => `  ✘ ${one}`),
  ];
  if (shrunk) {
    lines.push(`  in short, with ${shrunk.acts} acts and ${shrunk.fates.length} faults:`);
    lines.push(...shrunk.wrong.map((one) => `    ✘ ${one}`), ...shrunk.story.map((one) => `      ${one}`));
    const more = orders === undefined ? '' : ` --orders ${orders}`;
    lines.push(`    again: npm run prove -- --seed ${seed}${more} --without '${shrunk.without.join(',')}'`);
  }
  return lines.join('\n');
}
