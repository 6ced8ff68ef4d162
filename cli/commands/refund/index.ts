import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as create from './create.ts';
import * as get from './get.ts';
import * as list from './list.ts';
import * as resolve from './resolve.ts';
import * as retry from './retry.ts';
import * as sync from './sync.ts';

/** Adds the verbs of `refund`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Create, track, retry and resolve refunds.');
  for (const verb of [create, get, list, sync, retry, resolve]) verb.define(noun, context);
}
