import { addressBlock } from '../addresses.ts';
import type { FetchBudget } from './channel.ts';

/** Each process counts by itself; what is fetched with success is not counted. */
const MOST_IN_A_MINUTE = 5;

/** How many keys and certificates are fetched for nothing because of the notices of one address: anybody can name some. */
export function createFetchBudgets(now: () => Date): (address: string) => FetchBudget {
  let minute = 0;
  let spent = new Map<string, number>();
  return (address) => {
    const block = addressBlock(address);
    return {
      isLeft: () => (inThisMinute().get(block) ?? 0) < MOST_IN_A_MINUTE,
      spend: () => void inThisMinute().set(block, (spent.get(block) ?? 0) + 1),
    };
  };

  function inThisMinute(): Map<string, number> {
    const current = Math.floor(now().getTime() / 60_000);
    if (current !== minute) spent = new Map();
    minute = current;
    return spent;
  }
}
