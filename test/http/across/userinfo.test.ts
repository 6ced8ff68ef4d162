import test from 'ava';
import { firstAdmin } from '../../support/admin.ts';
import { startService } from '../../support/service.ts';
import { dumpTables } from '../../support/tables.ts';

const SECRET = 'hunter2hunter2';
const URLS = [
  `https://user:${SECRET}@shop.example/x`,
  `https://${SECRET}@shop.example/x`,
  `https://:${SECRET}@shop.example`,
];

test('a URL with a user name or a password is rejected in every field and never stored', async (t) => {
  const service = await startService(t);
  const { call: admin } = await firstAdmin(service);
  const shop = await service.merchant();
  const skill = (url: string) => ({
    name: 'Skill',
    kind: 'skill',
    code: 'userinfo',
    price: 1,
    currency: 'CNY',
    payWays: ['alipay'],
    resource: { handler: 'http', url },
  });
  const pay = { subject: 'Test', amount: 10, payWay: 'alipay' };
  const gates: [what: string, pointer: string, give: (url: string) => Promise<{ status: number; body: unknown }>][] = [
    ['webhook', '/url', (url) => admin('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url })],
    ['handler', '/resource/url', (url) => admin('POST', '/api/v1/products', skill(url))],
    ['returnUrl', '/returnUrl', (returnUrl) => shop.call('POST', '/api/v2/payment/pay', { ...pay, returnUrl })],
    ['notifyUrl', '/notifyUrl', (notifyUrl) => shop.call('POST', '/api/v2/payment/pay', { ...pay, notifyUrl })],
  ];
  for (const [what, pointer, give] of gates)
    for (const url of URLS) {
      const { status, body } = await give(url);
      t.is(status, 400, `${what} ${url}`);
      const { errors } = body as { errors: { pointer: string; detail: string }[] };
      t.true(
        errors.some((one) => one.pointer === pointer && /user name/.test(one.detail)),
        JSON.stringify(errors),
      );
      t.false(JSON.stringify(body).includes(SECRET));
    }
  t.false(JSON.stringify(await dumpTables(service)).includes(SECRET));
});
