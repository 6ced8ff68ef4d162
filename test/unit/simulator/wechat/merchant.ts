import { createPrivateKey, createSign, randomBytes, X509Certificate } from 'node:crypto';
import { request } from 'node:http';
import { createTransport } from '../../../../server/channels/transport.ts';
import { wechatKind } from '../../../../server/channels/wechat/kind.ts';
import type { Channel } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import { wechatSimulator } from '../../../../server/simulator/wechat/simulator.ts';
import { startWorld, type World } from '../world.ts';

/** Starts a simulator with WeChat Pay only and delays shortened a thousand times by default. */
export function startWechat(timeFactor = 0.001): Promise<World> {
  return startWorld({ timeFactor, channelSimulators: [wechatSimulator] });
}

/** Returns the configuration of an account, and creates the account unless it is `default`. */
export async function configOf(world: World, name = 'default', options: object = {}): Promise<SimulatedChannelConfig> {
  const configs =
    name === 'default'
      ? await world.config()
      : await world.post<Record<string, SimulatedChannelConfig>>('/sim/accounts', {
          payWay: 'wechat',
          name,
          ...options,
        });
  const { wechat } = configs;
  if (!wechat) throw new Error('The simulator has no WeChat account.');
  return wechat;
}

/** Creates the adapter of this account. */
export function channelOf(world: World, { fields, pems }: SimulatedChannelConfig, timeoutMs = 120_000): Channel {
  const send = createTransport({ timeoutMs });
  return wechatKind.create({ mode: 'simulator', fields, pems, simulatorUrl: world.url, send, now: () => new Date() });
}

/** A raw response. */
export interface Raw {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  /** The header names as sent. */
  names: string[];
  body: string;
  /** The `code` of the body, empty if missing. */
  code: string;
}

/** The variations of a request. */
export interface How {
  timestamp?: number;
  serial?: string;
  mchid?: string;
  signature?: string;
  authorization?: string;
  headers?: Record<string, string>;
  without?: readonly string[];
  /** A form and its signed text. */
  form?: { bytes: Buffer; signed: string };
  /** Another base address than the channel's path in the simulator. */
  root?: string;
}

/** Signs and sends a request with only node:crypto and node:http, so that no extra header is added. */
export async function call(
  world: World,
  { fields, pems }: SimulatedChannelConfig,
  method: string,
  path: string,
  body?: object,
  how: How = {},
): Promise<Raw> {
  const url = new URL(`${how.root ?? `${world.url}/wechat`}${path}`);
  const text = how.form?.signed ?? (body === undefined ? '' : JSON.stringify(body));
  const timestamp = how.timestamp ?? Math.floor(Date.now() / 1000);
  const nonce = randomBytes(8).toString('hex');
  const signed = [method, url.pathname + url.search, timestamp, nonce, text, ''].join('\n');
  const key = createPrivateKey(pems.wechat_merchant_key?.[0] ?? '');
  const signature = how.signature ?? createSign('RSA-SHA256').update(signed).sign(key, 'base64');
  const serial = how.serial ?? new X509Certificate(pems.wechat_merchant_cert?.[0] ?? '').serialNumber;
  const parts = `serial_no="${serial}",timestamp="${timestamp}",nonce_str="${nonce}",signature="${signature}"`;
  const headers: Record<string, string> = {
    accept: 'application/json',
    'user-agent': 'test',
    'content-type': 'application/json',
    authorization: how.authorization ?? `WECHATPAY2-SHA256-RSA2048 mchid="${how.mchid ?? fields.mchid}",${parts}`,
    ...how.headers,
  };
  for (const name of how.without ?? []) delete headers[name];
  return send(url, method, headers, how.form?.bytes ?? text);
}

/** The body of a native order of 12.34. */
export function nativeOrder({ fields }: SimulatedChannelConfig, changes: object = {}): Record<string, unknown> {
  return {
    appid: fields.appId,
    mchid: fields.mchid,
    description: 'A cup of tea',
    out_trade_no: newNo(),
    notify_url: 'http://127.0.0.1:9/notify',
    amount: { total: 1234, currency: 'CNY' },
    ...changes,
  };
}

/** Returns an unused number. */
export function newNo(): string {
  return `N${randomBytes(10).toString('hex')}`;
}

function send(url: URL, method: string, headers: Record<string, string>, text: string | Buffer): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        const names = answer.rawHeaders.filter((_, at) => at % 2 === 0);
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, names, body, code: codeIn(body) });
      });
    });
    sent.on('error', reject);
    sent.end(text);
  });
}

function codeIn(body: string): string {
  return body.startsWith('{') ? ((JSON.parse(body) as { code?: string }).code ?? '') : '';
}
