import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as list from './list.ts';
import * as listen from './listen.ts';
import * as resend from './resend.ts';

/** Adds the verbs of `event`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('List, follow and resend events, the durable log behind webhooks.');
  for (const verb of [list, listen, resend]) verb.define(noun, context);
}
