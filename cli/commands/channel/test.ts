import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { withSpinner } from '../../spinner.ts';
import { channel } from './view.ts';

/** The flags of `channel test`. */
export type TestFlags = ChangeFlags & { project?: string };

/** Adds `channel test`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('test')
      .description(
        'Send signed requests that move nothing with a stored configuration. Exits with 1 and names the wrong credential if it fails.',
      )
      .argument('<payWay>'),
  );
  examples(
    changes(command),
    'payctl channel test alipay',
    'payctl channel test wechat --project shop-eu --json',
  ).action((payWay: string, flags: TestFlags) => run(context(), payWay, flags));
}

/** Tests a configuration. */
export async function run({ change, print, terminal }: Context, payWay: string, flags: TestFlags): Promise<void> {
  const query = flags.project === undefined ? {} : { project: flags.project };
  const row = await withSpinner(terminal.err, `Testing ${payWay}`, () =>
    change(
      { what: `test ${payWay}`, name: payWay, method: 'POST', path: `${channel.path}/${segment(payWay)}/test`, query },
      flags,
    ),
  );
  if (!row) return;
  await print.item(
    { payWay, ...row },
    {
      noun: 'channel',
      id: 'payWay',
      columns: [
        { field: 'payWay', kind: 'id' },
        { field: 'ok', kind: 'yesno' },
        { field: 'field' },
        { field: 'message' },
      ],
    },
  );
  if (row['ok'] === false)
    throw new CliError(
      'channel_test_failed',
      EXIT.failed,
      `${payWay}: ${String(row['message'] ?? 'the test request was refused')}`,
      { hint: `payctl channel set ${payWay}` },
    );
}
