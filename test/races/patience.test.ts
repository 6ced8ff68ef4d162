import test from 'ava';
import { startInBetween } from '../support/in-between.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

test('a request waits for the channel only until its time-out, and a later answer is still settled', async (t) => {
  const simulator = await ownSimulator(t);
  const goOn = Promise.withResolvers<void>();
  let isSlow = false;
  const hold = (_method: string, path: string) => (isSlow && !path.startsWith('/sim/') ? goOn.promise : undefined);
  const between = await startInBetween(t, simulator.url, () => undefined, hold);
  const service = await startService(t, { simulator: between, timeoutMs: 60_000, patience: { query: 1, page: 1 } });
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, { payWay: 'alipay' });
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  await service.sim('/sim/pay', { orderNo });
  isSlow = true;
  service.clock.advance(6);
  const { status, body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  t.is(status, 200);
  t.like(body.data, { stale: true, status: 'pending' });
  const page = await fetch(`${service.url}/return/alipay/${orderNo}`, { headers: { 'accept-language': 'en' } });
  t.regex(await page.text(), /has not confirmed the payment yet/);
  t.is(await stateOf(service, orderNo), 'pending');
  goOn.resolve();
  await until('the late answer is settled', async () => (await stateOf(service, orderNo)) === 'paid');
  t.is((await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data.stale, false);
});
