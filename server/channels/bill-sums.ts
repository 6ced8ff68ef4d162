import { BillMalformed } from '../payments/channel.ts';
import type { Rows } from './bill-rows.ts';

/** Running sums of a bill by name, whole numbers of any size. */
export interface Sums<Name extends string> {
  add(name: Name, value: number): void;
  of(name: Name): bigint;
  /** Throws BillMalformed `wrong_sums` when the bill names another sum; where rows could not be read it is noted as a shortfall. */
  require(name: Name, stated: bigint, what: string, line: number): void;
  /** The same for a count of rows, which is no less than those that were read, and no more than all. */
  requireCount(name: Name, stated: bigint, what: string, line: number): void;
}

/** What is added up as a plain number before it goes into the sum: far below what such a number holds exactly. */
const CARRY = 2 ** 52;

/** Begins at zero. Millions of additions of bigints are slow, so a sum has a part in plain numbers, too. */
export function createSums<Name extends string>(
  names: readonly Name[],
  rows: Pick<Rows, 'unreadable' | 'short'>,
): Sums<Name> {
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
      if (sum === stated) return;
      if (rows.unreadable() === 0) throw wrongSums(stated, sum, what, line);
      rows.short(messageOf(stated, sum, what));
    },
    requireCount(name, stated, what, line) {
      const sum = of(name);
      if (stated < sum || stated > sum + BigInt(rows.unreadable())) throw wrongSums(stated, sum, what, line);
      if (stated !== sum) rows.short(messageOf(stated, sum, what));
    },
  };
}

function messageOf(stated: bigint, sum: bigint, what: string): string {
  return `${what}: the bill says ${stated}, its lines add up to ${sum}.`;
}

function wrongSums(stated: bigint, sum: bigint, what: string, line: number): BillMalformed {
  return new BillMalformed('wrong_sums', messageOf(stated, sum, what), { line });
}
