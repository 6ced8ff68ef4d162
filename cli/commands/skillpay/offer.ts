import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { Context } from '../../context.ts';
import { choice, examples, given, json } from '../../options.ts';
import { drawQr } from '../../qr.ts';
import { targetLine } from '../../safety.ts';
import type { Row } from '../../values.ts';
import { PAY_WAYS } from '../channel/view.ts';
import type { ContextOf } from '../index.ts';
import { SKILLPAY, VIEW, asMerchant, merchantFlags, type MerchantFlags } from './merchant.ts';

/** The flags of `skillpay offer`. */
export type OfferFlags = Row & MerchantFlags & { idempotencyKey?: string; dryRun?: boolean };

/** Adds `skillpay offer`. */
export function define(noun: Command, context: ContextOf): void {
  const command = merchantFlags(
    noun
      .command('offer')
      .description('Call a resource for the first time: get the offer (402) with its payment code and QR.'),
  );
  command
    .option('--resource <code>', 'what to call')
    .option('--input <json>', 'its input', json)
    .addOption(choice('--pay-way <channel>', 'how to pay', PAY_WAYS));
  command
    .option('--idempotency-key <key>', 'repeat an earlier try: it cannot happen twice')
    .option('--dry-run', 'show the request and send nothing');
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
  await print.done(`next: pay it, then payctl skillpay redeem ${String(offer['outTradeNo'])}`);
}
