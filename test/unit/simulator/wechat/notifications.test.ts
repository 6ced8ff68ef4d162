import test from 'ava';
import { NotificationNotGenuine } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import { startReceiver, until, type World } from '../world.ts';
import { call, channelOf, configOf, nativeOrder, newNo, startWechat } from './merchant.ts';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat(1);
  config = await configOf(world);
});
test.after.always(() => world.close());

/** Seconds between two deliveries in the channel's documentation. */
const SCHEDULE = [15, 15, 30, 180, 600, 1200, 1800, 1800, 1800, 3600, 10800, 10800, 10800, 21600, 21600];

async function pay(notifyUrl: string, fault?: string): Promise<string> {
  const orderNo = newNo();
  const order = nativeOrder(config, { out_trade_no: orderNo, notify_url: notifyUrl });
  await call(world, config, 'POST', '/v3/pay/transactions/native', order);
  if (fault) await world.post('/sim/faults', { payWay: 'wechat', call: 'notice', fault, orderNo });
  await world.post('/sim/pay', { payWay: 'wechat', orderNo });
  return orderNo;
}

/** The next delivery is planned only after the first response. */
async function refusedOnce(orderNo: string): Promise<void> {
  await until(async () => (await world.deliveries(orderNo))[0]?.status === 500);
}

test.serial("notification headers have WeChat Pay's exact spelling", async (t) => {
  const receiver = await startReceiver('{"code":"SUCCESS"}');
  t.teardown(() => receiver.close());
  await pay(receiver.url);
  await until(() => receiver.received.length === 1);
  const { names } = receiver.received[0]!;
  const signed = ['Wechatpay-Serial', 'Wechatpay-Signature', 'Wechatpay-Timestamp', 'Wechatpay-Nonce'];
  for (const name of [...signed, 'Content-Type']) t.true(names.includes(name), `${name}: ${names}`);
});

test.serial('an unacknowledged notification is sent sixteen times on schedule, with the same facts', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  receiver.answer = { status: 500, body: '{"code":"FAIL","message":"no"}' };
  const orderNo = await pay(receiver.url);
  await refusedOnce(orderNo);
  for (const [index, seconds] of SCHEDULE.entries()) {
    await world.post('/sim/clock', { advanceSeconds: seconds - 5 });
    t.is(receiver.received.length, index + 1, `not before ${seconds} s`);
    await world.post('/sim/clock', { advanceSeconds: 5 });
    t.is(receiver.received.length, index + 2, `after ${seconds} s`);
  }
  await world.post('/sim/clock', { advanceSeconds: 86_400 });
  t.is(receiver.received.length, SCHEDULE.length + 1);
  const channel = channelOf(world, config);
  const told = await Promise.all(
    receiver.received.map(({ headers, body }) => channel.readNotification(headers as Record<string, string>, body)),
  );
  for (const notification of told) t.deepEqual(notification, told[0]);
  t.like(told[0], { orderNo, event: 'TRANSACTION.SUCCESS' });
});

for (const status of [200, 204]) {
  test.serial(`${status} ends the deliveries`, async (t) => {
    const receiver = await startReceiver('');
    t.teardown(() => receiver.close());
    receiver.answer = { status, body: '' };
    await pay(receiver.url);
    await until(() => receiver.received.length === 1);
    await world.post('/sim/clock', { advanceSeconds: 86_400 });
    t.is(receiver.received.length, 1);
  });
}

for (const [fault, why] of [
  ['bad-notify-signature', 'signature_invalid'],
  ['tampered', 'signature_invalid'],
  ['no-signature', 'unsigned'],
  ['clock-skew', 'clock_skew'],
  ['unknown-serial', 'serial_unknown'],
  ['signtest', 'signature_invalid'],
  ['duplicate-key', 'duplicate_key'],
  ['bad-tag', 'misconfigured'],
  ['bad-aad', 'misconfigured'],
] as const) {
  test.serial(`${fault}: the notification is refused as ${why}, and its next delivery is accepted`, async (t) => {
    const receiver = await startReceiver();
    t.teardown(() => receiver.close());
    receiver.answer = { status: 500, body: '' };
    const orderNo = await pay(receiver.url, fault);
    const channel = channelOf(world, config);
    const read = (index: number) => {
      const { headers, body } = receiver.received[index]!;
      return channel.readNotification(headers as Record<string, string>, body);
    };
    await refusedOnce(orderNo);
    const error = await t.throwsAsync(read(0), { instanceOf: NotificationNotGenuine });
    t.is(error.why, why);
    await world.post('/sim/clock', { advanceSeconds: 16 });
    t.like(await read(1), { orderNo, outcome: { kind: 'paid' } });
  });
}

test.serial('a notification with another amount is genuine and has that amount', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  await pay(receiver.url, 'wrong-amount');
  await until(() => receiver.received.length === 1);
  const { headers, body } = receiver.received[0]!;
  const { outcome } = await channelOf(world, config).readNotification(headers as Record<string, string>, body);
  t.deepEqual(outcome?.kind === 'paid' && outcome.amount, { minor: 1235n, currency: 'CNY' });
});

test.serial('a completed refund is notified to the URL of the refund', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const orderNo = await pay('http://127.0.0.1:9/notify');
  const amount = { refund: 100, total: 1234, currency: 'CNY' };
  const body = { out_trade_no: orderNo, out_refund_no: newNo(), amount, notify_url: receiver.url };
  t.is((await call(world, config, 'POST', '/v3/refund/domestic/refunds', body)).status, 200);
  t.is(receiver.received.length, 0);
  await world.post('/sim/clock', { advanceSeconds: 2 });
  await until(() => receiver.received.length === 1);
  const { headers, body: raw } = receiver.received[0]!;
  const told = await channelOf(world, config).readNotification(headers as Record<string, string>, raw);
  t.like(told, { orderNo, refundNo: body.out_refund_no, refund: { kind: 'succeeded' } });
});

test.serial('a refund without a URL is not notified', async (t) => {
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const orderNo = await pay(receiver.url);
  await until(() => receiver.received.length === 1);
  const amount = { refund: 100, total: 1234, currency: 'CNY' };
  await call(world, config, 'POST', '/v3/refund/domestic/refunds', {
    out_trade_no: orderNo,
    out_refund_no: newNo(),
    amount,
  });
  await world.post('/sim/clock', { advanceSeconds: 60 });
  t.deepEqual(
    (await world.deliveries(orderNo)).map(({ event }) => event),
    ['TRANSACTION.SUCCESS'],
  );
});
