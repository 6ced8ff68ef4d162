import { randomInt, X509Certificate } from 'node:crypto';
import { Decorator } from 'wechatpay-axios-plugin';
import type { SimulatedChannelConfig } from '../../../server/simulator/channel-simulator.ts';
import type { World } from '../../unit/simulator/world.ts';

/** The response of the package. */
export interface Answer {
  status: number;
  data: Record<string, unknown>;
}
/** The client of the package. */
export interface Client {
  request(path: string, method: string, data?: object, config?: object): Promise<Answer>;
}

/** The unchanged package with our base address; its caller must add `Wechatpay-Serial`. */
export function clientOf(world: World, { fields, pems }: SimulatedChannelConfig): Client {
  const merchant = new X509Certificate(pems.wechat_merchant_cert?.[0] ?? '');
  const headers: Record<string, string> = {};
  if (fields.publicKeyId) headers['Wechatpay-Serial'] = fields.publicKeyId;
  const options = {
    baseURL: `${world.url}/wechat/`,
    mchid: fields.mchid ?? '',
    serial: merchant.serialNumber,
    privateKey: pems.wechat_merchant_key?.[0] ?? '',
    certs: certsOf({ fields, pems }),
    headers,
    proxy: false as const,
  };
  return new Decorator(options) as unknown as Client;
}

/** Returns every verification key by serial. */
export function certsOf({ fields, pems }: SimulatedChannelConfig): Record<string, string> {
  const certificates = (pems.wechat_platform_cert ?? []).map((pem) => [new X509Certificate(pem).serialNumber, pem]);
  const keys = (pems.wechat_public_key ?? []).map((pem) => [fields.publicKeyId, pem]);
  return Object.fromEntries([...certificates, ...keys]) as Record<string, string>;
}

/** An encrypted member of a notification. */
export interface Encrypted {
  ciphertext: string;
  nonce: string;
  associated_data: string;
}

/** Returns random digits. */
export function newDigits(count: number): string {
  return Array.from({ length: count }, () => randomInt(10)).join('');
}
