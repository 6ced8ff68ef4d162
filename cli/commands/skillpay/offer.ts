import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Context, ContextOf } from '../../context.ts';
import { choice, examples, given, json } from '../../options.ts';
import { drawQr } from '../../qr.ts';
import { targetLine } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { PAY_WAYS } from '../channel/view.ts';
import { SKILLPAY, VIEW, asMerchant, merchantFlags, type MerchantFlags } from './merchant.ts';

/** The flags of `skillpay offer`. */
export type OfferFlags = Row & MerchantFlags & { idempotencyKey?: string; dryRun?: boolean };

/** Adds `skillpay offer`. */
export function define(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('offer')
      .description('Call a resource without payment and get the offer (HTTP 402) with its payment code and QR code.'),
  );
  command
    .option('--resource <code>', 'resource to call')
    .option('--input <json>', 'input of the resource', json)
    .addOption(choice('--pay-way <channel>', 'channel to pay with', PAY_WAYS));
  command
    .option('--idempotency-key <key>', 'key of an earlier attempt; a retry with it never runs twice')
    .option('--dry-run', 'print the request without sending it');
  examples(
    command,
    'payctl skillpay offer --resource weather --input \'{"city":"Paris"}\' --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret',
    'payctl skillpay offer --app app_7Kd2mQxW9bTzR4vLp1Ns --secret-file shop.secret --fields outTradeNo,payUrl',
  ).action((flags: OfferFlags) => run(context(), flags));
}

/** Asks for an offer and shows how to pay it. */
export async function run(context: Context, flags: OfferFlags): Promise<void> {
  const { print, terminal, target } = context;
  const body = given(flags, ['resource', 'input', 'payWay']);
  const path = `${SKILLPAY}/resource`;
  if (flags.dryRun) return print.item({ dryRun: true, method: 'POST', path, body }, VIEW);
  await print.note(targetLine(terminal, await target()));
  const api = await asMerchant(context, flags);
  const offer = await api.data({
    method: 'POST',
    path,
    body,
    accept: [402],
    idempotencyKey: flags.idempotencyKey ?? randomUUID(),
  });
  if (terminal.err.isTerminal && typeof offer['qrCode'] === 'string')
    await terminal.err.write((await drawQr(offer['qrCode'], terminal.err)) ?? '');
  await print.item(offer, VIEW);
  await print.done(`Next: pay, then payctl skillpay redeem ${String(offer['outTradeNo'])}`);
}
