import { MODES, ORDER_STATUSES, PAY_WAYS } from '../../server/domain.ts';
import type { Command } from 'commander';
import type { Query } from '../api-client.ts';
import type { Context, ContextOf } from '../context.ts';
import { type ExportFlags, exportFlags, exportStream } from '../export-stream.ts';
import { amount, changes, examples, instant, paged } from '../options.ts';
import { type Field, type ListFlags, addFields, bodyOf, printList, segment, watchList } from '../resource.ts';
import type { ChangeFlags } from '../safety.ts';
import type { Row, View } from '../values.ts';
import { type WatchFlags, watchFlags } from '../watch.ts';
import { ORDERS, ORDER_VIEW } from './views.ts';

/** How the steps of an order are shown. */
const TIMELINE: View = {
  noun: 'step',
  id: 'at',
  columns: [{ field: 'at', kind: 'time' }, { field: 'kind', kind: 'id' }, { field: 'summary' }],
};

/** What orders can be found by. */
const FILTERS: readonly Field[] = [
  { name: 'status', value: 'status', help: 'filter by status', choices: ORDER_STATUSES },
  { name: 'payWay', value: 'channel', help: 'filter by channel', choices: PAY_WAYS },
  { name: 'mode', value: 'mode', help: 'filter by mode', choices: MODES },
  { name: 'orderNo', value: 'no', help: 'filter by order number' },
  { name: 'merchantOrderNo', value: 'no', help: 'filter by the order number of the merchant' },
  {
    name: 'channelTradeNo',
    value: 'no',
    help: "filter by the channel's transaction number, as on the payer's receipt",
  },
  { name: 'exception', value: 'kind', help: 'filter by kind of open exception, or "any"' },
  { name: 'orderType', value: 'text', help: 'filter by business category' },
  { name: 'userId', value: 'id', help: 'filter by user' },
  { name: 'project', value: 'code', help: 'filter by project' },
  { name: 'clientId', flag: 'app', value: 'client_id', help: 'filter by application' },
  { name: 'amountMin', value: 'amount', help: "minimum amount, in major units of the order's currency", read: amount },
  { name: 'amountMax', value: 'amount', help: "maximum amount, in major units of the order's currency", read: amount },
  {
    name: 'createdFrom',
    flag: 'since',
    value: 'time',
    help: 'created after this time, e.g. 2026-01-31, or 2h for two hours ago',
    read: instant,
  },
  { name: 'createdTo', flag: 'until', value: 'time', help: 'created before this time', read: instant },
];

/** Adds `order list`. */
function defineList(noun: Command, context: ContextOf): void {
  const command = noun.command('list').description('List orders, newest first; with --watch as they come and change.');
  addFields(command, FILTERS);
  examples(
    watchFlags(paged(command)),
    'payctl order list --status paid --pay-way alipay --limit 20',
    'payctl order list --channel-trade-no 2026112122001400001 --json',
    'payctl order list --since 2026-11-01 --all --fields orderNo,amount,currency > november.tsv',
    'payctl order list --status pending --watch --count 1',
  ).action((options: Row & ListFlags & WatchFlags) => runList(context(), options));
}

/** Prints the orders that pass the filters, once or as they come. */
function runList(context: Context, options: Row & ListFlags & WatchFlags): Promise<void> {
  const query = bodyOf(options, FILTERS) as Query;
  return (options.watch ? watchList : printList)(context, ORDERS, query, ORDER_VIEW, options);
}

/** Adds `order get`. */
function defineGet(noun: Command, context: ContextOf): void {
  const command = noun.command('get').description('Show one order.').argument('<orderNo>');
  examples(
    command,
    'payctl order get P202611210558007K2MQX9WBT',
    'payctl order get P202611210558007K2MQX9WBT --fields status',
  ).action((orderNo: string) => runGet(context(), orderNo));
}

/** Prints one order. */
async function runGet({ api, print }: Context, orderNo: string): Promise<void> {
  await print.item(await api.get(`${ORDERS}/${segment(orderNo)}`), ORDER_VIEW);
}

/** Adds `order timeline`. */
function defineTimeline(noun: Command, context: ContextOf): void {
  const command = noun
    .command('timeline')
    .description(
      'Show the history of an order: state changes, channel messages, exceptions, events and webhook deliveries.',
    )
    .argument('<orderNo>');
  examples(
    command,
    'payctl order timeline P202611210558007K2MQX9WBT',
    'payctl order timeline P202611210558007K2MQX9WBT -o jsonl',
  ).action((orderNo: string) => runTimeline(context(), orderNo));
}

