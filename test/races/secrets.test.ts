import test from 'ava';
import { Writable } from 'node:stream';
import { createLogger } from '../../server/http/logger.ts';
import { testSecrets } from '../../server/identity/api-app-rows.ts';
import { firstAdmin } from '../support/admin.ts';
import { runUntilQuiet } from '../support/merchant-ledger.ts';
import { certTexts } from '../cli/cert-files.ts';
import { createForger } from './forge.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startReceiver } from '../support/receiver.ts';
import { request, startService } from '../support/service.ts';
import { addSkill, callSkill, offerSkill, paySkill } from '../support/skillpay.ts';
import { dumpTables } from '../support/tables.ts';
import { ownSimulator } from '../support/simulator.ts';

const PAY_WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** Patterns of secrets of any owner. */
const PATTERNS = {
  'a private key': /BEGIN [A-Z ]*PRIVATE KEY|MII[A-Za-z0-9+/]{4}IBADANBgkqhkiG9w0BAQEFAASC/,
  'a client secret': /pays_[A-Za-z0-9_-]{20,}/,
  'a webhook secret': /whsec_[A-Za-z0-9+/]{20,}/,
  'a JWT': /eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/,
  'a Bearer header': /Bearer (?!\*\*\*|error|realm)[A-Za-z0-9._~+/-]{16,}/,
} as const;

