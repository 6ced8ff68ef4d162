import { AROUND } from './around.ts';
import { FIRST_RELEASE } from './first-release.ts';
import type { Mutant } from './mutant.ts';
import { ORDERS } from './orders.ts';
import { PEERS } from './peers.ts';
import { REFUNDS } from './refunds.ts';

/** Every mutant, in the order of the table. */
export const MUTANTS: readonly Mutant[] = [...FIRST_RELEASE, ...PEERS, ...ORDERS, ...REFUNDS, ...AROUND];
