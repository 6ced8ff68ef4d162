import { rmSync } from 'node:fs';
import test from 'ava';
import { wechatSimulator } from '../../../../server/simulator/wechat/simulator.ts';
import { newDir, startReceiver, startWorld, until } from '../world.ts';
import { call, configOf, nativeOrder, newNo } from './merchant.ts';

test('keys, orders and a pending refund survive a restart', async (t) => {
  const dir = newDir();
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const receiver = await startReceiver('');
  t.teardown(() => receiver.close());
  const options = { dir, channelSimulators: [wechatSimulator] };
  const first = await startWorld(options);
  const config = await configOf(first);
  const [orderNo, refundNo] = [newNo(), newNo()];
  await call(first, config, 'POST', '/v3/pay/transactions/native', nativeOrder(config, { out_trade_no: orderNo }));
  await first.post('/sim/pay', { payWay: 'wechat', orderNo });
  const amount = { refund: 100, total: 1234, currency: 'CNY' };
  const refund = { out_trade_no: orderNo, out_refund_no: refundNo, amount, notify_url: receiver.url };
  t.is((await call(first, config, 'POST', '/v3/refund/domestic/refunds', refund)).status, 200);
  await first.close();

  const second = await startWorld(options);
  t.teardown(() => second.close());
  t.deepEqual(await configOf(second), config);
  await second.post('/sim/clock', { advanceSeconds: 2 });
  const again = await call(second, config, 'POST', '/v3/refund/domestic/refunds', refund);
  t.is((JSON.parse(again.body) as { status: string }).status, 'SUCCESS');
  await until(() => receiver.received.length === 1);
  t.like((await second.ledger(orderNo)).orders[0], { paid: 1234, refunded: 100, refunds: 1 });
});
