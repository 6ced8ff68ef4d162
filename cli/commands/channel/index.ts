import type { Command } from 'commander';
import type { ContextOf } from '../../context.ts';
import { addGet } from '../../resource.ts';
import * as list from './list.ts';
import * as set from './set.ts';
import * as testing from './test.ts';
import * as toggle from './toggle.ts';
import { channel } from './view.ts';

/** Adds the verbs of `channel`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage the Alipay, WeChat Pay and PayPal configurations, one per project and channel.');
  list.define(noun, context);
  addGet(noun, context, channel, ['payctl channel get alipay', 'payctl channel get wechat --project shop-eu --json']);
  for (const verb of [set, testing, toggle]) verb.define(noun, context);
}
