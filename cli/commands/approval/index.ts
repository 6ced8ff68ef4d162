import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as decide from './decide.ts';
import * as get from './get.ts';
import * as list from './list.ts';

/** Adds the verbs of `approval`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Decide about money that waits for a second administrator before it goes back (Approval.RefundAbove).',
  );
  for (const verb of [list, get, decide]) verb.define(noun, context);
}
