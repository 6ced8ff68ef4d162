import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as end from './end.ts';
import * as list from './list.ts';

/** Adds the verbs of `session`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List and end your own sessions, or those of another administrator.');
  for (const verb of [list, end]) verb.define(noun, context);
}
