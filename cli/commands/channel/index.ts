import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { projectFlag, segment } from '../../resource.ts';
import * as list from './list.ts';
import * as set from './set.ts';
import * as testing from './test.ts';
import * as toggle from './toggle.ts';
import { printConfig } from './registrations.ts';
import { channel } from './view.ts';

/** Adds the verbs of `channel`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage the Alipay, WeChat Pay and PayPal configurations, one per project and channel.');
  list.define(noun, context);
  defineGet(noun, context);
  for (const verb of [set, testing, toggle]) verb.define(noun, context);
}

function defineGet(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('get')
      .description('Show one channel configuration, and what must be registered at the channel for its scenes.')
      .argument('<payWay>'),
  );
  examples(command, 'payctl channel get alipay', 'payctl channel get wechat --project shop-eu --json').action(
    (payWay: string, flags: { project?: string }) => get(context(), payWay, flags),
  );
}

/** Prints a configuration. */
export async function get(context: Context, payWay: string, { project }: { project?: string }): Promise<void> {
  const row = await context.api.get(`${channel.path}/${segment(payWay)}`, { project });
  await printConfig(context, row, channel.view);
}
