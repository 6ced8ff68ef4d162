import { ChannelMisconfigured } from '../../payments/channel.ts';
import type { ChannelInput, Mode } from '../../payments/channel.ts';

/** The certificate kind that vouches for the simulator's webhook certificate; never read in the other modes. */
export const SIMULATOR_CA = 'paypal_simulator_ca';

const API_URLS: Readonly<Record<Exclude<Mode, 'simulator'>, string>> = {
  live: 'https://api-m.paypal.com',
  sandbox: 'https://api-m.sandbox.paypal.com',
};

/** What every part of the adapter needs of one configuration version. */
export interface PaypalSettings {
  mode: Mode;
  /** Base address of the REST API, without a slash at the end. */
  apiUrl: string;
  clientId: string;
  clientSecret: string;
  webhookId: string;
  /** When set, every order must name this payee. */
  merchantId: string | null;
  /** PEM texts of the authorities that are trusted in simulator mode. */
  simulatorCas: readonly string[];
}

/** Reads a configuration; throws ChannelMisconfigured naming the field. */
export function readSettings(input: ChannelInput): PaypalSettings {
  return {
    mode: input.mode,
    apiUrl: apiUrlOf(input),
    clientId: required(input, 'clientId'),
    clientSecret: required(input, 'clientSecret'),
    webhookId: required(input, 'webhookId'),
    merchantId: input.fields['merchantId'] || null,
    simulatorCas: input.mode === 'simulator' ? (input.pems[SIMULATOR_CA] ?? []) : [],
  };
}

function apiUrlOf(input: ChannelInput): string {
  if (input.mode !== 'simulator') return API_URLS[input.mode];
  if (!input.simulatorUrl) throw new ChannelMisconfigured('mode', 'There is no simulator to send to.');
  return `${input.simulatorUrl.replace(/\/+$/, '')}/paypal`;
}

function required(input: ChannelInput, field: string): string {
  const value = input.fields[field];
  if (!value) throw new ChannelMisconfigured(field, `PayPal needs ${field}.`);
  return value;
}
