import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as list from './list.ts';
import * as resolve from './resolve.ts';

/** Adds the verbs of `exception`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Exceptions: what the service will not decide alone.');
  for (const verb of [list, resolve]) verb.define(noun, context);
}
