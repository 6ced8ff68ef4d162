import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { amount, changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { money } from '../../values.ts';
import { ORDERS } from '../order/view.ts';
import { VIEW } from './view.ts';

/** The flags of `refund create`. */
export interface RefundFlags extends ChangeFlags {
  amount?: string;
  reason?: string;
  merchantRefundNo?: string;
}

/** Adds `refund create`. */
export function define(noun: Command, context: ContextOf): void {
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
  ).action((orderNo: string, flags: RefundFlags) => run(context(), orderNo, flags));
}

/** Asks for a refund; the same Idempotency-Key goes with every try. */
export async function run(context: Context, orderNo: string, flags: RefundFlags): Promise<void> {
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
