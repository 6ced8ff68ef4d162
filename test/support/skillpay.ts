import type { ProductRow } from '../../server/db/entities/catalog.ts';
import { randomUUID } from 'node:crypto';
import { request, until, type Answer, type Merchant, type Service } from './service.ts';

/** Creates a skill in the project `default`; by default 0.50 CNY and static content. */
export async function addSkill(service: Service, changes: Partial<ProductRow> = {}): Promise<ProductRow> {
  const at = service.clock.now();
  const row: ProductRow = {
    id: randomUUID(),
    project: 'default',
    code: 'weather',
    version: 1,
    name: 'Weather report',
    description: null,
    kind: 'skill',
    enabled: true,
    priceMinor: 50n,
    currency: 'CNY',
    payWays: ['wechat', 'alipay'],
    stock: null,
    perUserLimit: null,
    saleFrom: null,
    saleTo: null,
    orderType: null,
    coin: null,
    coinPrice: null,
    resource: { handler: 'static', content: { sky: 'blue' } },
    offerTtlSeconds: null,
    refundAfterFulfilment: true,
    createdAt: at,
    updatedAt: at,
    ...changes,
  };
  await service.app.store.transaction((tx) => tx.products.insert(row));
  return row;
}

/** Calls a resource; with a number it is a repeat. */
export function callSkill(
  shop: Merchant,
  body: unknown,
  outTradeNo?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const proof: Record<string, string> = outTradeNo === undefined ? {} : { 'x-out-trade-no': outTradeNo };
  return shop.call('POST', '/api/v2/skillpay/resource', body, { ...proof, ...headers });
}

/** Gets an offer and returns its number. */
export async function offerSkill(shop: Merchant, body: unknown = { resource: 'weather' }): Promise<string> {
  const answer = await callSkill(shop, body);
  if (answer.status !== 402) throw new Error(`offer: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body.data.outTradeNo;
}

/** Lets the payer pay, and waits until the service has stored the payment. */
export async function paySkill(service: Service, outTradeNo: string): Promise<void> {
  await service.sim('/sim/pay', { orderNo: outTradeNo });
  await until(`${outTradeNo} paid`, async () => {
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo: outTradeNo }));
    return order?.state === 'paid';
  });
}

/** Returns a paid offer. */
export async function paidSkill(service: Service, shop: Merchant, body?: unknown): Promise<string> {
  const outTradeNo = await offerSkill(shop, body);
  await paySkill(service, outTradeNo);
  return outTradeNo;
}

/** Repeats a call at another replica. */
export function redeemAt(url: string, shop: Merchant, outTradeNo: string): Promise<Answer> {
  return request(url, 'POST', '/api/v2/skillpay/resource', undefined, {
    authorization: `Bearer ${shop.token}`,
    'x-out-trade-no': outTradeNo,
  });
}

/** The same application with a new token, after the clock was advanced far. */
export async function withNewToken(service: Service, shop: Merchant): Promise<Merchant> {
  const body = { grant_type: 'client_credentials', client_id: shop.clientId, client_secret: shop.secret };
  const { access_token: token } = (await request(service.url, 'POST', '/oauth/token', body)).body;
  return {
    ...shop,
    token,
    call: (method, path, sent, headers = {}) =>
      request(service.url, method, path, sent, { authorization: `Bearer ${token}`, ...headers }),
  };
}
