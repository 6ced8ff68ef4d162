import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as get from './get.ts';
import * as list from './list.ts';
import * as resolve from './resolve.ts';

/** Adds the verbs of `exception`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, show and resolve exceptions, the cases that need manual review.');
  for (const verb of [list, get, resolve]) verb.define(noun, context);
}
