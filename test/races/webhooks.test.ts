import test, { type ExecutionContext } from 'ava';
import { Webhook } from 'standardwebhooks';
import { firstAdmin } from '../support/admin.ts';
import { count } from '../support/counts.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startReceiver } from '../support/receiver.ts';
import { startReplica } from '../support/replica.ts';
import { freePort } from '../support/free-port.ts';
import { type Service, startService, until } from '../support/service.ts';

const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' };

async function stage(t: ExecutionContext) {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await firstAdmin(service);
  const hook = `/api/v1/api-apps/${shop.clientId}/webhook`;
  const set = await desk.call('PUT', hook, { url: receiver.url });
  const { secret } = set.body.data as { secret: string };
  return { service, shop, receiver, desk, hook, secret };
}

const states = async (service: Service) =>
  (await service.app.store.read((tx) => tx.deliveries.list({}))).map(({ state }) => state);

test('a receiver that answers 500 for a while gets the event once it answers 200', async (t) => {
  const { service, shop, receiver, desk, hook, secret } = await stage(t);
  receiver.answer = (_, n) => ({ status: n <= 4 ? 500 : 200 });
  await payOrder(service, shop, { amount: 3 });
  service.clock.stop();
  for (const pause of [0, 10, 30, 120, 300]) {
    service.clock.advance(pause - 1);
    if (pause > 0) {
      const before = receiver.received.length;
      await service.app.deliveries.once();
      t.is(receiver.received.length, before, `nothing is sent before ${pause} s are over`);
    }
    service.clock.advance(2);
    await service.app.deliveries.once();
  }
  t.is(receiver.received.length, 5);
  t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  const { body } = await desk.call('GET', `${hook}/deliveries`);
  const [delivery] = body.data;
  t.like(delivery, { state: 'delivered', attempts: 5, type: 'order.paid', lastStatus: 200, nextAttemptAt: null });
  t.deepEqual(
    delivery.tries.map(({ status }: { status: number }) => status),
    [500, 500, 500, 500, 200],
  );
  const [first] = receiver.received;
  const payload = new Webhook(secret).verify(first!.body, first!.headers as Record<string, string>) as Record<
    string,
    unknown
  >;
  t.deepEqual(Object.keys(payload), ['id', 'type', 'createdAt', 'sequence', 'data']);
  t.is(payload['id'], first!.headers['webhook-id']);
});

test('a receiver that is gone for two days receives every event once afterwards', async (t) => {
  const { service, shop, receiver } = await stage(t);
  receiver.answer = () => ({ status: 503 });
  for (let n = 0; n < 3; n += 1) await payOrder(service, shop, { amount: 3 + n });
  for (let hour = 0; hour < 48; hour += 1) {
    service.clock.advance(3600);
    await service.app.deliveries.once();
  }
  t.deepEqual([...new Set(await states(service))], ['pending']);
  receiver.answer = () => ({ status: 204 });
  receiver.received.length = 0;
  service.clock.advance(6 * 3600);
  await service.app.deliveries.once();
  t.deepEqual([...new Set(await states(service))], ['delivered']);
  t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 3);
  t.is(receiver.received.length, 3);
});

test('a delivery is abandoned after 72 hours, and a resend restarts it', async (t) => {
  const { service, shop, receiver, desk } = await stage(t);
  receiver.answer = () => ({ status: 500 });
  await payOrder(service, shop, { amount: 3 });
  for (let hour = 0; hour < 76; hour += 1) {
    await service.app.deliveries.once();
    service.clock.advance(3600);
  }
  t.deepEqual(await states(service), ['failed']);
  const sent = receiver.received.length;
  const [event] = await service.app.store.read((tx) => tx.events.list({ type: 'order.paid' }));
  receiver.answer = () => ({ status: 200 });
  const later = await desk.logIn();
  t.is((await later.call('POST', `/api/v1/events/${event!.id}/resend`)).status, 201);
  await service.app.deliveries.once();
  t.is(receiver.received.length, sent + 1);
  t.is(receiver.received.at(-1)!.headers['webhook-id'], event!.id);
});

test('a message retried during a secret rotation verifies with both secrets, and after the grace period only with the new one', async (t) => {
  const { service, shop, receiver, desk, hook, secret } = await stage(t);
  receiver.answer = () => ({ status: 500 });
  await payOrder(service, shop, { amount: 3 });
  await service.app.deliveries.once();
  const rotated = await desk.call('POST', `${hook}/rotate-secret`, { graceSeconds: 60 });
  const fresh = rotated.body.data.secret as string;
  t.not(fresh, secret);
  service.clock.advance(11);
  await service.app.deliveries.once();
  const [old, both] = receiver.received;
  const verify = (key: string, message = both!) =>
    new Webhook(key).verify(message.body, message.headers as Record<string, string>);
  t.notThrows(() => verify(secret));
  t.notThrows(() => verify(fresh));
  t.throws(() => verify(fresh, old!));
  service.clock.advance(61);
  await service.app.deliveries.once();
  t.notThrows(() => verify(fresh, receiver.received[2]!));
  t.throws(() => verify(secret, receiver.received[2]!));
});

