import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as explain from './explain.ts';

/** Adds the verbs of `config`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Show the settings of payctl itself.');
  explain.define(noun, context);
}
