import test from 'ava';
import { Writable } from 'node:stream';
import { loadConfig } from '../../../config/load.ts';
import { createLogger } from '../../../server/http/logger.ts';
import { ledgerOf } from '../../support/merchant-ledger.ts';
import { startService } from '../../support/service.ts';
import { addSkill, callSkill, offerSkill, paidSkill } from '../../support/skillpay.ts';

const devMode = { PAY_SKILLPAY_DEV_MODE: 'true' };

test('DevMode: the repeated call pays at the simulator and returns the content, at each channel', async (t) => {
  const service = await startService(t, { env: devMode });
  const shop = await service.merchant();
  await addSkill(service, { code: 'abroad', currency: 'USD', payWays: ['paypal'] });
  for (const body of [{}, { payWay: 'alipay' }, { resource: 'abroad' }]) {
    const offer = await callSkill(shop, body);
    t.is(offer.status, 402);
    const { outTradeNo } = offer.body.data;
    const paid = await callSkill(shop, body, outTradeNo);
    t.is(paid.status, 200, JSON.stringify(paid.body));
    t.is(paid.headers.get('x-dev-mode'), 'scan-skipped');
    t.false(paid.body.data.alreadyFulfilled);
    const again = await callSkill(shop, undefined, outTradeNo);
    t.is(again.headers.get('x-dev-mode'), null);
    t.deepEqual(again.body.data.content, paid.body.data.content);
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo: outTradeNo }));
    t.like(order, { state: 'paid', paid: order?.amount });
  }
});

test('without DevMode, or for an order outside the simulator, the call does not pay for the payer', async (t) => {
  const plain = await startService(t);
  const shop = await plain.merchant();
  const outTradeNo = await offerSkill(shop, {});
  t.is((await callSkill(shop, {}, outTradeNo)).status, 402);

  const service = await startService(t, { env: devMode });
  const other = await service.merchant();
  const live = await offerSkill(other, {});
  await service.app.store.transaction((tx) => tx.orders.update({ orderNo: live }, { mode: 'sandbox' }));
  const answer = await callSkill(other, {}, live);
  t.not(answer.status, 200);
  t.is((await ledgerOf(service)).get(live)?.payments ?? 0, 0);
});

test('DevMode is a configuration fault without Debug and in production', (t) => {
  const load = (env: Record<string, string>) => () =>
    loadConfig({
      env: {
        PAY_DATABASE_URL: 'postgres://127.0.0.1/x',
        PAY_JWT_SECRET_KEY: 'a-test-secret-of-more-than-32-bytes!',
        PAY_SECURITY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
        ...devMode,
        ...env,
      },
      cwd: process.cwd(),
    });
  t.throws(load({}), { message: /Skillpay\.DevMode/ });
  t.throws(load({ PAY_DEBUG: 'true', NODE_ENV: 'production' }), { message: /Skillpay\.DevMode/ });
  t.notThrows(load({ PAY_DEBUG: 'true' }));
});

test('without Debug there is no demo, even if Debug was on before', async (t) => {
  const debug = await startService(t);
  const shop = await debug.merchant();
  t.is((await callSkill(shop, { resource: 'demo' })).status, 402);
  await debug.stop();
  const service = await startService(t, {
    url: debug.databaseUrl,
    simulator: debug.simulator,
    env: { PAY_DEBUG: 'false' },
  });
  const here = await service.merchant();
  t.is((await callSkill(here, { resource: 'demo' })).status, 404);
  t.is((await callSkill(here, {})).body.code, 'resource_required');
  t.deepEqual((await here.call('GET', '/api/v2/skillpay/resources')).body.data, []);
});

test('no request path returns content without payment', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  await addSkill(service, { resource: { handler: 'static', content: 'the-paid-content' } });
  const outTradeNo = await offerSkill(shop);
  const accepted = { scheme: 'exact', network: 'wechat:simulator', amount: '0', asset: 'CNY', payTo: 'merchant' };
  const signature = (payload: object) =>
    Buffer.from(JSON.stringify({ x402Version: 2, accepted, payload })).toString('base64');
  const tries: Record<string, string>[] = [
    {},
    { 'x-out-trade-no': outTradeNo },
    { 'x-out-trade-no': outTradeNo, 'x-dev-mode': 'scan-skipped' },
    { 'payment-signature': signature({ outTradeNo }) },
    { 'x-payment': signature({ outTradeNo }) },
    { 'payment-response': signature({ outTradeNo }) },
    { 'idempotency-key': 'k', 'payment-signature': signature({ outTradeNo, paid: true }) },
  ];
  for (const headers of tries) {
    for (const body of [
      undefined,
      { resource: 'weather' },
      { resource: 'weather', paid: true, status: 'paid', devMode: true },
    ]) {
      const answer = await callSkill(shop, body, undefined, headers);
      t.not(answer.status, 200, JSON.stringify(headers));
      t.false(JSON.stringify(answer.body).includes('the-paid-content'));
    }
  }
  for (const path of [
    `/api/v2/skillpay/query/${outTradeNo}`,
    `/api/v2/payment/query/${outTradeNo}`,
    '/api/v2/skillpay/resources',
  ])
    t.false(JSON.stringify((await shop.call('GET', path)).body).includes('the-paid-content'), path);
  const row = await service.app.store.read((tx) => tx.skillOrders.find({ orderNo: outTradeNo }));
  t.like(row, { fulfilment: 'none', attempts: 0, content: null });
});

test('codes, credentials, inputs and contents are not logged', async (t) => {
  let lines = '';
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines += String(chunk);
      done();
    },
  });
  const config = { log: { level: 'trace' } } as Parameters<typeof createLogger>[0];
  const logger = createLogger(config, sink);
  const service = await startService(t, { logger });
  const shop = await service.merchant();
  await addSkill(service, { resource: { handler: 'static', content: 'the-paid-content' } });
  const body = { resource: 'weather', input: { secret: 'the-private-input' } };
  const offer = await callSkill(shop, body);
  const outTradeNo = await paidSkill(service, shop, body);
  const paid = await callSkill(shop, body, outTradeNo);
  t.is(paid.status, 200);
  t.true(lines.includes('/api/v2/skillpay/resource'));
  const { paymentCode, qrCode } = offer.body.data;
  for (const secret of [
    paymentCode,
    qrCode,
    paid.body.data.receipt,
    shop.token,
    shop.secret,
    'the-paid-content',
    'the-private-input',
  ])
    t.false(lines.includes(secret), String(secret).slice(0, 12));
});