test('410 disables the webhook and cancels its pending deliveries', async (t) => {
  const { service, shop, receiver, desk, hook } = await stage(t);
  receiver.answer = () => ({ status: 410 });
  await payOrder(service, shop, { amount: 3 });
  await service.app.deliveries.once();
  t.deepEqual(await states(service), ['failed']);
  t.like((await desk.call('GET', hook)).body.data, { enabled: false });
  await payOrder(service, shop, { amount: 4 });
  t.deepEqual(await states(service), ['failed'], 'no delivery is made for a webhook that is off');
});

test('a delivery that is cancelled while it is being sent stays cancelled if the receiver rejects it', async (t) => {
  const { service, shop, receiver } = await stage(t);
  receiver.answer = async (_, n) => {
    await until('both deliveries are being sent', async () => receiver.received.length === 2);
    if (n === 1) return { status: 410 };
    await until('the other delivery is cancelled', async () => (await states(service)).includes('cancelled'));
    return { status: 500 };
  };
  await payOrder(service, shop, { amount: 3 });
  await payOrder(service, shop, { amount: 4 });
  await service.app.deliveries.once();
  t.is(receiver.received.length, 2);
  t.deepEqual((await states(service)).toSorted(), ['cancelled', 'failed']);
});

test('two concurrent replicas send each event once', async (t) => {
  const { service, shop, receiver } = await stage(t);
  const other = await startService(t, { env, url: service.databaseUrl, simulator: service.simulator });
  const n = count(40, 6);
  for (let i = 0; i < n; i += 1) await payOrder(service, shop, { amount: 3 });
  await Promise.all([service.app.deliveries.once(), other.app.deliveries.once(), service.app.deliveries.once()]);
  await service.app.deliveries.once();
  t.is(receiver.received.length, n);
  t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, n);
  t.log(`${n} events, 2 replicas: ${receiver.received.length} messages`);
});

test('kill -9 at each step of a delivery loses no event, and nothing is sent before its transition is committed', async (t) => {
  const { service, shop, receiver } = await stage(t);
  for (const crashAt of ['deliver.claimed', 'deliver.sent']) {
    receiver.received.length = 0;
    const orderNo = await payOrder(service, shop, { amount: 3 });
    // The replica uses the real clock, the test's service an advanced one.
    await service.app.store.autocommit((tx) =>
      tx.deliveries.update({ state: 'pending' }, { nextAttemptAt: new Date() }),
    );
    const victim = await startReplica(t, {
      environment: service.environment,
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      crashAt,
      sweepEveryMs: 50,
    });
    t.is(await victim.ended, 'SIGKILL', crashAt);
    t.is(receiver.received.length, crashAt === 'deliver.sent' ? 1 : 0);
    service.clock.advance(61);
    await until(`${crashAt}: reported`, async () => {
      await service.app.deliveries.once();
      return receiver.received.some(({ body }) => body.includes(orderNo) && body.includes('order.paid'));
    });
    t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);
  }
  t.deepEqual([...new Set(await states(service))], ['delivered']);
});

test('kill -9 under load: every paid order is reported, and every reported order was committed', async (t) => {
  const { service, shop, receiver } = await stage(t);
  let early = 0;
  const checks: Promise<void>[] = [];
  receiver.answer = ({ body }) => {
    const { type, data } = JSON.parse(body) as { type: string; data: { object: { orderNo: string } } };
    const { orderNo } = data.object;
    if (type === 'order.paid')
      checks.push(
        service.app.store
          .read((tx) => tx.orders.find({ orderNo }))
          .then((order) => void (order?.state === 'paid' || (early += 1))),
      );
    return { status: 200 };
  };
  const paid: string[] = [];
  for (let kill = 0; kill < count(20, 2); kill += 1) {
    const port = await freePort();
    const victim = await startReplica(t, {
      environment: service.environment,
      simulatorUrl: service.simulator.url,
      port,
      sweepEveryMs: 20,
    });
    for (let n = 0; n < 3; n += 1) {
      const orderNo = await placeOrder(shop, { amount: 3 });
      paid.push(orderNo);
      await service.sim('/sim/pay', { orderNo });
    }
    await victim.kill();
  }
  await until('every order is paid and reported', async () => {
    service.clock.advance(61);
    await service.app.sweep.once();
    await service.app.deliveries.once();
    const told = receiver.received.map(({ body }) => body).join('\n');
    return paid.every((orderNo) => told.includes(orderNo));
  });
  await Promise.all(checks);
  t.is(early, 0);
  t.log(`${paid.length} orders reported, 0 before their commit`);
});
