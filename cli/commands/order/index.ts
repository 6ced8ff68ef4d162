import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as capture from './capture.ts';
import * as close from './close.ts';
import * as exporting from './export.ts';
import * as get from './get.ts';
import * as list from './list.ts';
import * as sync from './sync.ts';
import * as timeline from './timeline.ts';

/** Adds the verbs of `order`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Find, track, sync, capture, close and export orders.');
  for (const verb of [list, get, timeline, capture, close, sync, exporting]) verb.define(noun, context);
}
