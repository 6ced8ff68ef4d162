import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as exporting from './export.ts';
import * as list from './list.ts';
import * as verify from './verify.ts';

/** Adds the verbs of `audit-log`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Read, verify and export the audit log: who changed what.');
  for (const verb of [list, verify, exporting]) verb.define(noun, context);
}
