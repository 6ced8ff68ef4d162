import test from 'ava';
import { clientFor, order } from './alipay/client.ts';
import { gbkClient, isGenuine } from './alipay/gbk.ts';
import { newDir, startReceiver, startWorld, until, type Receiver, type World } from './world.ts';

const HOURS = 3600;

async function payOrder(world: World, receiver: Receiver, orderNo: string, amount = '12.30'): Promise<void> {
  const client = await clientFor(world);
  await client.call('alipay.trade.precreate', order(orderNo, amount), { notify_url: receiver.url });
  await world.post('/sim/pay', { orderNo });
}

async function withWorld(run: (world: World, receiver: Receiver) => Promise<void>): Promise<void> {
  const [world, receiver] = await Promise.all([startWorld(), startReceiver()]);
  try {
    await run(world, receiver);
  } finally {
    await world.close();
    receiver.close();
  }
}

test('a notification is repeated on schedule, eight times in total, with the same id', (t) =>
  withWorld(async (world, receiver) => {
    receiver.answer = { status: 200, body: 'fail' };
    await payOrder(world, receiver, 'EIGHT');
    await until(() => receiver.received.length === 1);
    await until(async () => (await world.deliveries('EIGHT'))[0]?.status === 200);
    await world.post('/sim/clock', { advanceSeconds: 3 * 60 });
    t.is(receiver.received.length, 1);
    await world.post('/sim/clock', { advanceSeconds: 60 });
    t.is(receiver.received.length, 2);
    await world.post('/sim/clock', { advanceSeconds: 48 * HOURS });
    const ids = receiver.received.map(({ body }) => new URLSearchParams(body.toString()).get('notify_id'));
    t.is(ids.length, 8);
    t.is(new Set(ids).size, 1);
  }));

test('only the exact acknowledgement ends the deliveries', (t) =>
  withWorld(async (world, receiver) => {
    receiver.answer = { status: 200, body: 'success\n' };
    await payOrder(world, receiver, 'ACK');
    await until(async () => (await world.deliveries('ACK'))[0]?.status === 200);
    receiver.answer = { status: 200, body: 'success' };
    await world.post('/sim/clock', { advanceSeconds: 48 * HOURS });
    t.deepEqual(
      (await world.deliveries('ACK')).map(({ acknowledged }) => acknowledged),
      [false, true],
    );
  }));

test('drop-notify loses a delivery, duplicate-notify doubles one, and notifications can be switched off', (t) =>
  withWorld(async (world, receiver) => {
    await world.post('/sim/faults', { payWay: 'alipay', fault: 'drop-notify' });
    await payOrder(world, receiver, 'DROP');
    await until(async () => (await world.deliveries('DROP'))[0]?.dropped === 'drop-notify');
    await world.post('/sim/faults', { payWay: 'alipay', fault: 'duplicate-notify' });
    await world.post('/sim/clock', { advanceSeconds: 5 * 60 });
    t.is(receiver.received.length, 2);
    await world.post('/sim/notices', { payWay: 'alipay', enabled: false });
    await payOrder(world, receiver, 'OFF');
    await until(async () => (await world.deliveries('OFF'))[0]?.dropped === 'notices off');
    t.is(receiver.received.length, 2);
  }));

test('an event while notifications are off is delivered by the second delivery, even after an immediate switch-on', (t) =>
  withWorld(async (world, receiver) => {
    await world.post('/sim/notices', { payWay: 'alipay', enabled: false });
    await payOrder(world, receiver, 'OFF');
    await world.post('/sim/notices', { payWay: 'alipay', enabled: true });
    await until(async () => (await world.deliveries('OFF'))[0]?.dropped === 'notices off');
    t.is(receiver.received.length, 0);
    await world.post('/sim/clock', { advanceSeconds: 5 * 60 });
    t.is(receiver.received.length, 1);
  }));

test('the control API repeats a notification as often as requested', (t) =>
  withWorld(async (world, receiver) => {
    await payOrder(world, receiver, 'REPEAT');
    await until(() => receiver.received.length === 1);
    t.deepEqual(await world.post('/sim/notify', { orderNo: 'REPEAT', times: 5 }), { sent: 5 });
    t.is(receiver.received.length, 6);
  }));

test('0.04 pays at once and is notified late', (t) =>
  withWorld(async (world, receiver) => {
    const client = await clientFor(world);
    await client.call('alipay.trade.precreate', order('LATER', '0.04'), { notify_url: receiver.url });
    t.is((await client.call('alipay.trade.query', { out_trade_no: 'LATER' })).content['trade_status'], 'TRADE_SUCCESS');
    await world.post('/sim/clock', { advanceSeconds: 50 });
    t.is(receiver.received.length, 0);
    await world.post('/sim/clock', { advanceSeconds: 20 });
    t.is(receiver.received.length, 1);
  }));

test('a new process continues unacknowledged deliveries', async (t) => {
  const dir = newDir();
  const receiver = await startReceiver('fail');
  const first = await startWorld({ dir });
  await payOrder(first, receiver, 'RESUME');
  await until(async () => (await first.deliveries('RESUME'))[0]?.status === 200);
  await first.close();
  const second = await startWorld({ dir });
  receiver.answer = { status: 200, body: 'success' };
  await second.post('/sim/clock', { advanceSeconds: 10 * 60 });
  t.is(receiver.received.length, 2);
  await second.close();
  receiver.close();
});

test('the notification of a GBK request is in GBK and signed over those bytes', (t) =>
  withWorld(async (world, receiver) => {
    const answer = await gbkClient(world, { ...order('GBK'), subject: '咖啡' }, receiver.url);
    t.regex(answer, /"code":"10000"/);
    await world.post('/sim/pay', { orderNo: 'GBK' });
    const { body } = await until(() => receiver.received[0]);
    t.regex(body.toString('latin1'), /subject=%BF%A7%B7%C8/);
    t.regex(body.toString('latin1'), /charset=GBK/);
    t.true(await isGenuine(world, body));
  }));
