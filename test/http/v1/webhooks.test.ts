import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { deliverEvent } from '../../../server/events/deliver.ts';
import { recordEvents } from '../../../server/events/record.ts';
import { createEncryption } from '../../../server/db/encryption.ts';
import { createUrlRule } from '../../../server/outgoing/url-rule.ts';
import { createSender, type ResolvedAddress } from '../../../server/outgoing/sender.ts';
import { firstAdmin } from '../../support/admin.ts';
import { postgresDatabase } from '../../support/database.ts';
import { payOrder } from '../../support/orders.ts';
import { startReceiver } from '../../support/receiver.ts';
import { startService, until } from '../../support/service.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const env = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' };

const file = await serviceOfFile(import.meta.filename, { env });
const { admin } = file;
coverRoutes(test, file);

const hookOf = (shop: { clientId: string }) => `/api/v1/api-apps/${shop.clientId}/webhook`;

test.serial('an application has no webhook until one is set', async (t) => {
  refused(t, await admin('GET', hookOf(await file.shop())), 404, 'not_found');
});

test.serial('only the answer that creates a webhook shows its secret', async (t) => {
  const hook = hookOf(await file.shop());
  const made = await admin('PUT', hook, { url: 'https://shop.example/hooks', types: ['order.paid'] });
  t.is(made.status, 201);
  t.regex(made.body.data.secret, /^whsec_/);
  t.like(made.body.data, { enabled: true, types: ['order.paid'], url: 'https://shop.example/hooks' });
  t.is((await admin('GET', hook)).body.data.secret, undefined);
  t.is((await admin('PUT', hook, { types: [] })).body.data.secret, undefined);
});

test.serial('a change of a webhook leaves omitted members unchanged', async (t) => {
  const hook = hookOf(await file.shop());
  await admin('PUT', hook, { url: 'https://shop.example/hooks', types: ['order.paid'] });
  const changed = await admin('PUT', hook, { types: [] });
  t.is(changed.status, 200);
  t.like(changed.body.data, { url: 'https://shop.example/hooks', types: [], enabled: true });
});

test.serial('a rejected webhook names the invalid member', async (t) => {
  const hook = hookOf(await file.shop());
  for (const [body, pointer] of [
    [{ types: ['order.paid'] }, '/url'],
    [{ url: 'ftp://shop.example/' }, '/url'],
    [{ url: 'https://shop.example/', types: ['order.eaten'] }, '/types/0'],
    [{ url: 'https://shop.example/', types: ['app.credentials_changed'] }, '/types/0'],
  ] as const) {
    const answer = await admin('PUT', hook, body);
    refused(t, answer, 400, 'invalid_request');
    t.is(answer.body.errors[0].pointer, pointer);
  }
});

test.serial('the secret of a webhook is stored encrypted, and each change is in the audit log', async (t) => {
  const shop = await file.shop();
  const made = await admin('PUT', hookOf(shop), { url: 'https://shop.example/hooks' });
  const { store } = file.service.app;
  const row = await store.read((tx) => tx.webhooks.find({ clientId: shop.clientId }));
  t.false(JSON.stringify(row).includes(made.body.data.secret.slice(6)));
  t.is(await store.read((tx) => tx.audit.count({ action: 'webhook.update', target: shop.clientId })), 1);
});

test.serial('a test message is signed with the secret, sent once, and listed', async (t) => {
  const hook = hookOf(await file.shop());
  const receiver = await startReceiver(t);
  const { secret } = (await admin('PUT', hook, { url: receiver.url })).body.data;
  const tested = await admin('POST', `${hook}/test`);
  t.is(tested.status, 200);
  t.like(tested.body.data, { state: 'delivered', target: 'test', lastStatus: 200, type: 'webhook.test' });
  const [message] = receiver.received;
  t.notThrows(() => new Webhook(secret).verify(message!.body, message!.headers as Record<string, string>));
  const list = await admin('GET', `${hook}/deliveries?limit=1`);
  t.is(list.status, 200);
  t.is(list.body.data[0].id, tested.body.data.id);
  t.is(list.body.data[0].tries.length, 1);
  t.deepEqual((await admin('GET', `${hook}/deliveries?state=pending`)).body.data, []);
});

