import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { freePort } from '../support/free-port.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startReceiver } from '../support/receiver.ts';
import { startReplica } from '../support/replica.ts';
import { request, startService, until } from '../support/service.ts';

const HOUR_MS = 3_600_000;
const SETTINGS = { PAY_RATE_LIMIT_LOGIN_FAILURES: '2', PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

for (const hours of [3, -3])
  test(`a replica whose clock is ${Math.abs(hours)} h ${hours > 0 ? 'ahead' : 'behind'} ends no order, token or login limit at another time than the others`, async (t) => {
    const service = await startService(t, { env: SETTINGS });
    const receiver = await startReceiver(t);
    const shop = await service.merchant();
    const admin = await firstAdmin(service);
    const hook = await request(
      service.url,
      'PUT',
      `/api/v1/api-apps/${shop.clientId}/webhook`,
      { url: receiver.url },
      {
        authorization: `Bearer ${admin.token}`,
      },
    );
    t.is(hook.status, 201, JSON.stringify(hook.body));
    const orderNo = await placeOrder(shop, { payWay: 'wechat' });
    const port = await freePort();
    const replica = await startReplica(t, {
      environment: service.environment,
      simulatorUrl: service.simulator.url,
      port,
      machineAheadMs: hours * HOUR_MS,
      jumpSeconds: hours * 3600,
      jobs: true,
    });
    /** Only this replica runs jobs, so a delivered event shows that its scheduler ran. */
    const looked = async (): Promise<void> => {
      const paid = await payOrder(service, shop, { payWay: 'alipay' });
      await until('the event is delivered', async () => receiver.received.some(({ body }) => body.includes(paid)));
    };
    await looked();
    await looked();
    const seen = await shop.callAt(replica.url, 'GET', `/api/v2/payment/query/${orderNo}`);
    t.is(seen.status, 200, 'a token of another replica is neither over nor of the future');
    // Alipay and WeChat Pay refuse requests signed with a wrong clock; PayPal has no time in its requests.
    const wanted = { subject: 'Test', amount: 10, payWay: 'paypal', currency: 'USD' };
    const placed = await shop.callAt(replica.url, 'POST', '/api/v2/payment/pay', wanted);
    t.is(placed.status, 201, JSON.stringify(placed.body));
    const row = await service.app.store.read((tx) => tx.orders.find({ orderNo: placed.body.data.orderNo }));
    t.true(Math.abs(row!.createdAt.getTime() - Date.now()) < HOUR_MS, 'an order is dated by the time of the database');

    const guess = (url: string) => request(url, 'POST', '/api/v1/login', { username: 'nobody', password: 'wrong' });
    const answers = [];
    for (let at = 0; at < 3; at += 1) answers.push((await guess(replica.url)).status);
    t.is(answers.at(-1), 429);
    const windows = await service.app.store.read(
      (tx) =>
        tx.sql<{
          left: number;
        }>`select expire / 1000 - extract(epoch from clock_timestamp())::float8 as left from rate_limits where key like 'login%'`,
    );
    t.true(windows.length > 0);
    for (const { left } of windows) t.true(left > 0 && left <= 900, `a window of 900 s ends in ${left} s`);

    replica.jump();
    await looked();
    await looked();
    t.is(await replica.kill('SIGTERM'), 0);
    t.is(await stateOf(service, orderNo), 'pending');
  });
