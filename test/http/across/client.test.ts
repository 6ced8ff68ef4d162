import test from 'ava';
import { createClient, isProblemOf, PaymentProblem } from '../../../server/client/index.ts';
import { startService, until } from '../../support/service.ts';

test('the client pays, queries, refunds and closes, and reports the code of a refusal', async (t) => {
  const service = await startService(t);
  const { clientId, secret } = await service.merchant();
  const requests: string[] = [];
  const client = createClient({
    baseUrl: `${service.url}/`,
    clientId,
    clientSecret: secret,
    fetch: (url, init) => {
      requests.push(`${init.method} ${url.slice(service.url.length).split('?')[0]}`);
      return fetch(url, init);
    },
  });

  const order = { subject: 'Two coffees', amount: 12.5, payWay: 'alipay' } as const;
  const key = { 'Idempotency-Key': 'order-1' };
  const [placed, again] = await Promise.all([
    client.placePayment({ body: order, headers: key }),
    client.placePayment({ body: { ...order, payWay: 'wechat' }, headers: { 'Idempotency-Key': 'order-2' } }),
  ]);
  const { orderNo } = placed.data;
  t.is(placed.data.status, 'pending');
  t.is((await client.placePayment({ body: order, headers: key })).data.orderNo, orderNo, 'the key makes it one order');
  t.is(requests.filter((one) => one.endsWith('/oauth/token')).length, 1, 'one token for all');

  await service.sim('/sim/pay', { orderNo });
  const paid = await until('the order is paid', async () => {
    const { data } = await client.queryPayment({ orderNo });
    return data.status === 'paid' && data;
  });
  t.is(paid.refundableAmount, 12.5);

  const refund = await client.refundPayment({ body: { orderNo, refundAmount: 2.5, reason: 'One was cold' } });
  await until(
    'the refund succeeds',
    async () => (await client.getRefund({ refundNo: refund.data.refundNo })).data.status === 'succeeded',
  );
  t.is((await client.closePayment({ orderNo: again.data.orderNo })).data.closeReason, 'merchant');
  const list = await client.listPayments({ limit: '1' });
  t.is(list.data.length, 1);
  t.true(list.page.hasMore);
  const events = await client.listOwnEvents({ types: 'order.paid' });
  t.deepEqual(
    events.data.map(({ type }) => type),
    ['order.paid'],
  );

  const refused = await t.throwsAsync(client.refundPayment({ body: { orderNo, refundAmount: 100 } }));
  t.true(isProblemOf('refundPayment', refused));
  if (isProblemOf('refundPayment', refused)) t.is(refused.code, 'refund_exceeds_refundable');
  const unknown = (await t.throwsAsync(client.queryPayment({ orderNo: 'P../x' }))) as PaymentProblem;
  t.deepEqual([unknown.status, unknown.code], [404, 'not_found'], 'a number stays one segment of the path');
});

test('the client sends no request for a value that a URL would parse as another path', async (t) => {
  const sent: string[] = [];
  const client = createClient({
    baseUrl: 'http://service.example',
    clientId: 'app',
    clientSecret: 'secret',
    async fetch(url) {
      if (!url.endsWith('/oauth/token')) sent.push(new URL(url).pathname);
      return Response.json({ access_token: 'token', token_type: 'Bearer', expires_in: 3600, scope: '', data: {} });
    },
  });
  for (const userId of ['', '.', '..'])
    await t.throwsAsync(
      client.getUser({ userId }),
      { instanceOf: TypeError, message: /parameter userId must / },
      userId,
    );
  t.deepEqual(sent, []);
  await client.getUser({ userId: '...' });
  t.deepEqual(sent, ['/api/v2/users/...']);
});

test('the client replaces an expired token once; it reports wrong credentials and tries again on the next call', async (t) => {
  const tokens = ['first', 'second'];
  const asked: string[] = [];
  const client = createClient({
    baseUrl: 'http://service.example',
    clientId: 'app',
    clientSecret: 'secret',
    async fetch(url, init) {
      const bearer = new Headers(init.headers).get('authorization');
      asked.push(`${new URL(url).pathname} ${bearer}`);
      if (url.endsWith('/oauth/token')) {
        const access_token = tokens.shift();
        if (access_token === undefined) return Response.json({ error: 'invalid_client' }, { status: 401 });
        return Response.json({ access_token, token_type: 'Bearer', expires_in: 3600, scope: '' });
      }
      if (bearer === 'Bearer second' && asked.length < 5) return Response.json({ data: { client_id: 'app' } });
      return Response.json({ code: 'unauthenticated', detail: 'No.' }, { status: 401 });
    },
  });
  t.is((await client.getOwnApp()).data.client_id, 'app');
  t.deepEqual(asked, ['/oauth/token null', '/api/v2/me Bearer first', '/oauth/token null', '/api/v2/me Bearer second']);
  for (const code of ['invalid_client', 'invalid_client']) {
    const refused = (await t.throwsAsync(client.getOwnApp())) as PaymentProblem;
    t.is(refused.code, code as typeof refused.code);
    t.is(refused.status, 401);
  }
});
