import test from 'ava';
import { createHash } from 'node:crypto';
import { Challenge, Method, Receipt } from 'mppx';
import { Mppx } from 'mppx/client';
import { validate } from 'mppx/discovery';
import { z } from 'zod/mini';
import { type Answer, request, startService, type Merchant, type Service } from '../../support/service.ts';
import { addSkill, callSkill, paySkill } from '../../support/skillpay.ts';

/** A payment method of a simulated wallet, for the stock client. */
function wallet(service: Service, name: 'wechat' | 'alipay', paid: string[]) {
  const method = Method.from({
    name,
    intent: 'charge',
    schema: {
      request: z.object({ amount: z.string(), currency: z.string(), externalId: z.string() }),
      credential: { payload: z.object({ outTradeNo: z.string() }) },
    },
  });
  return Method.toClient(method, {
    async createCredential({ challenge }) {
      const { externalId } = challenge.request;
      paid.push(externalId);
      await paySkill(service, externalId);
      return credentialOf(challenge, { outTradeNo: externalId });
    },
  });
}

type Parameters = Record<string, unknown>;

/** The credential that a client sends: the received challenge and the payload. */
function credentialOf({ request, ...challenge }: Challenge.Challenge, payload: unknown, changes: Parameters = {}) {
  const parameters = { ...challenge, request: encode(request), ...changes };
  return `Payment ${encode({ challenge: parameters, payload })}`;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

const challengesOf = ({ headers }: Answer) => Challenge.fromHeadersList(headers);

const send = (shop: Merchant, credential: string, body: unknown = { resource: 'weather' }) =>
  callSkill(shop, body, undefined, { 'payment-authorization': credential });

for (const payWay of ['wechat', 'alipay'] as const)
  test(`the stock MPP client pays with ${payWay} and reads the receipt`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    await addSkill(service);
    const paid: string[] = [];
    const client = Mppx.create({ methods: [wallet(service, payWay, paid)], polyfill: false });
    const answer = await client.fetch(`${service.url}/api/v2/skillpay/resource`, {
      method: 'POST',
      headers: { authorization: `Bearer ${shop.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ resource: 'weather', payWay }),
    });
    t.is(answer.status, 200, await answer.clone().text());
    const { data } = (await answer.json()) as { data: { content: object; outTradeNo: string } };
    t.deepEqual(data.content, { sky: 'blue' });
    t.deepEqual(paid, [data.outTradeNo]);
    t.like(Receipt.fromResponse(answer), { status: 'success', method: payWay, reference: data.outTradeNo });
    t.is(answer.headers.get('cache-control'), 'private');
  });

test('each channel has one challenge for the order, which is stable and bound to the body', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service);
  const body = { resource: 'weather' };
  const offer = await callSkill(shop, body);
  t.is(offer.headers.get('cache-control'), 'no-store');
  const challenges = challengesOf(offer);
  t.deepEqual(
    challenges.map(({ method }) => method),
    ['wechat', 'alipay'],
  );
  const [wechat] = challenges;
  const { outTradeNo, expiresAt } = offer.body.data;
  const digest = createHash('sha256').update(JSON.stringify(body)).digest('base64');
  t.like(wechat, {
    intent: 'charge',
    realm: new URL(service.url).host,
    expires: expiresAt,
    header: 'Payment-Authorization',
    digest: `sha-256=:${digest}:`,
  });
  t.deepEqual(wechat?.request, {
    amount: '50',
    currency: 'cny',
    recipient: 'merchant',
    externalId: outTradeNo,
    methodDetails: { mode: 'simulator', payUrl: `${service.url}/pay/${outTradeNo}` },
  });
  const again = await callSkill(shop, body, outTradeNo);
  t.is(again.headers.get('www-authenticate'), offer.headers.get('www-authenticate'));
  const preferring = await callSkill(shop, body, undefined, { 'accept-payment': 'alipay/charge, wechat/charge;q=0' });
  t.deepEqual(
    challengesOf(preferring).map(({ method }) => method),
    ['alipay'],
  );
});

test('an invalid credential is 402 with a challenge and the problem type of the draft, and nothing is delivered', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const other = await service.merchant();
  await addSkill(service);
  await addSkill(service, { code: 'tides' });
  const offer = await callSkill(shop, { resource: 'weather' });
  const second = await callSkill(shop, { resource: 'weather' });
  const theirs = await callSkill(other, { resource: 'weather' });
  const { outTradeNo } = offer.body.data;
  await paySkill(service, outTradeNo);
  await paySkill(service, theirs.body.data.outTradeNo);
  const challenge = challengesOf(offer)[0]!;
  const payload = { outTradeNo };
  const good = credentialOf(challenge, payload);
  let deep: unknown = 1;
  for (let level = 0; level < 25; level += 1) deep = { deep };
  const dearer = encode({ ...challenge.request, amount: '1' });
  const malformed: Record<string, string> = {
    'no scheme': good.slice('Payment '.length),
    'another scheme': good.replace('Payment', 'Bearer'),
    empty: 'Payment ',
    padded: `${good}==`,
    'standard base64': `Payment ${Buffer.from('{"challenge":{},"payload":{"a":"???>>>"}}').toString('base64')}`,
    'two of them': `${good}, ${good}`,
    'not JSON': `Payment ${Buffer.from('{').toString('base64url')}`,
    'not UTF-8': `Payment ${Buffer.from([0x22, 0xff, 0x22]).toString('base64url')}`,
    'a list': `Payment ${encode([challenge])}`,
    'no challenge': `Payment ${encode({ payload })}`,
    'no payload': `Payment ${encode({ challenge })}`,
    'a payload that is text': credentialOf(challenge, outTradeNo),
    'no id': credentialOf(challenge, payload, { id: '' }),
    'an id that is a number': credentialOf(challenge, payload, { id: 7 }),
    'an expiry that is a number': credentialOf(challenge, payload, { expires: 7 }),
    opaque: credentialOf(challenge, payload, { opaque: encode({}) }),
    'too deep': credentialOf(challenge, { outTradeNo, deep }),
    'five KB': credentialOf(challenge, { outTradeNo, more: 'x'.repeat(5000) }),
  };
  const invalid: Record<string, string> = {
    'another realm': credentialOf(challenge, payload, { realm: 'elsewhere.example' }),
    'another method': credentialOf(challenge, payload, { method: 'tempo' }),
    'another intent': credentialOf(challenge, payload, { intent: 'session' }),
    'another request': credentialOf(challenge, payload, { request: dearer }),
    'another expiry': credentialOf(challenge, payload, { expires: '2099-01-01T00:00:00.000Z' }),
    'no digest': credentialOf(challenge, payload, { digest: undefined }),
    'another header': credentialOf(challenge, payload, { header: 'Authorization' }),
    'no header': credentialOf(challenge, payload, { header: undefined }),
    'another id': credentialOf(challenge, payload, { id: encode('x'.repeat(20)) }),
    'the challenge of another application': credentialOf(challengesOf(theirs)[0]!, theirs.body.data),
  };
  const wrongPayload: Record<string, string> = {
    'no number': credentialOf(challenge, {}),
    'a number of another kind': credentialOf(challenge, { outTradeNo: 'P20300101000000ABCDEFGHJK' }),
    'the number of another order': credentialOf(challenge, { outTradeNo: second.body.data.outTradeNo }),
    'the challenge of another order': credentialOf(challengesOf(second)[0]!, payload),
  };
  const tables = { 'malformed-credential': malformed, 'invalid-challenge': invalid, 'invalid-payload': wrongPayload };
  const check = (answer: Answer, type: string, what: string) => {
    t.deepEqual([answer.status, answer.body.type], [402, `https://paymentauth.org/problems/${type}`], what);
    t.true(challengesOf(answer).length > 0, what);
    t.is(answer.headers.get('cache-control'), 'no-store');
    t.is(answer.headers.get('payment-receipt'), null);
    t.is(answer.body.data.content, undefined);
  };
  for (const [type, table] of Object.entries(tables))
    for (const [what, credential] of Object.entries(table)) check(await send(shop, credential), type, what);
  const { header: _, ...headless } = challenge;
  t.is(
    (await callSkill(shop, { resource: 'weather' }, undefined, { authorization: credentialOf(headless, payload) }))
      .status,
    401,
  );
  check(await send(shop, good, { resource: 'weather '.trim(), input: null }), 'verification-failed', 'another body');
  const unpaid = challengesOf(second)[0]!;
  check(await send(shop, credentialOf(unpaid, second.body.data)), 'verification-failed', 'not paid');
  const ended = { state: 'closed', closeReason: 'expired', nextCheckAt: null } as const;
  const orderNo = second.body.data.outTradeNo;
  await service.app.store.transaction((tx) => tx.orders.update({ orderNo }, ended));
  const expired = await send(shop, credentialOf(unpaid, second.body.data));
  check(expired, 'payment-expired', 'expired');
  t.is(challengesOf(expired)[0]?.request['externalId'], expired.body.data.outTradeNo);
  t.is(await service.app.store.read((tx) => tx.skillOrders.count({ fulfilment: 'done' })), 0);
  t.is((await send(shop, good)).status, 200);
});

test('a page of another origin may send credentials and read challenges', async (t) => {
  const origin = 'https://shop.example';
  const service = await startService(t, { env: { PAY_SERVER_CORS_ORIGINS: origin } });
  const answer = await callSkill(await service.merchant(), {}, undefined, { origin });
  t.regex(answer.headers.get('access-control-expose-headers') ?? '', /WWW-Authenticate, Payment-Receipt/);
});

test('the stock validator accepts the discovery document', async (t) => {
  const { url } = await startService(t);
  const { status, body } = await request(url, 'GET', '/openapi.json');
  t.is(status, 200);
  t.deepEqual(validate(body), []);
});
