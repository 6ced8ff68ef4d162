import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { changes, examples } from '../../options.ts';
import { projectFlag, segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { withSpinner } from '../../spinner.ts';
import type { Row, View } from '../../values.ts';
import { fixOf, printChecks } from './checks.ts';
import { printRegistrations } from './registrations.ts';
import { channel } from './view.ts';

/** The flags of `channel test`. */
export type TestFlags = ChangeFlags & { project?: string; products?: string | true };

/** Adds `channel test`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('test')
      .description(
        'Send signed requests that move nothing with a stored configuration: each credential and webhook. Exits with 1 and names what is wrong if something is.',
      )
      .argument('<payWay>'),
  ).option(
    '--products [scenes]',
    'also try products, all or those of some scenes (qr,h5): orders of a small amount that nobody can pay, closed at once',
  );
  examples(
    changes(command),
    'payctl channel test alipay',
    'payctl channel test wechat --products qr,h5',
    'payctl channel test wechat --project shop-eu --json',
  ).action((payWay: string, flags: TestFlags) => run(context(), payWay, flags));
}

/** Tests a configuration. */
export async function run(context: Context, payWay: string, flags: TestFlags): Promise<void> {
  const { change, print, terminal } = context;
  const query = flags.project === undefined ? {} : { project: flags.project };
  const path = `${channel.path}/${segment(payWay)}/test`;
  const body = wishOf(flags.products);
  const what = `test ${payWay}`;
  const row = await withSpinner(terminal.err, `Testing ${payWay}`, () =>
    change({ what, name: payWay, method: 'POST', path, query, ...(body && { body }) }, flags),
  );
  if (!row) return;
  const checks = Array.isArray(row['checks']) ? (row['checks'] as Row[]) : [];
  const inProject = flags.project === undefined ? '' : ` --project ${flags.project}`;
  const isForPeople = ['table', 'tsv'].includes(print.format) && !print.fields && context.flags.quiet !== true;
  if (isForPeople && checks.length > 0) await printChecks(context, payWay, checks, inProject);
  else await print.item({ payWay, ...row }, VIEW);
  await printRegistrations(context, row['registrations']);
  if (row['ok'] !== false) return;
  const message = `${payWay}: ${String(row['message'] ?? 'the test request was refused')}`;
  const field = typeof row['field'] === 'string' ? row['field'] : '';
  throw new CliError('channel_test_failed', EXIT.failed, message, { hint: fixOf(payWay, field, inProject) });
}

const VIEW: View = {
  noun: 'channel',
  id: 'payWay',
  columns: [{ field: 'payWay', kind: 'id' }, { field: 'ok', kind: 'yesno' }, { field: 'field' }, { field: 'message' }],
};

function wishOf(products: TestFlags['products']): { products: 'all' | string[] } | undefined {
  if (products === undefined) return undefined;
  return {
    products: products === true || products === 'all' ? 'all' : products.split(',').map((scene) => scene.trim()),
  };
}
