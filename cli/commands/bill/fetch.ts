import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { changes, examples } from '../../options.ts';
import { addFields, bodyOf, complete } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { finish, waitFlags, type WaitFlags } from './follow.ts';
import { BILLS, WHICH } from './view.ts';

/** The flags of `bill fetch`. */
export type FetchFlags = Row & ChangeFlags & WaitFlags;

/** Adds `bill fetch`. */
export function define(noun: Command, context: ContextOf): void {
  const command = noun
    .command('fetch')
    .description(
      'Ask the channel for the bill of a day now, and wait until it is compared. Exits with 1 if it is refused or missing, with 7 if it is not there yet.',
    );
  addFields(command, WHICH);
  examples(
    changes(waitFlags(command)),
    'payctl bill fetch --pay-way wechat --date 2026-11-20',
    'payctl bill fetch --pay-way alipay --date 2026-11-20 --account 2021004100000001 --wait 30m',
    'payctl bill fetch --pay-way paypal --date 2026-11-20 --no-wait --json',
  ).action((options: FetchFlags) => run(context(), options));
}

/** Has the channel asked, and waits for what comes of it. */
export async function run(context: Context, options: FetchFlags): Promise<void> {
  const body = await complete(context, WHICH, bodyOf(options, WHICH));
  const what = `fetch the bill of ${String(body['payWay'])}, ${String(body['day'])}`;
  const begun = await context.change({ what, method: 'POST', path: BILLS, body }, options);
  if (begun) await finish(context, begun, options);
}
