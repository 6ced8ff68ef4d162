import test from 'ava';
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch';
import { type Answer, startService, type Merchant, type Service, until } from '../../support/service.ts';
import { addSkill, callSkill, paySkill } from '../../support/skillpay.ts';

type Requirements = Parameters<Parameters<x402Client['register']>[1]['createPaymentPayload']>[1];

const call = (
  service: Service,
  shop: Merchant,
  body: object,
  pay: typeof fetch,
  headers: Record<string, string> = {},
) =>
  pay(`${service.url}/api/v2/skillpay/resource`, {
    method: 'POST',
    headers: { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

interface Offer {
  resource: { url: string };
  accepts: Requirements[];
}

/** The content of a 402, as a client decodes it. */
function readOffer({ headers }: Answer): Offer {
  return JSON.parse(Buffer.from(headers.get('payment-required') ?? '', 'base64').toString()) as Offer;
}

/** A payment scheme of a simulated wallet. */
function wallet(service: Service, seen: Requirements[]) {
  return {
    scheme: 'exact',
    async createPaymentPayload(x402Version: number, requirements: Requirements) {
      seen.push(requirements);
      const outTradeNo = String(requirements.extra?.outTradeNo);
      await paySkill(service, outTradeNo);
      return { x402Version, payload: { outTradeNo } };
    },
  };
}

test('the stock x402 client pays through a registered scheme, at each channel, and reads the response', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service, { name: '天气预报 für Élise – and a name that is much longer than forty characters' });
  await addSkill(service, { code: 'abroad', currency: 'USD', payWays: ['paypal'] });
  for (const [payWay, resource, network] of [
    ['wechat', 'weather', 'wechat:simulator'],
    ['alipay', 'weather', 'alipay:simulator'],
    ['paypal', 'abroad', 'paypal:simulator'],
  ] as const) {
    const seen: Requirements[] = [];
    const client = new x402Client();
    client.register(network, wallet(service, seen));
    client.setSpendControls({ allowedAssets: true });
    const body = { resource, payWay, input: { city: 'Paris' } };
    const headers = { 'idempotency-key': `stock-${payWay}` };
    const answer = await call(service, shop, body, wrapFetchWithPayment(fetch, client), headers);
    t.is(answer.status, 200, await answer.clone().text());
    t.is(seen.length, 1);
    t.like(seen[0], {
      scheme: 'exact',
      network,
      amount: '50',
      asset: payWay === 'paypal' ? 'USD' : 'CNY',
      payTo: 'merchant',
    });
    t.is(seen[0]?.extra?.mode, 'simulator');
    const { data } = (await answer.json()) as { data: { content: unknown; outTradeNo: string } };
    t.deepEqual(data.content, { sky: 'blue' });
    const settled = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
    t.like(settled, { success: true, transaction: data.outTradeNo, network, amount: '50' });
  }
  t.is(await service.app.store.read((tx) => tx.orders.count({})), 3);
});

test('the stock x402 client pays through its hook with X-Out-Trade-No', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const client = new x402HTTPClient(new x402Client());
  client.onPaymentRequired(async ({ paymentRequired }) => {
    const [offer] = paymentRequired.accepts;
    const outTradeNo = String(offer?.extra?.outTradeNo);
    await paySkill(service, outTradeNo);
    return { headers: { 'X-Out-Trade-No': outTradeNo } };
  });
  const answer = await call(service, shop, { resource: 'weather' }, wrapFetchWithPayment(fetch, client));
  t.is(answer.status, 200);
  t.like(decodePaymentResponseHeader(answer.headers.get('payment-response') ?? ''), { success: true });
});

