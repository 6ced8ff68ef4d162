import { MODES } from '../../server/domain.ts';
import type { Command } from 'commander';
import { addCreate, addDelete, addToggle, addUpdate } from '../action.ts';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { choice, examples, given } from '../options.ts';
import { type Editable, addGet, addList, segment } from '../resource.ts';
import type { Row, View } from '../values.ts';

const SUMS: View = {
  noun: 'sum',
  id: 'payWay',
  columns: [
    { field: 'payWay', title: 'CHANNEL', kind: 'id' },
    { field: 'paidOrders', title: 'PAID', kind: 'id' },
    { field: 'paidAmount', title: 'AMOUNT', kind: 'money' },
    { field: 'refunds', kind: 'id' },
    { field: 'refundedAmount', title: 'REFUNDED', kind: 'money' },
    { field: 'currency', kind: 'id' },
  ],
};

function defineStats(noun: Command, context: ContextOf): void {
  const command = noun
    .command('stats')
    .description(
      'Show payments and refunds of a period by channel and currency, for one project or for all. JSON output has the figures by day, too.',
    )
    .argument('[code]')
    .option('--from <day>', 'first day, or a timestamp; by default 29 days before the end')
    .option('--to <day>', 'last day (inclusive), or a timestamp; by default today')
    .option('--tz <zone>', 'time zone of the days; by default Asia/Shanghai')
    .addOption(choice('--mode <mode>', 'channel mode; by default live', MODES));
  examples(
    command,
    'payctl project stats',
    'payctl project stats default --mode simulator --from 2026-11-01',
    'payctl project stats --from 2026-11-01 --to 2026-11-30 --tz UTC --json',
  ).action((code: string | undefined, flags: Row) => runStats(context(), code, flags));
}

async function runStats({ api, print }: Context, code: string | undefined, flags: Row): Promise<void> {
  const path = code === undefined ? '/api/v1/stats/overview' : `/api/v1/projects/${segment(code)}/stats`;
  const figures = await api.get(path, given(flags, ['from', 'to', 'tz', 'mode']) as Query);
  if (print.json) return print.item(figures, { noun: 'stats', id: 'project', columns: [] });
  const totals = (figures['totals'] ?? {}) as Row;
  await print.list((totals['amounts'] ?? []) as Row[], SUMS);
  await print.done(
    `${String(figures['mode'])}: ${String(totals['createdOrders'])} orders, ${String(totals['paidOrders'])} paid, ${String(totals['refunds'])} refunds, from ${String(figures['from'])} to ${String(figures['to'])}`,
  );
}

const project: Editable = {
  noun: 'project',
  plural: 'projects',
  path: '/api/v1/projects',
  idName: 'code',
  view: {
    noun: 'project',
    id: 'code',
    columns: [
      { field: 'code', kind: 'id' },
      { field: 'name' },
      { field: 'enabled', kind: 'yesno' },
      { field: 'createdAt', kind: 'time' },
      { field: 'remark' },
    ],
  },
  createOnly: [{ name: 'code', value: 'code', help: 'letters, digits, "_" and "-"', required: true }],
  fields: [
    { name: 'name', value: 'name', help: 'display name', required: true },
    { name: 'remark', value: 'text', help: 'internal note' },
  ],
};

/** Adds the subcommands of `payctl project`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Manage projects: tenants with their own applications, channels, users, products and coins.');
  addList(noun, context, project, ['payctl project list', 'payctl project list --json']);
  addGet(noun, context, project, ['payctl project get shop-eu', 'payctl project get shop-eu --json']);
  addCreate(noun, context, project, [
    'payctl project create --code shop-eu --name "Shop Europe"',
    'payctl project create',
  ]);
  addUpdate(noun, context, project, [
    'payctl project update shop-eu --name "Shop EU"',
    'payctl project update shop-eu --clear remark --dry-run',
  ]);
  addToggle(noun, context, project, {
    enable: ['payctl project enable shop-eu', 'payctl project enable shop-eu --json'],
    disable: ['payctl project disable shop-eu', 'payctl project disable shop-eu -y'],
  });
  defineStats(noun, context);
  addDelete(noun, context, project, [
    'payctl project delete shop-eu',
    'payctl project delete shop-eu --confirm shop-eu',
  ]);
}
