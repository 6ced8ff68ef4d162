import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { amount, changes, examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import type { ChangeFlags } from '../../safety.ts';
import { money } from '../../values.ts';
import type { ContextOf } from '../index.ts';
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
      'Refund an order, in whole or in part. On prod the order number is asked for; elsewhere a yes is enough.',
    )
    .argument('<orderNo>')
    .option('--amount <amount>', 'how much, in major units', amount)
    .option('--reason <text>', 'shown to the payer where the channel can')
    .option('--merchant-refund-no <no>', 'your own number: the same one never refunds twice');
  examples(
    changes(command, { money: true }),
    'payctl refund create P202611210558ABCDEFGH12 --amount 40.00 --reason "damaged"',
    'payctl refund create P202611210558ABCDEFGH12 --amount 40 --confirm P202611210558ABCDEFGH12 --json',
    'payctl refund create P202611210558ABCDEFGH12 --amount 40 --dry-run',
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
        message: `How much of ${money(order['amount'], order['currency'])}?`,
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
      ? 'The money is on its way back.'
      : `The channel has not finished yet. next: payctl refund get ${String(row['refundNo'])}`,
  );
}