test.serial('a new signing secret is shown once', async (t) => {
  const hook = hookOf(await file.shop());
  const first = await admin('PUT', hook, { url: 'https://shop.example/hooks' });
  const { status, body } = await admin('POST', `${hook}/rotate-secret`, { graceSeconds: 60 });
  t.is(status, 200);
  t.regex(body.data.secret, /^whsec_/);
  t.not(body.data.secret, first.body.data.secret);
  t.is((await admin('GET', hook)).body.data.secret, undefined);
});

test.serial('a prepared signing secret signs beside the old one until it replaces it', async (t) => {
  const receiver = await startReceiver(t);
  const hook = hookOf(await file.shop());
  const { secret: old } = (await admin('PUT', hook, { url: receiver.url })).body.data;
  const rotate = (body: object) => admin('POST', `${hook}/rotate-secret`, body);
  const verifies = async (...secrets: string[]) => {
    await admin('POST', `${hook}/test`);
    const { body, headers } = receiver.received.at(-1)!;
    return secrets.map((secret) => {
      try {
        return Boolean(new Webhook(secret).verify(body, headers as Record<string, string>));
      } catch {
        return false;
      }
    });
  };
  const lost = (await rotate({ prepare: true })).body.data.secret;
  const stored = (await rotate({ prepare: true })).body.data;
  t.is(stored.previousSecretExpiresAt, null);
  t.deepEqual(await verifies(old, lost, stored.secret), [true, false, true]);
  refused(t, await rotate({ secret: lost }), 409, 'changed_meanwhile');
  t.is((await rotate({ secret: stored.secret })).body.data.secret, stored.secret);
  t.deepEqual(await verifies(old, stored.secret), [false, true]);
  t.is((await rotate({ secret: stored.secret })).status, 200);
  refused(t, await rotate({ secret: old }), 409, 'changed_meanwhile');
});

test.serial(
  'only selected types are sent, and a disabled webhook receives nothing and its waiting deliveries are cancelled',
  async (t) => {
    const service = await startService(t, { env });
    const shop = await service.merchant();
    const receiver = await startReceiver(t);
    const desk = await firstAdmin(service);
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
  },
);

