import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as enable from './enable.ts';
import * as recoveryCodes from './recovery-codes.ts';
import * as remove from './remove.ts';
import * as status from './status.ts';

/** Adds the verbs of `second-factor`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description(
    'Your own second factor: one-time codes of an authenticator app. To reset that of another administrator: payctl admin reset-second-factor.',
  );
  for (const verb of [status, enable, recoveryCodes, remove]) verb.define(noun, context);
}
