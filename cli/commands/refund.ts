import type { Command } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { amount, changes, choice, examples, instant, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, complete, printList, segment } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import { type Row, type View, money } from '../values.ts';
import { ORDERS, REFUNDS } from './views.ts';

/** How refunds are shown. */
const VIEW: View = {
  noun: 'refund',
  id: 'refundNo',
  columns: [
    { field: 'refundNo', title: 'REFUND', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'refundAmount', title: 'AMOUNT', kind: 'money' },
    { field: 'orderNo', title: 'ORDER', kind: 'id' },
    { field: 'createdAt', kind: 'time' },
    { field: 'nextCheckAt', kind: 'time' },
    { field: 'reason' },
  ],
};

/** The states of a refund. */
const STATUSES = ['pending', 'processing', 'waiting_for_approval', 'succeeded', 'failed', 'abnormal'] as const;

/** What refunds can be found by. */
const FILTERS: readonly Field[] = [
  { name: 'status', value: 'status', help: 'filter by status', choices: STATUSES },
  { name: 'orderNo', flag: 'order', value: 'orderNo', help: 'filter by order' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'merchantRefundNo', value: 'no', help: 'filter by the refund number of the merchant' },
  { name: 'project', value: 'code', help: 'filter by project' },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'requested after this time, e.g. 2026-01-31, or 2h for two hours ago',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'requested before this time', read: instant },
];

/** Adds `refund list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List refunds, newest first.');
  addFields(command, FILTERS);
  examples(
    paged(command),
    'payctl refund list --status abnormal',
    'payctl refund list --order P202611210558007K2MQX9WBT',
    'payctl refund list --since 7d --all --json',
  ).action((options: Row & ListFlags) => runList(context(), options));
}

/** Prints the refunds that pass the filters. */
function runList(context: Context, options: Row & ListFlags): Promise<void> {
  return printList(context, REFUNDS, bodyOf(options, FILTERS) as Query, VIEW, options);
}

/** Adds `refund get`. */
function defineGet(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one refund.').argument('<refundNo>');
  examples(
    command,
    'payctl refund get R20261121060100D4N8ZR3VHC',
    'payctl refund get R20261121060100D4N8ZR3VHC --fields status',
  ).action((refundNo: string) => runGet(context(), refundNo));
}

/** Prints one refund. */
async function runGet({ api, print }: Context, refundNo: string): Promise<void> {
  await print.item(await api.get(`${REFUNDS}/${segment(refundNo)}`), VIEW);
}

/** The flags of `refund create`. */
interface RefundFlags extends ChangeFlags {
  amount?: string;
  reason?: string;
  merchantRefundNo?: string;
}

/** Adds `refund create`. */
function defineCreate(noun: Command, context: ContextOf): void {
  const command = noun
    .command('create')
    .description(
      'Refund an order in full or in part. On prod, type the order number to confirm; elsewhere --yes is enough.',
    )
    .argument('<orderNo>')
    .option('--amount <amount>', 'amount to refund, in major units', amount)
    .option('--reason <text>', 'reason, shown to the payer if the channel supports it')
    .option('--merchant-refund-no <no>', 'your own refund number; reusing it never refunds twice');
  examples(
    changes(command, { money: true }),
    'payctl refund create P202611210558007K2MQX9WBT --amount 40.00 --reason "damaged"',
    'payctl refund create P202611210558007K2MQX9WBT --amount 40 --confirm P202611210558007K2MQX9WBT --json',
    'payctl refund create P202611210558007K2MQX9WBT --amount 40 --dry-run',
  ).action((orderNo: string, flags: RefundFlags) => runCreate(context(), orderNo, flags));
}

/** Asks for a refund; the same Idempotency-Key goes with every try. */
async function runCreate(context: Context, orderNo: string, flags: RefundFlags): Promise<void> {
  const { api, change, print, prompts, target } = context;
  const order = await api.get(`${ORDERS}/${segment(orderNo)}`);
  const refundAmount =
    flags.amount ??
    amount(
      await prompts.text({
        message: `Amount to refund (paid: ${money(order['amount'], order['currency'])})`,
        flag: '--amount',
        default: String(order['refundableAmount'] ?? ''),
      }),
    );
  const { label } = await target();
  const row = await change(
    {
      what: `refund ${money(refundAmount, order['currency'])} of order ${orderNo}`,
      name: orderNo,
      risk: label === 'prod' ? 'severe' : 'moderate',
      money: true,
      method: 'POST',
      path: `${ORDERS}/${segment(orderNo)}/refunds`,
      body: {
        refundAmount,
        ...(flags.reason === undefined ? {} : { reason: flags.reason }),
        ...(flags.merchantRefundNo === undefined ? {} : { merchantRefundNo: flags.merchantRefundNo }),
      },
    },
    flags,
  );
  if (!row) return;
  await print.item(row, VIEW);
  await print.done(
    row['status'] === 'succeeded'
      ? 'The refund succeeded.'
      : `The channel is still processing the refund. Next: payctl refund get ${String(row['refundNo'])}`,
  );
}