test.serial("an order's own notifyUrl is called, too, signed with a secret created for the app", async (t) => {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await firstAdmin(service);
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

test.serial('while the jobs run an event is delivered soon after its commit', async (t) => {
  const service = await startService(t, { env });
  await service.app.startJobs();
  const shop = await service.merchant();
  const receiver = await startReceiver(t);
  const desk = await firstAdmin(service);
  await desk.call('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url: receiver.url });
  const orderNo = await payOrder(service, shop, { amount: 2 });
  await until('the webhook arrives', async () => receiver.received.some(({ body }) => body.includes(orderNo)));
  t.is(receiver.received.length, 1);
});

/** Delivers to one url with this name lookup; returns the delivery. */
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
    since: new Date(),
    object: {},
  };
  await store.transaction((tx) => recordEvents(now)(tx, { ...event, notifyUrl: url }));
  const [due] = await store.read((tx) => tx.deliveries.list({}));
  await deliverEvent({
    store,
    now,
    urlFault: createUrlRule({ allowedNetworks: allowed, httpsOnly }),
    log: () => {},
    checkpoint: () => {},
    tried: () => {},
    audit: async () => {},
    emitCredentialChange: async () => {},
    encryption: createEncryption([{ id: '00000000', key: Buffer.alloc(32, 1) }]),
    send: createSender({ allowedNetworks: allowed, httpsOnly, ...(resolve ? { resolve } : {}) }),
  })(due!.id);
  return store.read((tx) => tx.deliveries.find({ id: due!.id }));
}

test.serial(
  'private addresses, names that resolve to them, a second lookup with another result, http in production, and redirects are refused',
  async (t) => {
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
  },
);

test.serial('the webhook of an unknown application is 404 at every operation', async (t) => {
  const hook = '/api/v1/api-apps/nobody/webhook';
  refused(t, await admin('GET', hook), 404, 'not_found');
  refused(t, await admin('PUT', hook, { url: 'https://shop.example/' }), 404, 'not_found');
  refused(t, await admin('DELETE', hook), 404, 'not_found');
  refused(t, await admin('POST', `${hook}/rotate-secret`, {}), 404, 'not_found');
  refused(t, await admin('POST', `${hook}/test`), 404, 'not_found');
  refused(t, await admin('GET', `${hook}/deliveries`), 404, 'not_found');
});

test.serial('invalid parameters are 400 and named', async (t) => {
  const hook = `/api/v1/api-apps/${(await file.shop()).clientId}/webhook`;
  refused(t, await admin('POST', `${hook}/rotate-secret`, { graceSeconds: 604_801 }), 400, 'invalid_request');
  for (const query of ['state=lost', 'limit=0', 'eventId=a%20b'])
    refused(t, await admin('GET', `${hook}/deliveries?${query}`), 400, 'invalid_request');
});

test.serial('a deleted webhook receives nothing, and its secret signs on for the next one', async (t) => {
  const shop = await file.shop();
  const receiver = await startReceiver(t);
  const { secret } = (await admin('PUT', hookOf(shop), { url: receiver.url })).body.data;
  await payOrder(file.service, shop, { amount: 2 });
  t.is((await admin('DELETE', hookOf(shop))).status, 204);
  t.is((await admin('GET', `${hookOf(shop)}/deliveries?state=cancelled`)).body.data.length, 1);
  await payOrder(file.service, shop, { amount: 3 });
  await file.service.app.deliveries.once();
  t.is(receiver.received.length, 0);
  t.like((await admin('GET', hookOf(shop))).body.data, { url: null, types: [], enabled: false });
  refused(t, await admin('DELETE', hookOf(shop)), 404, 'not_found');
  refused(t, await admin('POST', `${hookOf(shop)}/test`), 409, 'webhook_not_configured');
  const again = await admin('PUT', hookOf(shop), { url: receiver.url });
  t.is(again.status, 200);
  t.like(again.body.data, { url: receiver.url, enabled: true });
  await admin('POST', `${hookOf(shop)}/test`);
  const { body, headers } = receiver.received[0]!;
  t.notThrows(() => new Webhook(secret).verify(body, headers as Record<string, string>));
  const { store } = file.service.app;
  t.is(await store.read((tx) => tx.audit.count({ action: 'webhook.delete', target: shop.clientId })), 1);
});

test.serial('an address that would never be called is not saved', async (t) => {
  const hook = `/api/v1/api-apps/${(await file.shop()).clientId}/webhook`;
  for (const url of ['https://169.254.169.254/latest', 'https://[fd00::1]/hook']) {
    const answer = await admin('PUT', hook, { url });
    refused(t, answer, 400, 'invalid_request');
    t.like(answer.body.errors, [{ pointer: '/url', code: 'address_refused' }]);
    t.regex(answer.body.detail, /Webhook\.AllowedNetworks/, 'the key that would allow it');
  }
});

test.serial('a test message needs a webhook address, and the notifyUrl of an order does not count', async (t) => {
  const shop = await file.shop();
  const receiver = await startReceiver(t);
  await payOrder(file.service, shop, { notifyUrl: receiver.url });
  await file.service.app.deliveries.once();
  t.like((await admin('GET', hookOf(shop))).body.data, { url: null, enabled: false });
  refused(t, await admin('POST', `${hookOf(shop)}/test`), 409, 'webhook_not_configured');
});
