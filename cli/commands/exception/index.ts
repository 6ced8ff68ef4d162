import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as list from './list.ts';
import * as resolve from './resolve.ts';

/** Adds the verbs of `exception`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List and resolve exceptions, the cases that need manual review.');
  for (const verb of [list, resolve]) verb.define(noun, context);
}
