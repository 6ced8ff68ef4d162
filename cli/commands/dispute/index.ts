import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as accept from './accept.ts';
import * as answer from './answer.ts';
import * as finish from './finish.ts';
import * as get from './get.ts';
import * as list from './list.ts';

/** Adds the verbs of `dispute`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, answer, accept and finish disputes of payers about their payments.');
  for (const verb of [list, get, answer, accept, finish]) verb.define(noun, context);
}
