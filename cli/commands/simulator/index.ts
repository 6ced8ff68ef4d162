import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as bill from './bill.ts';
import * as clock from './clock.ts';
import * as dispute from './dispute.ts';
import * as faults from './faults.ts';
import * as ledger from './ledger.ts';
import * as notify from './notify.ts';
import * as payer from './payer.ts';
import * as start from './start.ts';

/** Adds the verbs of `simulator`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Control the simulated channels: act as the payer, read their ledger, change their bills, inject faults.',
  );
  for (const verb of [start, payer, dispute, notify, ledger, bill, clock, faults]) verb.define(noun, context);
}
