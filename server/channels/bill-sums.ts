import { BillMalformed } from '../payments/channel.ts';

/** Running sums of a bill by name, whole numbers of any size. */
export interface Sums<Name extends string> {
  add(name: Name, value: number): void;
  of(name: Name): bigint;
  /** Throws BillMalformed `wrong_sums` when the bill names another sum. */
  require(name: Name, stated: bigint, what: string, line: number): void;
}

/** What is added up as a plain number before it goes into the sum: far below what such a number holds exactly. */
const CARRY = 2 ** 52;

/** Begins at zero. Millions of additions of bigints are slow, so a sum has a part in plain numbers, too. */
export function createSums<Name extends string>(names: readonly Name[]): Sums<Name> {
  const small = Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  const large = Object.fromEntries(names.map((name) => [name, 0n])) as Record<Name, bigint>;
  const of = (name: Name) => large[name] + BigInt(small[name]);
  return {
    of,
    add(name, value) {
      const sum = small[name] + value;
      if (sum < CARRY && sum > -CARRY) {
        small[name] = sum;
        return;
      }
      large[name] += BigInt(small[name]) + BigInt(value);
      small[name] = 0;
    },
    require(name, stated, what, line) {
      const sum = of(name);
      if (sum !== stated)
        throw new BillMalformed('wrong_sums', `${what}: the bill says ${stated}, its lines add up to ${sum}.`, {
          line,
        });
    },
  };
}
