import type { Command } from 'commander';
import { addList } from '../../resource.ts';
import type { ContextOf } from '../index.ts';
import * as create from './create.ts';
import * as resetPassword from './reset-password.ts';
import { admin } from './resource.ts';
import * as toggle from './toggle.ts';

/** Adds the verbs of `admin`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Console accounts. The first one is made by: payctl bootstrap admin');
  addList(noun, context, admin, ['payctl admin list', 'payctl admin list --json']);
  create.define(noun, context);
  toggle.define(noun, context);
  resetPassword.define(noun, context);
}
