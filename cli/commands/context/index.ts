import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as add from './add.ts';
import * as list from './list.ts';
import * as remove from './remove.ts';
import * as show from './show.ts';
import * as use from './use.ts';

/** Adds the verbs of `context`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Name servers, and choose the one that commands go to.');
  for (const verb of [list, show, add, use, remove]) verb.define(noun, context);
}
