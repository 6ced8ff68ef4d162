import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag, runToggle, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { channel } from './view.ts';

/** The flags of `channel enable` and `channel disable`. */
export type ToggleFlags = ChangeFlags & { project?: string };

/** Adds `channel enable` and `channel disable`. */
export function define(noun: Command, context: ContextOf): void {
  for (const verb of ['enable', 'disable'] as const) {
    const words =
      verb === 'enable'
        ? 'Accept new orders on a channel again.'
        : 'Stop accepting new orders on a channel; queries, closes, refunds and notifications continue. For a live channel, type its name to confirm.';
    const command = projectFlag(noun.command(verb).description(words).argument('<payWay>'));
    examples(
      changes(command),
      `payctl channel ${verb} alipay`,
      `payctl channel ${verb} alipay --project shop-eu --confirm alipay`,
    ).action((payWay: string, flags: ToggleFlags) => run(context(), payWay, verb, flags));
  }
}

/** Turns a channel on or off; what it asks depends on whether real money flows there. */
export async function run(
  context: Context,
  payWay: string,
  verb: 'enable' | 'disable',
  flags: ToggleFlags,
): Promise<void> {
  const query = flags.project === undefined ? {} : { project: flags.project };
  const isLive =
    verb === 'disable' && (await context.api.get(`${channel.path}/${segment(payWay)}`, query))['mode'] === 'live';
  const risk = verb === 'enable' ? 'plain' : isLive ? 'severe' : 'moderate';
  await runToggle(context, channel, payWay, { ...flags, enabled: verb === 'enable', risk });
}
