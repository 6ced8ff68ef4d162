import test from 'ava';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { readyFacts } from '../../server/compose/http.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { messagesIn, reading } from '../support/reading.ts';
import { refused } from '../support/route-file.ts';
import { request, startService, until, stagingOptions } from '../support/service.ts';
import { paypal } from '../unit/credentials/material.ts';

test('in staging the simulator pays and refunds under production requirements, and no live channel is accepted', async (t) => {
  const options = await stagingOptions(t);
  const service = await startService(t, options);
  const admin = await firstAdmin(service);
  const env = { ...options.env, PAY_DATABASE_URL: service.databaseUrl };
  const config = loadConfig({ env, cwd: process.cwd() }) as Config;
  const opened = { listens: { host: '127.0.0.1', port: 0 }, metricsPort: undefined, simulatorUrl: undefined };
  const { lacks } = await readyFacts(service.app, config, opened);
  t.is(lacks, null, 'the simulator channels are configured automatically');
  await service.app.prepare();
  const shop = await service.merchant();
  const { body: me } = await shop.call('GET', '/api/v2/me');
  t.is(me.data.mode, 'test');
  const order = { subject: 'Tea', amount: 3, payWay: 'wechat' };
  const placed = await shop.call('POST', '/api/v2/payment/pay', order);
  t.is(placed.headers.get('x-pay-environment'), 'staging');
  const { orderNo } = placed.body.data;
  const live = await reading(service, admin.token, '/api/v1/live');
  const [snapshot] = messagesIn(await live.until((text) => messagesIn(text).length > 0));
  await live.stop();
  const { open } = snapshot!.data['orders'] as { open: { status: string; count: number }[] };
  t.is(open.find(({ status }) => status === 'pending')?.count, 1, 'orders of the simulator are counted');
  await service.sim('/sim/pay', { orderNo });
  const paid = await until('the notification arrived', async () => {
    const { body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
    return body.data.status === 'paid' && body.data;
  });
  t.is(paid.mode, 'simulator');
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 1 });
  t.is(refund.status, 200, JSON.stringify(refund.body));
  await until('the refund is done', async () => {
    const { body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
    return body.data.refundedAmount === 1;
  });

  t.like((await admin.call('GET', '/api/v1/info')).body.data, { environment: 'staging', debug: false });
  t.is((await request(service.url, 'GET', '/swagger/index.html')).status, 200, 'staging serves the explorer');
  const real = { ...paypal, mode: 'live' };
  refused(t, await admin.call('POST', '/api/v1/payment/config/paypal', real), 409, 'staging_refuses_live');
  // A published secret is rejected.
  const test = {
    grant_type: 'client_credentials',
    client_id: 'test-app',
    client_secret: 'pays_test-app-secret-for-debug-only',
  };
  t.is((await request(service.url, 'POST', '/oauth/token', test)).status, 401);
  await assertLedgersMatch(t, service);

  // A copy of the production configuration, used by mistake.
  await service.app.store.transaction((tx) => tx.orders.update({ orderNo }, { mode: 'live' }));
  await t.throwsAsync(startService(t, { ...options, url: service.databaseUrl }), {
    message: /staging, but this database has a live/,
  });
});
