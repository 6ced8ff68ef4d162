import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { amount, changes, examples } from '../../options.ts';
import { confirmChange, targetLine, type ChangeFlags } from '../../safety.ts';
import { plain } from '../../values.ts';
import { SKILLPAY, VIEW, asMerchant, merchantFlags, type MerchantFlags } from './merchant.ts';

/** The flags of `skillpay refund`. */
export interface RefundFlags extends ChangeFlags, MerchantFlags {
  amount?: string;
  reason?: string;
}

/** Adds `skillpay refund`. */
export function define(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('refund')
      .description('Refund a pay-per-call order; without --amount, the full remaining amount.')
      .argument('<outTradeNo>'),
  );
  command.option('--amount <amount>', 'amount to refund, in major units', amount).option('--reason <text>', 'reason');
  examples(
    changes(command, { money: true }),
    'payctl skillpay refund X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay refund X202611210558007K2MQX9WBT --amount 0.05 -y --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
  ).action((no: string, flags: RefundFlags) => run(context(), no, flags));
}

/** Refunds as the merchant would. */
export async function run(context: Context, outTradeNo: string, flags: RefundFlags): Promise<void> {
  const { print, prompts, target, terminal } = context;
  const body = {
    outTradeNo,
    ...(flags.amount ? { refundAmount: flags.amount } : {}),
    ...(flags.reason ? { reason: flags.reason } : {}),
  };
  const path = `${SKILLPAY}/refund`;
  if (flags.dryRun) return print.item({ dryRun: true, method: 'POST', path, body }, VIEW);
  const place = await target();
  await print.note(targetLine(terminal, place));
  await confirmChange(
    prompts,
    {
      what: `refund ${flags.amount ?? 'the full remaining amount'} of ${outTradeNo}`,
      name: outTradeNo,
      risk: place.label === 'prod' ? 'severe' : 'moderate',
    },
    flags,
    place.context ?? place.origin,
  );
  const api = await asMerchant(context, flags);
  const idempotencyKey = flags.idempotencyKey ?? randomUUID();
  const row = await api.data({ method: 'POST', path, body, idempotencyKey });
  context.known.done = `refund ${plain(row['refundNo'])} of ${outTradeNo}`;
  await print.item(row, {
    ...VIEW,
    columns: [
      { field: 'refundNo', kind: 'id' },
      { field: 'status', kind: 'status' },
      { field: 'refundAmount', kind: 'money' },
    ],
  });
}
