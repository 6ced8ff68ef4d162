import { AROUND } from './around.ts';
import { EARLY_BUILD } from './early-build.ts';
import type { Mutant } from './mutant.ts';
import { ORDERS } from './orders.ts';
import { PEERS } from './peers.ts';
import { REFUNDS } from './refunds.ts';

/** Every mutant, in the order of the table. */
export const MUTANTS: readonly Mutant[] = [...EARLY_BUILD, ...PEERS, ...ORDERS, ...REFUNDS, ...AROUND];
