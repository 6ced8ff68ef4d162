import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { CliError, EXIT } from '../../errors.ts';
import { examples } from '../../options.ts';
import { plain } from '../../values.ts';
import { SKILLPAY, VIEW, asMerchant, merchantFlags, type MerchantFlags } from './merchant.ts';

/** The flags of `skillpay redeem`. */
export type RedeemFlags = MerchantFlags & { content?: boolean };

/** Adds `skillpay redeem`. */
export function define(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('redeem')
      .description(
        'Get the paid content. Exits with 1 if the order is not paid yet. Safe to repeat: it is fulfilled only once.',
      )
      .argument('<outTradeNo>'),
  );
  command.option('--content', 'print only the content');
  examples(
    command,
    'payctl skillpay redeem X202611210558007K2MQX9WBT --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay redeem X202611210558007K2MQX9WBT --content --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
  ).action((no: string, flags: RedeemFlags) => run(context(), no, flags));
}

/** Redeems an order. */
export async function run(context: Context, outTradeNo: string, flags: RedeemFlags): Promise<void> {
  const { print, terminal } = context;
  const api = await asMerchant(context, flags);
  const { status, body } = await api.call({
    method: 'POST',
    path: `${SKILLPAY}/resource`,
    headers: { 'x-out-trade-no': outTradeNo },
    accept: [402],
  });
  const data = (body as { data?: Record<string, unknown> } | undefined)?.data ?? {};
  if (status === 402)
    throw new CliError(
      'payment_required',
      EXIT.failed,
      `${outTradeNo} is not paid (${plain(data['status']) || 'unknown'}).`,
      {
        status,
        hint: typeof data['payUrl'] === 'string' ? `pay at ${data['payUrl']}` : `payctl skillpay get ${outTradeNo}`,
      },
    );
  if (data['status'] === 'refunded')
    throw new CliError('refunded', EXIT.failed, `${outTradeNo} could not be fulfilled and was refunded.`, {
      status,
      hint: plain(data['refundReason']) || `payctl skillpay get ${outTradeNo}`,
    });
  if (flags.content) return terminal.out.write(`${text(data['content'])}\n`);
  await print.item(data, VIEW);
}

/** Content as it is: text plainly, anything else as JSON. */
function text(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content);
}
