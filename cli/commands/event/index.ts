import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as list from './list.ts';
import * as listen from './listen.ts';
import * as resend from './resend.ts';

/** Adds the verbs of `event`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Events: the durable log of what merchants are told.');
  for (const verb of [list, listen, resend]) verb.define(noun, context);
}
