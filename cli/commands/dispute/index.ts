import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as accept from './accept.ts';
import * as answer from './answer.ts';
import * as get from './get.ts';
import * as list from './list.ts';

/** Adds the verbs of `dispute`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, answer and accept disputes of payers about their payments.');
  for (const verb of [list, get, answer, accept]) verb.define(noun, context);
}