test('a dump of all tables and the logs of a busy day contain no key, secret or token', async (t) => {
  const log: string[] = [];
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      log.push(chunk.toString());
      done();
    },
  });
  const simulator = await ownSimulator(t);
  const { dir } = simulator;
  const receiver = await startReceiver(t);
  const service = await startService(t, {
    simulator,
    logger: createLogger({ log: { level: 'trace' } }, stream),
    env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' },
  });
  const secrets: Record<string, string | undefined> = {
    'the master key': service.environment['PAY_SECURITY_MASTER_KEY'],
    'the JWT secret': service.environment['PAY_JWT_SECRET_KEY'],
    'an administrator’s password': 'seven-quiet-otters-swim',
    'a wrong password': 'a-wrong-password-that-was-typed',
    'a wrong client secret': 'a-wrong-client-secret-that-was-sent',
    'the secret of a test application': testSecrets['test-app'],
  };

  // Identity: valid and failed logins, sessions by cookie, applications, tokens, rotation, revocation.
  const admin = await firstAdmin(service);
  secrets['the administrator’s session'] = admin.token;
  const cookie = await fetch(`${service.url}/api/v1/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'alice', password: 'seven-quiet-otters-swim' }),
  });
  for (const [index, line] of cookie.headers.getSetCookie().entries())
    secrets[`cookie ${index}`] = /=([^;]{20,})/.exec(line)?.[1];
  await request(service.url, 'POST', '/api/v1/login', {
    username: 'alice',
    password: 'a-wrong-password-that-was-typed',
  });
  const app = await admin.call('POST', '/api/v1/api-apps', { name: 'Shop', scopes: ['payment:write', 'payment:read'] });
  t.is(app.status, 201, JSON.stringify(app.body));
  const clientId: string = app.body.data.client_id;
  secrets['the secret of an application'] = app.body.data.client_secret;
  const rotated = await admin.call('POST', `/api/v1/api-apps/${clientId}/rotate-secret`, {});
  secrets['a rotated secret'] = rotated.body.data.client_secret;
  const credentials = { grant_type: 'client_credentials', client_id: clientId };
  const token = await request(service.url, 'POST', '/oauth/token', {
    ...credentials,
    client_secret: rotated.body.data.client_secret,
  });
  secrets['a token'] = token.body.access_token;
  await request(service.url, 'POST', '/oauth/token', {
    ...credentials,
    client_secret: 'a-wrong-client-secret-that-was-sent',
  });
  await request(service.url, 'POST', '/oauth/revoke', { token: token.body.access_token });
  await request(service.url, 'GET', `/api/v1/me?access_token=${admin.token}`);
  await request(service.url, 'GET', '/api/v2/me', undefined, { authorization: `Bearer ${admin.token}` });

  // Webhooks.
  const shop = await service.merchant();
  Object.assign(secrets, { 'a merchant’s secret': shop.secret, 'a merchant’s token': shop.token });
  const hook = await admin.call('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, {
    url: receiver.url,
    enabled: true,
  });
  const hookSecret = await admin.call('POST', `/api/v1/api-apps/${shop.clientId}/webhook/rotate-secret`, {});
  for (const { body } of [hook, hookSecret]) {
    const [found] = /whsec_[A-Za-z0-9+/=]+/.exec(JSON.stringify(body)) ?? [];
    t.truthy(found, JSON.stringify(body));
    secrets[`webhook secret ${Object.keys(secrets).length}`] = found;
  }

  // Successful and failed payments at every channel.
  for (const payWay of PAY_WAYS) {
    const orderNo = await payOrder(service, shop, { payWay, amount: 10, userId: 'payer-1' });
    await shop.call(
      'POST',
      '/api/v2/payment/refund',
      { orderNo, refundAmount: 3 },
      { 'idempotency-key': `k-${payWay}` },
    );
    await shop.call('POST', `/api/v2/payment/close/${await placeOrder(shop, { payWay })}`);
    for (const fault of ['wrong-key', 'html', 'half-body', 'commit-then-timeout', '500-after-commit', 'redirect']) {
      await service.sim('/sim/faults', { payWay, call: 'create', fault, times: 1, delayMs: 100 });
      await shop.call('POST', '/api/v2/payment/pay', { subject: 'x', amount: 5, payWay });
      await service.sim('/sim/reset-faults', {});
    }
    await fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', body: `sign=${shop.secret}&token=x` });
  }
  await addSkill(service);
  const offer = await offerSkill(shop);
  await paySkill(service, offer);
  await callSkill(shop, { resource: 'weather' }, offer);

  const forger = createForger(dir);
  const paypalSecret = 'EGnHDxD_qRPdaLdZz8iCr8N7_MzF-the-secret-of-paypal';
  secrets['a PayPal secret'] = paypalSecret;
  const config = { mode: 'sandbox', clientId: 'AeA1QIZXiflr1_client', clientSecret: paypalSecret };
  const written = await admin.call('POST', '/api/v1/payment/config/paypal', {
    ...config,
    webhookId: '8PT597110X687430L',
  });
  t.is(written.status, 200, JSON.stringify(written.body));
  await admin.call('POST', '/api/v1/payment/config/paypal', {
    ...config,
    mode: 'nonsense',
    clientSecret: paypalSecret,
  });
  await admin.call('POST', '/api/v1/payment/config/paypal/test');
  const { key } = await certTexts();
  const upload = { payWay: 'alipay', kind: 'alipay_app_key', content: key };
  t.is((await admin.call('POST', '/api/v1/certs/upload', upload)).status, 201);
  await admin.call('POST', '/api/v1/certs/upload', { ...upload, kind: 'alipay_public_key', content: key });
  const body = key.split('\n');
  for (const [index, line] of body.slice(2, 8).entries()) secrets[`line ${index} of an uploaded key`] = line;
  for (const [payWay, names] of Object.entries({
    alipay: ['appKey'],
    wechat: ['apiV3Key', 'merchantKeys'],
    paypal: ['clientSecret'],
  } as const))
    for (const name of names) {
      const secret = forger.secretsOf(payWay as (typeof PAY_WAYS)[number], 'default')[name] ?? '';
      const pem = /BEGIN PRIVATE KEY-----(?:\\n|\n)[^\\\n]+(?:\\n|\n)([^\\\n]{40,})/.exec(secret)?.[1];
      secrets[`${payWay} ${name}`] = pem ?? secret;
    }
  await service.app.deliveries.once();
  await runUntilQuiet(service, 7200, 1800);
  await service.app.messages.flush();

  // The signed price of an offer and the signed receipt of a call are sent to the payer: neither grants access.
  const rows = (await dumpTables(service)).replace(
    /"(payment_code|receipt|signed_offer|signed_receipt)":"[^"]*"/g,
    '"$1":"…"',
  );
  const places = { 'the tables': rows, 'the logs': log.join('') };
  t.true(log.length > 50, 'there are logs');
  t.true(receiver.received.length > 0, 'webhooks went out');
  for (const [place, text] of Object.entries(places)) {
    for (const [name, secret] of Object.entries(secrets)) {
      t.true((secret ?? '').length >= 16, `${name} is known`);
      t.false(text.includes(secret ?? ''), `${name} is in ${place}: ${around(text, secret ?? '')}`);
    }
    for (const [name, pattern] of Object.entries(PATTERNS)) {
      const [found] = pattern.exec(text) ?? [];
      t.is(found, undefined, `${name} is in ${place}: ${around(text, found ?? '')}`);
    }
  }
  t.log(
    `${Object.keys(secrets).length} secrets and ${Object.keys(PATTERNS).length} patterns: none in ` +
      `${places['the tables'].length} bytes of rows and ${places['the logs'].length} bytes of logs`,
  );
});

/** The context of a match, for the message. */
function around(text: string, found: string): string {
  const at = found === '' ? -1 : text.indexOf(found);
  return at < 0 ? '' : text.slice(Math.max(0, at - 200), at + 40);
}
