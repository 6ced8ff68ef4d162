import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import { segment } from '../../resource.ts';
import { SKILLPAY, VIEW, asMerchant, merchantFlags, type MerchantFlags } from './merchant.ts';

/** Adds `skillpay get`. */
export function define(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun.command('get').description('Show a pay-per-call order and its fulfilment.').argument('<outTradeNo>'),
  );
  examples(
    command,
    'payctl skillpay get X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay get X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret --fields status',
  ).action((no: string, flags: MerchantFlags) => run(context(), no, flags));
}

/** Prints one order. */
export async function run(context: Context, outTradeNo: string, flags: MerchantFlags): Promise<void> {
  await context.print.item(
    await (await asMerchant(context, flags)).get(`${SKILLPAY}/query/${segment(outTradeNo)}`),
    VIEW,
  );
}
