import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as distrust from './distrust.ts';
import * as download from './download.ts';
import * as get from './get.ts';
import * as list from './list.ts';
import * as remove from './delete.ts';
import * as setDefault from './set-default.ts';
import * as trust from './trust.ts';
import * as upload from './upload.ts';

/** Adds the verbs of `cert`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage channel certificates and keys. Private keys can never be downloaded.');
  for (const verb of [list, get, upload, trust, distrust, setDefault, download, remove]) verb.define(noun, context);
}
