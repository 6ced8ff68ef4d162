import type { Command } from 'commander';
import { addAction } from '../action.ts';
import type { Context, ContextOf } from '../context.ts';
import { amount } from '../options.ts';
import { type Resource, addGet, addList, segment } from '../resource.ts';
import type { Change } from '../safety.ts';
import { type Row, money } from '../values.ts';
import { BY, ORDERS, REASON, REFUNDS, period } from './views.ts';

const ORDER_NO = 'P202611210558007K2MQX9WBT';
const REFUND_NO = 'R20261121060100D4N8ZR3VHC';

const refund: Resource = {
  noun: 'refund',
  plural: 'refunds',
  path: REFUNDS,
  idName: 'refundNo',
  view: {
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
      { field: 'failure.code', title: 'FAILURE' },
    ],
  },
  filters: [
    {
      name: 'status',
      value: 'status',
      help: 'filter by status',
      choices: ['pending', 'processing', 'waiting_for_approval', 'succeeded', 'failed', 'abnormal'],
    },
    BY.order,
    BY.app,
    { name: 'merchantRefundNo', value: 'no', help: 'filter by the refund number of the merchant' },
    BY.project,
    ...period('requested after', 'requested before'),
  ],
  own: {
    list: '/api/v2/payment/refunds',
    get: '/api/v2/payment/refunds',
    filters: ['status', 'orderNo', 'merchantRefundNo', 'createdFrom', 'createdTo'],
  },
};

async function completeRefund(orderNo: string, body: Row, context: Context): Promise<Partial<Change>> {
  const { api, application, prompts } = context;
  const isOwn = (await application()) !== undefined;
  const order = await api.get(`${isOwn ? '/api/v2/payment/query' : ORDERS}/${segment(orderNo)}`);
  const refundAmount =
    body['refundAmount'] ??
    amount(
      await prompts.text({
        message: `Amount to refund (paid: ${money(order['amount'], order['currency'])})`,
        flag: '--amount',
        default: String(order['refundableAmount'] ?? ''),
      }),
    );
  return {
    what: `refund ${money(refundAmount, order['currency'])} of order ${orderNo}`,
    risk: (await context.label()) === 'prod' ? 'severe' : 'moderate',
    path: isOwn ? '/api/v2/payment/refund' : `${ORDERS}/${segment(orderNo)}/refunds`,
    body: { ...(isOwn && { orderNo }), refundAmount, ...body },
  };
}

/** Adds the subcommands of `payctl refund`. */
export function define(noun: Command, context: ContextOf): void {
  noun.description('Create, track, retry and resolve refunds.');
  addAction(
    noun,
    context,
    { ...refund, idName: 'orderNo' },
    {
      verb: 'create',
      words:
        'Refund an order in full or in part. On prod, type the order number to confirm; elsewhere --yes is enough.',
      lines: [
        `payctl refund create ${ORDER_NO} --amount 40.00 --reason "damaged"`,
        `payctl refund create ${ORDER_NO} --amount 40 --confirm ${ORDER_NO} --json`,
        `payctl refund create ${ORDER_NO} --amount 40 --dry-run`,
      ],
      fields: [
        {
          name: 'refundAmount',
          flag: 'amount',
          value: 'amount',
          help: 'amount to refund, in major units',
          read: amount,
        },
        { name: 'reason', value: 'text', help: 'reason, shown to the payer if the channel supports it' },
        { name: 'merchantRefundNo', value: 'no', help: 'your own refund number; reusing it never refunds twice' },
      ],
      merchants: true,
      request: completeRefund,
      money: true,
      done: ({ status, refundNo }) =>
        status === 'succeeded'
          ? 'The refund succeeded.'
          : `The channel is still processing the refund. Next: payctl refund get ${String(refundNo)}`,
    },
  );
  addGet(noun, context, refund, [`payctl refund get ${REFUND_NO}`, `payctl refund get ${REFUND_NO} --fields status`]);
  addList(noun, context, refund, [
    'payctl refund list --status abnormal',
    'payctl refund list --order P202611210558007K2MQX9WBT',
    'payctl refund list --since 7d --all --json',
  ]);
  addAction(noun, context, refund, {
    verb: 'sync',
    words: 'Query the channel about a refund now and apply the result.',
    lines: [`payctl refund sync ${REFUND_NO}`, `payctl refund sync ${REFUND_NO} --fields status`],
  });
  addAction(noun, context, refund, {
    verb: 'retry',
    words:
      'Retry a failed, overdue or abnormal refund under the same refund number. WeChat Pay pays an abnormal one to the bank account of the merchant, who then has to pay the payer.',
    lines: [`payctl refund retry ${REFUND_NO}`, `payctl refund retry ${REFUND_NO} -y --json`],
    risk: 'moderate',
  });
  addAction(noun, context, refund, {
    verb: 'resolve',
    words:
      'Resolve an abnormal or overdue refund manually: it was paid by other means, or its amount becomes refundable again.',
    lines: [
      `payctl refund resolve ${REFUND_NO} --action paid_elsewhere --reason "bank transfer 4711"`,
      `payctl refund resolve ${REFUND_NO} --action release --reason "payer agreed" --confirm ${REFUND_NO}`,
    ],
    fields: [
      {
        name: 'action',
        value: 'action',
        help: 'resolution',
        choices: ['paid_elsewhere', 'release', 'failed_at_channel'],
        required: true,
      },
      REASON,
    ],
    request: (refundNo, { action }) => ({ what: `resolve refund ${refundNo} as ${String(action)}` }),
    // Resolving the refund changes balances and cannot be undone.
    risk: 'severe',
  });
}
