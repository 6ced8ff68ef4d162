import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { deliverEvent } from '../../server/events/deliver.ts';
import { recordEvents } from '../../server/events/record.ts';
import { createSealing } from '../../server/credentials/sealing.ts';
import { createSender, type ResolvedAddress } from '../../server/outgoing/sender.ts';
import { openConsole } from '../support/console.ts';
import { postgresDatabase } from '../support/database.ts';
import { payOrder } from '../support/orders.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, until } from '../support/service.ts';

const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' };

test.beforeEach((t) => t.timeout(120_000));

test('the webhook of an app: made with a secret that is shown once, changed, tested, listed, stored sealed', async (t) => {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await openConsole(service);
  const hook = `/api/v1/api-apps/${shop.clientId}/webhook`;
  t.is((await desk.call('GET', hook)).status, 404);
  t.is((await desk.call('PUT', hook, { types: ['order.paid'] })).status, 400);
  t.is((await desk.call('PUT', hook, { url: 'ftp://shop.example/' })).status, 400);
  t.is((await desk.call('PUT', hook, { url: receiver.url, types: ['order.eaten'] })).status, 400);
  t.is((await desk.call('PUT', '/api/v1/api-apps/nobody/webhook', { url: receiver.url })).status, 404);
  const made = await desk.call('PUT', hook, { url: receiver.url, types: ['order.paid'] });
  t.is(made.status, 201);
  t.regex(made.body.data.secret, /^whsec_/);
  t.like(made.body.data, { enabled: true, types: ['order.paid'], url: receiver.url });
  const changed = await desk.call('PUT', hook, { types: [] });
  t.is(changed.status, 200);
  t.is(changed.body.data.secret, undefined);
  t.like(changed.body.data, { url: receiver.url, types: [] });
  t.is((await desk.call('GET', hook)).body.data.secret, undefined);
  const row = await service.app.store.read((tx) => tx.webhooks.find({ clientId: shop.clientId }));
  t.false(JSON.stringify(row).includes(made.body.data.secret.slice(6)));
  const tested = await desk.call('POST', `${hook}/test`);
  t.like(tested.body.data, { state: 'delivered', target: 'test', lastStatus: 200, type: 'webhook.test' });
  const [message] = receiver.received;
  t.notThrows(() =>
    new Webhook(made.body.data.secret).verify(message!.body, message!.headers as Record<string, string>),
  );
  const list = await desk.call('GET', `${hook}/deliveries?limit=1`);
  t.is(list.body.data[0].id, tested.body.data.id);
  t.is(list.body.data[0].tries.length, 1);
  t.is((await desk.call('GET', `${hook}/deliveries?state=pending`)).body.data.length, 0);
  const audit = await service.app.store.read((tx) => tx.audit.list({ action: 'webhook.update' }));
  t.is(audit.length, 2);
});

test('types choose what is sent, a disabled webhook gets nothing, and what waited for it is cancelled', async (t) => {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await openConsole(service);
  const hook = `/api/v1/api-apps/${shop.clientId}/webhook`;
  await desk.call('PUT', hook, { url: receiver.url, types: ['order.closed'] });
  await payOrder(service, shop, { amount: 2 });
  const count = () => service.app.store.read((tx) => tx.deliveries.count({}));
  t.is(await count(), 0);
  await desk.call('PUT', hook, { types: ['order.paid'] });
  await payOrder(service, shop, { amount: 3 });
  t.is(await count(), 1);
  await desk.call('PUT', hook, { enabled: false });
  await service.app.deliveries.once();
  t.is(receiver.received.length, 0);
  t.is((await desk.call('GET', `${hook}/deliveries?state=cancelled`)).body.data.length, 1);
});

