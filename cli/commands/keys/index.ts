import type { Command } from 'commander';
import type { ContextOf } from '../index.ts';
import * as rotate from './rotate.ts';

/** Adds the verbs of `keys`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('The master key that seals channel secrets at rest.');
  rotate.define(noun, context);
}
