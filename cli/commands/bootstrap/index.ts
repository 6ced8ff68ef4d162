import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as admin from './admin.ts';
import * as app from './app.ts';
import * as apply from './apply.ts';
import * as status from './status.ts';

/** Adds the verbs of `bootstrap`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Create the first administrator and the first API application directly in the database. See payctl help bootstrap.',
  );
  for (const verb of [status, admin, app, apply]) verb.define(noun, context);
}
