import { createPrivateKey, createPublicKey } from 'node:crypto';
import { signRsa2, verifyRsa2 } from '../../../../server/channels/alipay/signature.ts';
import { chinaTime, encode } from '../../../../server/simulator/alipay/answers.ts';
import { formEncode, readForm } from '../../../../server/simulator/alipay/requests.ts';
import type { World } from '../world.ts';

/** Creates an order with a GBK request and returns the response text. */
export async function gbkClient(world: World, content: object, notifyUrl: string): Promise<string> {
  return (await askInGbk(world, 'alipay.trade.precreate', content, notifyUrl)).bytes.toString();
}

/** Makes one gateway call in GBK and returns the raw response. */
export async function askInGbk(
  world: World,
  method: string,
  content: object,
  notifyUrl: string,
): Promise<{ type: string | null; bytes: Buffer }> {
  const { fields, pems } = (await world.config())['alipay']!;
  const params: Record<string, string> = {
    app_id: fields['appId']!,
    biz_content: JSON.stringify(content),
    charset: 'GBK',
    method,
    notify_url: notifyUrl,
    sign_type: 'RSA2',
    timestamp: chinaTime(Date.now()),
    version: '1.0',
  };
  const text = encode(joined(Object.entries(params)), 'GBK');
  const sign = await signRsa2(text, createPrivateKey(pems['alipay_app_key']![0]!));
  const pairs = Object.entries({ ...params, sign }).map(
    ([name, value]) => `${name}=${formEncode(encode(value, 'GBK'))}`,
  );
  const answer = await fetch(`${world.url}/alipay/gateway.do`, { method: 'POST', body: pairs.join('&') });
  return { type: answer.headers.get('content-type'), bytes: Buffer.from(await answer.arrayBuffer()) };
}

/** Returns whether a notification is signed over its own bytes with the key of the default account. */
export async function isGenuine(world: World, body: Buffer): Promise<boolean> {
  const { values } = readForm(body.toString('latin1'));
  const signed = [...values]
    .filter(([name]) => name !== 'sign' && name !== 'sign_type')
    .map(([name, value]) => [name, value.toString('latin1')] as const);
  const { pems } = (await world.config())['alipay']!;
  const key = createPublicKey(pems['alipay_public_key']![0]!);
  return verifyRsa2(Buffer.from(joined(signed), 'latin1'), values.get('sign')!.toString('latin1'), key);
}

function joined(pairs: readonly (readonly [string, string])[]): string {
  return pairs
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
}
