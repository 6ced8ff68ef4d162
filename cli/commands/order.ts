import { MODES, ORDER_STATUSES } from '../../server/domain.ts';
import type { Command } from 'commander';
import { addAction } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { addExport } from '../export-stream.ts';
import { amount, examples, needs, paged } from '../options.ts';
import {
  type ListFlags,
  type Resource,
  addFields,
  addGet,
  listPath,
  printList,
  queryOf,
  rowPath,
  segment,
  watchList,
} from '../resource.ts';
import type { Row, View } from '../values.ts';
import { type WatchFlags, watchFlags } from '../watch.ts';
import { BY, ORDERS, ORDER_VIEW, paymentPath, period } from './views.ts';

const ORDER_NO = 'P202611210558007K2MQX9WBT';

const order = {
  noun: 'order',
  plural: 'orders',
  path: ORDERS,
  idName: 'orderNo',
  view: ORDER_VIEW,
  filters: [
    { name: 'status', value: 'status', help: 'filter by status', choices: ORDER_STATUSES },
    BY.channel,
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
    BY.project,
    BY.app,
    {
      name: 'amountMin',
      value: 'amount',
      help: "minimum amount, in major units of the order's currency",
      read: amount,
    },
    {
      name: 'amountMax',
      value: 'amount',
      help: "maximum amount, in major units of the order's currency",
      read: amount,
    },
    ...period('created after', 'created before'),
  ],
  own: {
    list: '/api/v2/payment/orders',
    get: '/api/v2/payment/query',
    filters: ['status', 'merchantOrderNo', 'userId', 'createdFrom', 'createdTo'],
  },
} as const satisfies Resource;

function defineList(noun: Command, context: ContextOf): void {
  const command = noun
    .command('list')
    .description('List orders, newest first; with --watch, new and changed orders as well.');
  addFields(needs(command, 'any'), order.filters);
  examples(
    watchFlags(paged(command)),
    'payctl order list --status paid --pay-way alipay --limit 20',
    'payctl order list --channel-trade-no 2026112122001400001 --json',
    'payctl order list --since 2026-11-01 --all --fields orderNo,amount,currency > november.tsv',
    'payctl order list --status pending --watch --count 1',
  ).action(async (flags: Row & ListFlags & WatchFlags) => {
    const query = queryOf(flags, order.filters);
    const path = await listPath(context(), order, query);
    await (flags.watch ? watchList : printList)(context(), path, query, ORDER_VIEW, flags);
  });
}

const TIMELINE: View = {
  noun: 'step',
  id: 'at',
  columns: [{ field: 'at', kind: 'time' }, { field: 'kind', kind: 'id' }, { field: 'summary' }],
};

function defineTimeline(noun: Command, context: ContextOf): void {
  const command = needs(noun.command('timeline'), 'any')
    .description(
      'Show the history of an order: state changes, exceptions, events, webhook deliveries, and for administrators channel messages.',
    )
    .argument('<orderNo>');
  examples(command, `payctl order timeline ${ORDER_NO}`, `payctl order timeline ${ORDER_NO} -o jsonl`).action(
    (orderNo: string) => runTimeline(context(), orderNo),
  );
}

async function runTimeline(context: Context, orderNo: string): Promise<void> {
  const own = (await context.application()) && `/api/v2/payment/orders/${segment(orderNo)}`;
  return printList(context, `${own ?? rowPath(order, orderNo)}/timeline`, {}, TIMELINE, {});
}

/** Adds the subcommands of `payctl order`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Find, track, sync, capture, close and export orders.');
  defineList(noun, context);
  addGet(noun, context, order, [`payctl order get ${ORDER_NO}`, `payctl order get ${ORDER_NO} --fields status`]);
  defineTimeline(noun, context);
  addAction(noun, context, order, {
    verb: 'capture',
    words: 'Capture a PayPal order that its payer has approved, without waiting for the notification.',
    lines: [`payctl order capture ${ORDER_NO}`, `payctl order capture ${ORDER_NO} -y --json`],
    merchants: true,
    request: async (orderNo, _body, context) => ({
      path: `${await paymentPath(context)}/capture/${segment(orderNo)}`,
    }),
    risk: 'moderate',
    money: true,
    done: ({ status }, orderNo) =>
      status === 'paid'
        ? `Captured order ${orderNo}.`
        : `The order is ${String(status)}. The reason, and the next step: payctl explain ${orderNo}`,
  });
  addAction(noun, context, order, {
    verb: 'close',
    words: 'Close an unpaid order, including at the channel. Exits with 6 if it is already paid.',
    lines: [`payctl order close ${ORDER_NO}`, `payctl order close ${ORDER_NO} -y --json`],
    merchants: true,
    request: async (orderNo, _body, { application }) =>
      (await application()) ? { path: `/api/v2/payment/close/${segment(orderNo)}` } : {},
    risk: 'moderate',
    money: true,
    done: ({ status }, orderNo) =>
      status === 'closing'
        ? `The channel has not confirmed the close yet. The reason, and the next step: payctl explain ${orderNo}`
        : `Closed order ${orderNo}.`,
  });
  addAction(noun, context, order, {
    verb: 'sync',
    words: 'Query the channel about an order now and apply the result.',
    lines: [`payctl order sync ${ORDER_NO}`, `payctl order sync ${ORDER_NO} --fields status`],
  });
  addExport(
    noun,
    context,
    order,
    'Export all matching orders as CSV or NDJSON, to stdout or to a new file that is created only once it is complete.',
    [
      'payctl order export --since 2026-11-01 --file november.csv',
      'payctl order export --status paid --format ndjson > paid.ndjson',
    ],
  );
}
