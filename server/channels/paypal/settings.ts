import type { X509Certificate } from 'node:crypto';
import { type ChannelInput, ChannelMisconfigured, type FeeRate, type Mode } from '../../payments/channel.ts';
import { readFeeRate } from '../fee-rate.ts';
import { readPems } from './signature.ts';

/** The certificate authority of the simulator's webhooks. It is read only in simulator mode. */
export const SIMULATOR_CA = 'paypal_simulator_ca';

const API_URLS: Readonly<Record<Exclude<Mode, 'simulator'>, string>> = {
  live: 'https://api-m.paypal.com',
  sandbox: 'https://api-m.sandbox.paypal.com',
};

/** The certificate kind for an intermediate certificate that PayPal's certificate file does not contain. */
export const WEBHOOK_INTERMEDIATE = 'paypal_webhook_intermediate';

export interface PaypalSettings {
  mode: Mode;
  /** The base URL of the REST API, without a slash at the end. */
  apiUrl: string;
  clientId: string;
  clientSecret: string;
  webhookId: string;
  /** If set, every order must have this payee. */
  merchantId: string | null;
  /** The configured fee rate. If it is undefined, the fees in bills are not compared with it. */
  rate: FeeRate | undefined;
  /** The authorities that are trusted in simulator mode. Empty in the other modes, which trust the public roots. */
  simulatorRoots: readonly X509Certificate[];
  /** The configured intermediate certificates. Each is trusted only if it leads to a trusted root. */
  intermediates: readonly X509Certificate[];
}

/** Reads the settings from a configuration. Throws ChannelMisconfigured, which names the unusable field. */
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
  if (!input.simulatorUrl)
    throw new ChannelMisconfigured('mode', 'The mode is simulator, but no simulator is configured.');
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
