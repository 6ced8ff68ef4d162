import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as download from './download.ts';
import * as get from './get.ts';
import * as list from './list.ts';
import * as remove from './delete.ts';
import * as setDefault from './set-default.ts';
import * as upload from './upload.ts';

/** Adds the verbs of `cert`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Certificates and keys of the channels; private keys never come back out.');
  for (const verb of [list, get, upload, setDefault, download, remove]) verb.define(noun, context);
}
