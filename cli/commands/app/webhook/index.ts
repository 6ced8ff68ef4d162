import type { Command } from 'commander';
import type { ContextOf } from '../../../context.ts';
import * as deliveries from './deliveries.ts';
import * as get from './get.ts';
import * as resend from './resend.ts';
import * as rotate from './rotate.ts';
import * as set from './set.ts';
import * as test from './test.ts';

/** Adds `app webhook` with its verbs. */
export function define(noun: Command, context: ContextOf): void {
  const webhook = noun
    .command('webhook')
    .description('Where an application is told what happened: its URL, its signing secret, and what was delivered.');
  for (const verb of [get, set, test, rotate, deliveries, resend]) verb.define(webhook, context);
}
