import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as explain from './explain.ts';

/** Adds the verbs of `config`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('What payctl itself is set to.');
  explain.define(noun, context);
}