test("an order's own notifyUrl is told too, signed with a secret that is made for the app", async (t) => {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await openConsole(service);
  await payOrder(service, shop, { amount: 2, notifyUrl: receiver.url });
  await service.app.deliveries.once();
  t.is(receiver.received.length, 1);
  const hook = `/api/v1/api-apps/${shop.clientId}/webhook`;
  t.like((await desk.call('GET', hook)).body.data, { url: null, enabled: false });
  const { secret } = (await desk.call('POST', `${hook}/rotate-secret`, {})).body.data;
  await payOrder(service, shop, { amount: 3, notifyUrl: receiver.url });
  await service.app.deliveries.once();
  const { body, headers } = receiver.received[1]!;
  t.notThrows(() => new Webhook(secret).verify(body, headers as Record<string, string>));
  t.is((await desk.call('POST', `${hook}/test`)).status, 409);
});

test('with jobs running an event is delivered soon after its commit', async (t) => {
  const service = await startService(t, { env });
  await service.app.startJobs();
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await openConsole(service);
  await desk.call('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url: receiver.url });
  const orderNo = await payOrder(service, shop, { amount: 2 });
  await until('told', async () => receiver.received.some(({ body }) => body.includes(orderNo)), 10_000);
  t.is(receiver.received.length, 1);
});

/** A delivery to one url by a sender that finds names in this way; gives the delivery afterwards. */
async function deliverTo(
  t: Parameters<typeof postgresDatabase>[0],
  url: string,
  options: { allowed?: string[]; httpsOnly?: boolean; resolve?: (host: string) => Promise<ResolvedAddress[]> },
) {
  const { store } = await postgresDatabase(t);
  const { allowed = [], httpsOnly = false, resolve } = options;
  const now = () => new Date();
  const event = {
    type: 'order.paid',
    clientId: 'app_a',
    project: 'default',
    objectNo: 'P1',
    dedupe: 'once',
    object: {},
  };
  await store.transaction((tx) => recordEvents(now)(tx, { ...event, notifyUrl: url }));
  const [due] = await store.read((tx) => tx.deliveries.list({}));
  await deliverEvent({
    store,
    now,
    httpsOnly,
    log: () => {},
    checkpoint: () => {},
    audit: async () => {},
    sealing: createSealing([{ id: '00000000', key: Buffer.alloc(32, 1) }]),
    send: createSender({ allowedNetworks: allowed, httpsOnly, ...(resolve ? { resolve } : {}) }),
  })(due!.id);
  return store.read((tx) => tx.deliveries.find({ id: due!.id }));
}

test('private addresses, names that lead to them, a second look-up that differs, http in production, and redirects are refused', async (t) => {
  const receiver = await startReceiver(t);
  const { port } = new URL(receiver.url);
  for (const url of [
    receiver.url,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    'http://169.254.169.254/latest',
    'http://10.0.0.1/',
  ])
    t.like(await deliverTo(t, url, {}), { state: 'pending', lastStatus: null, attempts: 1 }, url);
  const refused = await deliverTo(t, `http://hook.example:${port}/`, {
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
  });
  t.regex(refused?.lastError ?? '', /^address_refused/);
  let lookups = 0;
  const rebinding = await deliverTo(t, `http://hook.example:${port}/`, {
    resolve: async () => {
      lookups += 1;
      return lookups === 1
        ? [
            { address: '127.0.0.1', family: 4 },
            { address: '93.184.216.34', family: 4 },
          ]
        : [{ address: '127.0.0.1', family: 4 }];
    },
  });
  t.regex(rebinding?.lastError ?? '', /^address_refused/);
  t.is(receiver.received.length, 0);
  const plain = await deliverTo(t, receiver.url, { allowed: ['127.0.0.1/32'], httpsOnly: true });
  t.regex(plain?.lastError ?? '', /^scheme_refused/);
  const other = await startReceiver(t);
  receiver.answer = () => ({ status: 302, headers: { location: other.url } });
  const redirected = await deliverTo(t, receiver.url, { allowed: ['127.0.0.1/32'] });
  t.like(redirected, { state: 'pending', lastStatus: 302 });
  t.is(other.received.length, 0);
});
