import { createPrivateKey, createPublicKey } from 'node:crypto';
import { requestText, signRsa2, verifyRsa2 } from '../../../../server/channels/alipay/signature.ts';
import { chinaTime } from '../../../../server/simulator/alipay/answers.ts';
import type { World } from '../world.ts';

/** A gateway response: the response member, the whole text and the result of the signature check. */
export interface GatewayAnswer {
  content: Record<string, string>;
  text: string;
  signed: 'genuine' | 'wrong' | 'none';
}

/** A bare gateway client whose parameters the test controls. */
export interface Client {
  call(method: string, content: object, overrides?: Record<string, string>): Promise<GatewayAnswer>;
  send(params: Record<string, string>, verb?: 'GET' | 'POST'): Promise<GatewayAnswer>;
  sign(method: string, content: object, overrides?: Record<string, string>): Promise<Record<string, string>>;
  signParams(params: Record<string, string>): Promise<string>;
}

/** Creates a client for an account in key mode. */
export async function clientFor(world: World, account = 'default'): Promise<Client> {
  const { fields, pems } = (await world.config(account))['alipay']!;
  const key = createPrivateKey(pems['alipay_app_key']![0]!);
  const alipayKey = createPublicKey(pems['alipay_public_key']![0]!);

  const signParams: Client['signParams'] = (params) => signRsa2(requestText(params), key);
  const sign: Client['sign'] = async (method, content, overrides = {}) => {
    const common = { app_id: fields['appId']!, method, format: 'JSON', charset: 'utf-8', sign_type: 'RSA2' };
    const given = {
      ...common,
      timestamp: chinaTime(Date.now()),
      version: '1.0',
      biz_content: JSON.stringify(content),
      ...overrides,
    };
    return { sign: await signParams(given), ...given };
  };
  const send: Client['send'] = async (params, verb = 'POST') => {
    const [gateway, form] = [`${world.url}/alipay/gateway.do`, new URLSearchParams(params)];
    const asked = verb === 'GET' ? fetch(`${gateway}?${form}`) : fetch(gateway, { method: 'POST', body: form });
    const answer = await asked;
    const text = await answer.text();
    const match = /^\{"(\w+_response)":(\{.*?\}),?(?:"alipay_cert_sn":"\w+",)?(?:"sign":"([^"]*)")?\}$/s.exec(text);
    if (match === null) return { content: {}, text, signed: 'none' };
    const [, , member = '', signature] = match;
    const signed = signature === undefined ? 'none' : verifyRsa2(member, signature, alipayKey) ? 'genuine' : 'wrong';
    return { content: JSON.parse(member) as Record<string, string>, text, signed };
  };
  return {
    sign,
    signParams,
    send,
    call: async (method, content, overrides) => send(await sign(method, content, overrides)),
  };
}

/** The biz_content of an order. */
export function order(orderNo: string, amount = '12.30'): Record<string, string> {
  return { out_trade_no: orderNo, total_amount: amount, subject: 'coffee' };
}