/** Adds `refund retry`. */
function defineRetry(noun: Command, context: ContextOf): void {
  const command = noun
    .command('retry')
    .description(
      'Retry a failed, overdue or abnormal refund under the same refund number. WeChat Pay pays an abnormal one to the bank account of the merchant, who then has to pay the payer.',
    )
    .argument('<refundNo>');
  examples(
    changes(command),
    'payctl refund retry R20261121060100D4N8ZR3VHC',
    'payctl refund retry R20261121060100D4N8ZR3VHC -y --json',
  ).action((refundNo: string, flags: ChangeFlags) => runRetry(context(), refundNo, flags));
}

/** Retries a refund. */
async function runRetry({ change, print }: Context, refundNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `retry refund ${refundNo}`,
      name: refundNo,
      risk: 'moderate',
      method: 'POST',
      path: `${REFUNDS}/${segment(refundNo)}/retry`,
    },
    flags,
  );
  if (row) await print.item(row, VIEW);
}

/** Adds `refund sync`. */
function defineSync(noun: Command, context: ContextOf): void {
  const command = noun
    .command('sync')
    .description('Query the channel about a refund now and apply the result.')
    .argument('<refundNo>');
  examples(
    changes(command),
    'payctl refund sync R20261121060100D4N8ZR3VHC',
    'payctl refund sync R20261121060100D4N8ZR3VHC --fields status',
  ).action((refundNo: string, flags: ChangeFlags) => runSync(context(), refundNo, flags));
}

/** Asks the channel. */
async function runSync({ change, print }: Context, refundNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    { what: `sync refund ${refundNo}`, name: refundNo, method: 'POST', path: `${REFUNDS}/${segment(refundNo)}/sync` },
    flags,
  );
  if (row) await print.item(row, VIEW);
}

/** How a refund that needs a person can be resolved. */
const ACTIONS = ['paid_elsewhere', 'release', 'failed_at_channel'] as const;

/** The flags of `refund resolve`. */
interface ResolveFlags extends ChangeFlags {
  action?: string;
  reason?: string;
}

const RESOLVE_FIELDS: readonly Field[] = [
  { name: 'action', value: 'action', help: 'resolution', choices: ACTIONS, required: true },
  { name: 'reason', value: 'text', help: 'reason, recorded with your name', required: true },
];

/** Adds `refund resolve`. */
function defineResolve(noun: Command, context: ContextOf): void {
  const command = noun
    .command('resolve')
    .description(
      'Resolve an abnormal or overdue refund manually: it was paid by other means, or its amount is free again.',
    )
    .argument('<refundNo>');
  command
    .addOption(choice('--action <action>', 'resolution', ACTIONS))
    .option('--reason <text>', 'reason, recorded with your name');
  examples(
    changes(command),
    'payctl refund resolve R20261121060100D4N8ZR3VHC --action paid_elsewhere --reason "bank transfer 4711"',
    'payctl refund resolve R20261121060100D4N8ZR3VHC --action release --reason "payer agreed" --confirm R20261121060100D4N8ZR3VHC',
  ).action((refundNo: string, flags: ResolveFlags) => runResolve(context(), refundNo, flags));
}

/** Resolves a refund; always confirmed with its number, because balances change. */
async function runResolve(context: Context, refundNo: string, flags: ResolveFlags): Promise<void> {
  const { action, reason } = flags;
  const body = await complete(context, RESOLVE_FIELDS, {
    ...(action ? { action } : {}),
    ...(reason ? { reason } : {}),
  });
  const row = await context.change(
    {
      what: `resolve refund ${refundNo} as ${String(body['action'])}`,
      name: refundNo,
      risk: 'severe',
      method: 'POST',
      path: `${REFUNDS}/${segment(refundNo)}/resolve`,
      body,
    },
    flags,
  );
  if (row) await context.print.item(row, VIEW);
}

/** Adds the verbs of `refund`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Create, track, retry and resolve refunds.');
  for (const addVerb of [defineCreate, defineGet, defineList, defineSync, defineRetry, defineResolve])
    addVerb(noun, context);
}
