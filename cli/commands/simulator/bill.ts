import { Argument, type Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { choice, examples, given, integer } from '../../options.ts';
import type { Row } from '../../values.ts';
import { simulatorApi, simulatorFlag, type SimulatorFlags } from './control.ts';

/** The differences that can be planted; the simulator knows the same. */
export const PLANTS = [
  'paid_unknown_to_us',
  'paid_missing_at_channel',
  'amount_differs',
  'currency_differs',
  'refund_unknown_to_us',
  'refund_missing_at_channel',
  'refund_amount_differs',
  'fee_differs',
  'line_twice',
  'dispute_unknown_to_us',
  'duplicate_payment',
  'order_unknown_here',
  'line_unreadable',
  'withdrawal',
  'order_not_ours',
] as const;

const MEANINGS = {
  late: 'there is none yet',
  empty: 'nothing happened',
  cut: 'the file ends in its middle',
  'wrong-hash': 'WeChat Pay only',
  'expired-url': 'the address is over at once; not PayPal',
  'wrong-charset': 'UTF-8 for GBK, GBK for UTF-8, UTF-16 at PayPal',
  'foreign-account': 'that of another merchant',
  'other-columns': 'a column has another name',
  'zip-bomb': 'a gigabyte in a small file; not PayPal',
  formula: 'texts that a spreadsheet would run',
  'real-hours': 'there only when the channel would have it',
  filler: 'more payments of another system, see --rows',
} as const;

/** What the bills of a channel can be like; the simulator knows the same. */
export const CONDITIONS = Object.keys(MEANINGS) as (keyof typeof MEANINGS)[];

/** The flags of `simulator bill`. */
export type BillFlags = Row & SimulatorFlags & { payWay?: string; date?: string; rows?: number; off?: boolean };

const PLANT = {
  noun: 'plant',
  id: 'id',
  columns: [
    { field: 'kind', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'date' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'number' },
    { field: 'id', kind: 'id' },
  ],
} as const;
const CONDITION = {
  noun: 'condition',
  id: 'id',
  columns: [
    { field: 'condition', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'date' },
    { field: 'on' },
    { field: 'rows' },
    { field: 'id', kind: 'id' },
  ],
} as const;
const CHANGES = {
  noun: 'bill change',
  id: 'id',
  columns: [
    { field: 'what', kind: 'id' },
    { field: 'payWay', kind: 'id' },
    { field: 'date' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'id', kind: 'id' },
  ],
} as const;

/** Adds `simulator bill` with `list`, `plant`, `condition` and `clear`. */
export function define(noun: Command, context: ContextOf): void {
  const bill = noun
    .command('bill')
    .description('Plant differences in the bills of the simulated channels, or make the bills late, empty or broken.');
  defineList(bill, context);
  definePlant(bill, context);
  defineCondition(bill, context);
  defineClear(bill, context);
}

function defineList(bill: Command, context: ContextOf): void {
  const list = simulatorFlag(
    bill.command('list').description('List the planted differences and the conditions of the bills.'),
  );
  list.addOption(payWay('filter by channel'));
  examples(list, 'payctl simulator bill list', 'payctl simulator bill list --pay-way wechat --json').action(
    (flags: BillFlags) => runList(context(), flags),
  );
}

function definePlant(bill: Command, context: ContextOf): void {
  const command = simulatorFlag(
    bill
      .command('plant')
      .description(
        'Plant a difference between the bill of a day and the orders of the service. paid_unknown_to_us, refund_unknown_to_us, duplicate_payment and dispute_unknown_to_us move money without telling the service; the others change only the bill.',
      )
      .addArgument(
        new Argument(
          '<kind>',
          `kind of difference: ${PLANTS.join(', ')}. The bills of Alipay have no currency that could differ, and only those of PayPal have disputes.`,
        ).choices(PLANTS),
      ),
  );
  command
    .addOption(payWay('channel').makeOptionMandatory())
    .option('--date <day>', 'day of the bill, e.g. 2026-11-21; today if omitted')
    .option('--order-no <no>', 'order to plant it in; a fitting one of the day if omitted')
    .option('--account <name>', 'account of the simulator');
  examples(
    command,
    'payctl simulator bill plant amount_differs --pay-way wechat',
    'payctl simulator bill plant paid_unknown_to_us --pay-way alipay --order-no P202611210558007K2MQX9WBT',
    'payctl simulator bill plant order_not_ours --pay-way paypal --date 2026-11-20 --json',
  ).action((kind: string, flags: BillFlags) => runPlant(context(), kind, flags));
}

function defineCondition(bill: Command, context: ContextOf): void {
  const command = simulatorFlag(
    bill
      .command('condition')
      .description('Change what the bills of a channel are like, until it is switched off.')
      .addArgument(new Argument('<condition>', `what the bills are like: ${meanings()}`).choices(CONDITIONS)),
  );
  command
    .addOption(payWay('channel').makeOptionMandatory())
    .option('--date <day>', 'only the bill of this day')
    .option('--rows <n>', 'number of rows that filler adds', integer(1, 5_000_000))
    .option('--off', 'switch the condition off');
  examples(
    command,
    'payctl simulator bill condition late --pay-way wechat',
    'payctl simulator bill condition late --pay-way wechat --off',
    'payctl simulator bill condition filler --pay-way alipay --date 2026-11-20 --rows 1000000',
    'payctl simulator bill condition real-hours --pay-way paypal --json',
  ).action((condition: string, flags: BillFlags) => runCondition(context(), condition, flags));
}

function defineClear(bill: Command, context: ContextOf): void {
  const command = simulatorFlag(
    bill
      .command('clear')
      .description('Remove one planted difference or condition by its ID, or all. Money that moved stays where it is.')
      .argument('[id]'),
  );
  examples(command, 'payctl simulator bill clear', 'payctl simulator bill clear b-1').action(
    (id: string | undefined, flags: BillFlags) => runClear(context(), id, flags),
  );
}

function meanings(): string {
  return CONDITIONS.map((name) => `${name} (${MEANINGS[name]})`).join(', ');
}

function payWay(help: string) {
  return choice('--pay-way <channel>', help, ['alipay', 'wechat', 'paypal']);
}

/** Prints what is planted and what the bills are like. */
export async function runList(context: Context, flags: BillFlags): Promise<void> {
  const query = flags.payWay === undefined ? {} : { payWay: flags.payWay };
  const { plants, conditions } = await simulatorApi(context, flags).get('/sim/bills', query);
  const named = (rows: unknown, name: string) => ((rows ?? []) as Row[]).map((row) => ({ what: row[name], ...row }));
  await context.print.list([...named(plants, 'kind'), ...named(conditions, 'condition')], CHANGES);
}

/** Plants a difference at the simulator. */
export async function runPlant(context: Context, kind: string, flags: BillFlags): Promise<void> {
  const body = { kind, ...given(flags, ['payWay', 'date', 'orderNo', 'account']) };
  await context.print.item(await post(context, flags, '/sim/bills/plants', body), PLANT);
}

/** Sets a condition, or takes it away. */
export async function runCondition(context: Context, condition: string, flags: BillFlags): Promise<void> {
  if (condition === 'filler' && flags.rows === undefined && !flags.off)
    throw new UsageError('filler requires --rows.', 'add --rows 1000');
  const body = { condition, ...given(flags, ['payWay', 'date', 'rows']), ...(flags.off ? { on: false } : {}) };
  await context.print.item(await post(context, flags, '/sim/bills/conditions', body), CONDITION);
}

/** Removes one change, or all, and prints what is left. */
export async function runClear(context: Context, id: string | undefined, flags: BillFlags): Promise<void> {
  await simulatorApi(context, flags).data({
    method: 'DELETE',
    path: id === undefined ? '/sim/bills' : `/sim/bills/${encodeURIComponent(id)}`,
    headers: { 'content-type': 'application/json' },
    anonymous: true,
  });
  await runList(context, flags);
}

async function post(context: Context, flags: BillFlags, path: string, body: Row): Promise<Row> {
  return await simulatorApi(context, flags).data({ method: 'POST', path, body, anonymous: true });
}
