import type { X509Certificate } from 'node:crypto';
import { type ChannelInput, ChannelMisconfigured, type FeeRate, type Mode } from '../../payments/channel.ts';
import { readFeeRate } from '../fee-rate.ts';
import { readPems } from './signature.ts';

/** The certificate kind that vouches for the simulator's webhook certificate; never read in the other modes. */
export const SIMULATOR_CA = 'paypal_simulator_ca';

const API_URLS: Readonly<Record<Exclude<Mode, 'simulator'>, string>> = {
  live: 'https://api-m.paypal.com',
  sandbox: 'https://api-m.sandbox.paypal.com',
};

/** The certificate kind for an intermediate that PayPal's webhook certificate comes without. */
export const WEBHOOK_INTERMEDIATE = 'paypal_webhook_intermediate';

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
  /** What PayPal charges; undefined = fees in bills are not compared. */
  rate: FeeRate | undefined;
  /** The authorities that are trusted in simulator mode; empty in the others, where only the public roots count. */
  simulatorRoots: readonly X509Certificate[];
  /** Certificates that may stand between a webhook certificate and a root; trusted only through the root. */
  intermediates: readonly X509Certificate[];
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
    rate: readFeeRate(input.fields, { withAmount: true }),
    simulatorRoots: input.mode === 'simulator' ? certificates(input, SIMULATOR_CA) : [],
    intermediates: certificates(input, WEBHOOK_INTERMEDIATE),
  };
}

function apiUrlOf(input: ChannelInput): string {
  if (input.mode !== 'simulator') return API_URLS[input.mode];
  if (!input.simulatorUrl) throw new ChannelMisconfigured('mode', 'No simulator is configured.');
  return `${input.simulatorUrl.replace(/\/+$/, '')}/paypal`;
}

function certificates({ pems }: ChannelInput, kind: string): X509Certificate[] {
  return (pems[kind] ?? []).flatMap((pem) => {
    const found = readable(pem);
    if (found.length === 0) throw new ChannelMisconfigured(kind, `${kind} contains no readable certificate.`);
    return found;
  });
}

function readable(pem: string): X509Certificate[] {
  try {
    return readPems(pem);
  } catch {
    return [];
  }
}

function required(input: ChannelInput, field: string): string {
  const value = input.fields[field];
  if (!value) throw new ChannelMisconfigured(field, `${field} is required.`);
  return value;
}
