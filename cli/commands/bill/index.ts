import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as differences from './differences.ts';
import * as exporting from './export.ts';
import * as fetching from './fetch.ts';
import * as get from './get.ts';
import * as importing from './import.ts';
import * as lines from './lines.ts';
import * as list from './list.ts';
import * as quiet from './quiet.ts';
import * as rerun from './rerun.ts';
import * as settlement from './settlement.ts';

/** Adds the verbs of `bill`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Fetch, import and compare the bills of the channels, and show what they settle.');
  for (const verb of [list, get, fetching, importing, differences, lines, rerun, quiet, exporting, settlement])
    verb.define(noun, context);
}
