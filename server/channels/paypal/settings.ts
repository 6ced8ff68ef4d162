import type { X509Certificate } from 'node:crypto';
import { type ChannelInput, ChannelMisconfigured, type FeeRate, type Mode } from '../../payments/channel.ts';
import { readFeeRate } from '../fee-rate.ts';
import { readPems } from './signature.ts';

/** The certificate kind that verifies the simulator's webhook certificate; not read in the other modes. */
export const SIMULATOR_CA = 'paypal_simulator_ca';

const API_URLS: Readonly<Record<Exclude<Mode, 'simulator'>, string>> = {
  live: 'https://api-m.paypal.com',
  sandbox: 'https://api-m.sandbox.paypal.com',
};

/** The certificate kind for an intermediate that is missing in PayPal's certificate file. */
export const WEBHOOK_INTERMEDIATE = 'paypal_webhook_intermediate';

/** One configuration version, as all files of this folder use it. */
export interface PaypalSettings {
  mode: Mode;
  /** The base URL of the REST API, without a slash at the end. */
  apiUrl: string;
  clientId: string;
  clientSecret: string;
  webhookId: string;
  /** If set, every order must have this payee. */
  merchantId: string | null;
  /** The configured fee rate; undefined = fees in bills are not compared. */
  rate: FeeRate | undefined;
  /** The trusted authorities in simulator mode; empty in the other modes, which trust the public roots. */
  simulatorRoots: readonly X509Certificate[];
  /** Intermediates between a webhook certificate and a root; trusted only through the root. */
  intermediates: readonly X509Certificate[];
}

/** Reads a configuration; throws ChannelMisconfigured with the name of the unusable field. */
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
