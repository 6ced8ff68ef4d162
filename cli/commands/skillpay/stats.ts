import type { Command } from 'commander';
import type { Query } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { examples, given, instant } from '../../options.ts';
import { projectFlag } from '../../resource.ts';
import type { Row } from '../../values.ts';

const VIEW = {
  noun: 'resource',
  id: 'resource',
  columns: [
    { field: 'resource', kind: 'id' },
    { field: 'clientId', title: 'APP' },
    { field: 'offered' },
    { field: 'paid' },
    { field: 'fulfilled' },
    { field: 'failed' },
    { field: 'refunded' },
    { field: 'revenue', kind: 'money' },
  ],
} as const;

/** Adds `skillpay stats`. */
export function define(noun: Command, context: ContextOf): void {
  const command = projectFlag(
    noun
      .command('stats')
      .description('Show offers, payments, fulfilments, failures, refunds and revenue per application and resource.'),
  );
  command.option('--from <time>', 'start of the period', instant).option('--to <time>', 'end of the period', instant);
  examples(command, 'payctl skillpay stats', 'payctl skillpay stats --from 2026-11-01 --json').action((flags: Row) =>
    run(context(), flags),
  );
}

/** Prints the figures. */
export async function run({ api, print }: Context, flags: Row): Promise<void> {
  const { rows } = await api.page('/api/v1/stats/skillpay', given(flags, ['from', 'to', 'project']) as Query);
  await print.list(rows, VIEW);
}
