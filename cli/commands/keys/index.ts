import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import * as rotate from './rotate.ts';

/** Adds the verbs of `keys`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage the master key that encrypts channel secrets at rest.');
  rotate.define(noun, context);
}
