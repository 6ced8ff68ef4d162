import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as add from './add.ts';
import * as list from './list.ts';
import * as remove from './remove.ts';
import * as show from './show.ts';
import * as use from './use.ts';

/** Adds the verbs of `context`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage named servers and choose the current one.');
  for (const verb of [list, show, add, use, remove]) verb.define(noun, context);
}
