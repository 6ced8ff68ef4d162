import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as backup from './backup.ts';
import * as migrate from './migrate.ts';
import * as restoreCheck from './restore-check.ts';
import * as start from './start.ts';

/** Adds the verbs of `server`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Run and maintain the service on this machine.');
  for (const verb of [start, migrate, backup, restoreCheck]) verb.define(noun, context);
}
