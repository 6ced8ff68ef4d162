import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as admin from './admin.ts';
import * as app from './app.ts';
import * as apply from './apply.ts';
import * as status from './status.ts';

/** Adds the verbs of `bootstrap`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Make the first administrator and the first client, straight in the database. More: payctl help bootstrap',
  );
  for (const verb of [status, admin, app, apply]) verb.define(noun, context);
}