/** Prints the steps, oldest first. */
function runTimeline(context: Context, orderNo: string): Promise<void> {
  return printList(context, `${ORDERS}/${segment(orderNo)}/timeline`, {}, TIMELINE, {});
}

/** Adds `order capture`. */
function defineCapture(noun: Command, context: ContextOf): void {
  const command = noun
    .command('capture')
    .description('Take the money of a PayPal order that its payer has approved, without waiting for the notification.')
    .argument('<orderNo>');
  examples(
    changes(command, { money: true }),
    'payctl order capture P202611210558007K2MQX9WBT',
    'payctl order capture P202611210558007K2MQX9WBT -y --json',
  ).action((orderNo: string, flags: ChangeFlags) => runCapture(context(), orderNo, flags));
}

/** Captures an order. */
async function runCapture({ change, print }: Context, orderNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `capture order ${orderNo}`,
      name: orderNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `/api/v1/console/payment/capture/${segment(orderNo)}`,
    },
    flags,
  );
  if (!row) return;
  await print.item(row, ORDER_VIEW);
  await print.done(
    row['status'] === 'paid'
      ? `Captured order ${orderNo}.`
      : `The order is ${String(row['status'])}. Next: payctl explain ${orderNo}`,
  );
}

/** Adds `order close`. */
function defineClose(noun: Command, context: ContextOf): void {
  const command = noun
    .command('close')
    .description('Close an unpaid order, including at the channel. Exits with 6 if it is already paid.')
    .argument('<orderNo>');
  examples(
    changes(command, { money: true }),
    'payctl order close P202611210558007K2MQX9WBT',
    'payctl order close P202611210558007K2MQX9WBT -y --json',
  ).action((orderNo: string, flags: ChangeFlags) => runClose(context(), orderNo, flags));
}

/** Closes an order. */
async function runClose({ change, print }: Context, orderNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    {
      what: `close order ${orderNo}`,
      name: orderNo,
      risk: 'moderate',
      money: true,
      method: 'POST',
      path: `${ORDERS}/${segment(orderNo)}/close`,
    },
    flags,
  );
  if (!row) return;
  await print.item(row, ORDER_VIEW);
  await print.done(
    row['status'] === 'closing'
      ? `The channel has not confirmed the close yet. Next: payctl order get ${orderNo}`
      : `Closed order ${orderNo}.`,
  );
}

/** Adds `order sync`. */
function defineSync(noun: Command, context: ContextOf): void {
  const command = noun
    .command('sync')
    .description('Query the channel about an order now and apply the result.')
    .argument('<orderNo>');
  examples(
    changes(command),
    'payctl order sync P202611210558007K2MQX9WBT',
    'payctl order sync P202611210558007K2MQX9WBT --fields status',
  ).action((orderNo: string, flags: ChangeFlags) => runSync(context(), orderNo, flags));
}

/** Asks the channel. */
async function runSync({ change, print }: Context, orderNo: string, flags: ChangeFlags): Promise<void> {
  const row = await change(
    { what: `sync order ${orderNo}`, name: orderNo, method: 'POST', path: `${ORDERS}/${segment(orderNo)}/sync` },
    flags,
  );
  if (row) await print.item(row, ORDER_VIEW);
}

/** Adds `order export`. */
function defineExport(noun: Command, context: ContextOf): void {
  const command = noun
    .command('export')
    .description(
      'Export all matching orders as CSV or NDJSON, to stdout or to a new file that is created only once it is complete.',
    );
  addFields(command, FILTERS);
  examples(
    exportFlags(command),
    'payctl order export --since 2026-11-01 --file november.csv',
    'payctl order export --status paid --format ndjson > paid.ndjson',
  ).action((options: Row & ExportFlags) => runExport(context(), options));
}

/** Exports the orders that pass the filters. */
function runExport(context: Context, options: Row & ExportFlags): Promise<void> {
  return exportStream(context, `${ORDERS}/export`, bodyOf(options, FILTERS) as Query, options);
}

/** Adds the verbs of `order`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Find, track, sync, capture, close and export orders.');
  for (const addVerb of [defineList, defineGet, defineTimeline, defineCapture, defineClose, defineSync, defineExport])
    addVerb(noun, context);
}
