import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { addList } from '../../resource.ts';
import * as create from './create.ts';
import * as resetPassword from './reset-password.ts';
import * as resetSecondFactor from './reset-second-factor.ts';
import { admin } from './resource.ts';
import * as toggle from './toggle.ts';
import * as update from './update.ts';

/** Adds the verbs of `admin`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage console accounts. To create the first one, use payctl bootstrap admin.');
  addList(noun, context, admin, ['payctl admin list', 'payctl admin list --json']);
  create.define(noun, context);
  update.define(noun, context);
  toggle.define(noun, context);
  resetPassword.define(noun, context);
  resetSecondFactor.define(noun, context);
}
