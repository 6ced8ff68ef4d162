import type { Command } from 'commander';
import type { ApiClient } from '../../api-client.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { View } from '../../values.ts';
import { merchantApi } from '../api.ts';

/** The flags by which a command acts as a merchant's application. */
export interface MerchantFlags {
  app?: string;
  secretFile?: string;
}

/** Path of the pay-per-call protocol. */
export const SKILLPAY = '/api/v2/skillpay';

/** How a pay-per-call order is shown. */
export const VIEW: View = {
  noun: 'skillpay',
  id: 'outTradeNo',
  columns: [
    { field: 'outTradeNo', kind: 'id' },
    { field: 'status', kind: 'status' },
    { field: 'fulfilment', kind: 'status' },
    { field: 'amount', kind: 'money' },
    { field: 'resource' },
    { field: 'payWay' },
    { field: 'expiresAt', kind: 'time' },
  ],
};

/** Adds --app and --secret-file. */
export function merchantFlags(command: Command): Command {
  return command
    .option('--app <client_id>', 'authenticate as this application')
    .option('--secret-file <file>', 'file with the client_secret of the application');
}

/** A client with a token of the application. */
export function asMerchant(context: Context, flags: MerchantFlags): Promise<ApiClient> {
  if (!flags.app)
    throw new UsageError('Pay-per-call requires an application.', 'add --app CLIENT_ID --secret-file FILE');
  return merchantApi(context, flags.app, flags.secretFile);
}
