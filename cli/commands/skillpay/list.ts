import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { examples } from '../../options.ts';
import type { Row } from '../../values.ts';
import { SKILLPAY, asMerchant, merchantFlags, type MerchantFlags } from './merchant.ts';

const PRICE = {
  noun: 'resource',
  id: 'resource',
  columns: [
    { field: 'resource', kind: 'id' },
    { field: 'price', kind: 'money' },
    { field: 'payWays' },
    { field: 'name' },
  ],
} as const;

/** Adds `skillpay list`. */
export function define(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun.command('list').description('List the resources that can be called, with their prices.'),
  );
  examples(
    command,
    'payctl skillpay list --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay list --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret --json',
  ).action((flags: MerchantFlags) => run(context(), flags));
}

/** Prints the price list. */
export async function run(context: Context, flags: MerchantFlags): Promise<void> {
  const { body } = await (await asMerchant(context, flags)).call({ method: 'GET', path: `${SKILLPAY}/resources` });
  await context.print.list((body as { data?: Row[] } | undefined)?.data ?? [], PRICE);
}