test('a proof of an unpaid or expired offer is refused with the reason, and a key alone is no proof', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const key = { 'idempotency-key': 'k-1' };
  const offer = await callSkill(shop, { resource: 'weather' }, undefined, key);
  const { outTradeNo } = offer.body.data;
  const { accepts, resource } = readOffer(offer);
  t.is(resource?.url, `${service.url}/api/v2/skillpay/resource#weather`);
  const proof = (accepted: object) =>
    Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload: { outTradeNo } })).toString('base64');
  const said = (answer: Answer) => {
    const header = answer.headers.get('payment-response');
    return header === null ? null : decodePaymentResponseHeader(header);
  };
  const send = (headers: Record<string, string>) => callSkill(shop, undefined, undefined, headers);
  const pending = {
    success: false,
    errorReason: 'payment_pending',
    transaction: outTradeNo,
    network: 'wechat:simulator',
  };
  for (const [name, value] of [
    ['payment-signature', proof(accepts[0]!)],
    ['x-out-trade-no', outTradeNo],
  ]) {
    const answer = await send({ [name!]: value! });
    t.is(answer.status, 402);
    t.deepEqual(said(answer) as unknown, pending);
  }
  t.is(said(await callSkill(shop, { resource: 'weather' }, undefined, key)), null);
  for (const network of ['wechat:cn', 'wechat:sandbox', 'wechat:live'])
    t.is((await send({ 'payment-signature': proof({ ...accepts[0]!, network }) })).body.code, 'proof_invalid', network);
  const ended = { state: 'closed', closeReason: 'expired', nextCheckAt: null } as const;
  await service.app.store.transaction((tx) => tx.orders.update({ orderNo: outTradeNo }, ended));
  const over = await send({ 'payment-signature': proof(accepts[0]!) });
  t.is(over.body.code, 'payment_expired');
  t.like(said(over), { success: false, errorReason: 'payment_expired', transaction: outTradeNo });
});

test('work that failed permanently reports with its refund that the payment was not settled', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service, { resource: { handler: 'http', url: 'http://10.0.0.1/', timeoutMs: 500 } });
  const outTradeNo = (await callSkill(shop, { resource: 'weather' })).body.data.outTradeNo;
  await paySkill(service, outTradeNo);
  await until(
    'the refund',
    async () => (await callSkill(shop, undefined, outTradeNo)).body.data?.status === 'refunded',
  );
  const answer = await callSkill(shop, undefined, outTradeNo);
  t.is(answer.status, 200);
  const said = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
  t.like(said, { success: false, errorReason: 'refunded', transaction: outTradeNo });
});

test('a proof must belong to this offer and match its number', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const offer = await callSkill(shop, { resource: 'weather' });
  const other = await callSkill(shop, { resource: 'weather' });
  const { outTradeNo } = offer.body.data;
  await paySkill(service, outTradeNo);
  const { accepts, resource } = readOffer(offer);
  const proof = (accepted: object | undefined, number = outTradeNo) =>
    Buffer.from(JSON.stringify({ x402Version: 2, resource, accepted, payload: { outTradeNo: number } })).toString(
      'base64',
    );
  const send = (signature: string, headers: Record<string, string> = {}) =>
    callSkill(shop, undefined, undefined, { 'payment-signature': signature, ...headers });
  const wrong = [
    send(proof({ ...accepts[0], amount: '1' })),
    send(proof({ ...accepts[0], extra: { ...accepts[0]?.extra, payUrl: 'http://elsewhere.example/' } })),
    send(proof(accepts[0], other.body.data.outTradeNo)),
    send(proof(accepts[0]), { 'x-out-trade-no': other.body.data.outTradeNo }),
    send('not-base64!'),
    send('A'.repeat(5000)),
  ];
  for (const answer of await Promise.all(wrong)) {
    t.is(answer.status, 400);
    t.is(answer.body.code, 'proof_invalid');
  }
  const right = await send(proof(accepts[0]), { 'x-out-trade-no': outTradeNo });
  t.is(right.status, 200, JSON.stringify(right.body));
});

test('a page of another origin may read the headers needed to pay', async (t) => {
  const origin = 'https://shop.example';
  const service = await startService(t, { env: { PAY_SERVER_CORS_ORIGINS: origin } });
  const shop = await service.merchant();
  await addSkill(service);
  const answer = await callSkill(shop, { resource: 'weather' }, undefined, { origin });
  const exposed = (answer.headers.get('access-control-expose-headers') ?? '').toLowerCase().split(', ');
  const codes = ['weixin-pay-required', 'alipay-pay-required', 'paypal-pay-required', 'weixinpay-required'];
  for (const name of ['payment-required', 'payment-response', 'x-out-trade-no', 'retry-after', ...codes])
    t.true(exposed.includes(name), name);
});

test('Skillpay.Brand is the brand of every channel', async (t) => {
  const service = await startService(t, { env: { PAY_SKILLPAY_BRAND: 'Kettle' } });
  const shop = await service.merchant();
  await addSkill(service);
  for (const payWay of ['wechat', 'alipay']) {
    const { headers, body } = await callSkill(shop, { resource: 'weather', payWay });
    t.is(headers.get('kettle-pay-required'), body.data.paymentCode);
    t.is(headers.get(`${payWay === 'wechat' ? 'weixin' : payWay}-pay-required`), null);
  }
});
