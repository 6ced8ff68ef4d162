import test from 'ava';
import { Webhook } from 'standardwebhooks';
import { payOrder } from '../../support/orders.ts';
import { startReceiver } from '../../support/receiver.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename, { env: { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' } });
coverRoutes(test, file);

const HOOK = '/api/v2/webhook';
const scopes = ['payment:write', 'payment:read', 'webhook:read', 'webhook:write'];
const shopOf = (more: { project?: string } = {}) => file.shop({ scopes, trusted: false, ...more });
const isSigned = (secret: string, { body, headers }: { body: string; headers: object }): boolean => {
  try {
    return Boolean(new Webhook(secret).verify(body, headers as Record<string, string>));
  } catch {
    return false;
  }
};

test.serial('an application sets its webhook, and only the answer that creates it shows the secret', async (t) => {
  const shop = await shopOf();
  const none = await shop.call('GET', HOOK);
  refused(t, none, 404, 'not_found');
  t.is(none.body.hint, `Set a webhook first: payctl app webhook set ${shop.clientId} --url https://shop.example/hooks`);
  const made = await shop.call('PUT', HOOK, { url: 'https://shop.example/hooks', types: ['order.paid'] });
  t.is(made.status, 201);
  t.regex(made.body.data.secret, /^whsec_/);
  const changed = await shop.call('PUT', HOOK, { types: [] });
  t.is(changed.status, 200);
  for (const { body } of [changed, await shop.call('GET', HOOK)]) {
    t.like(body.data, { clientId: shop.clientId, url: 'https://shop.example/hooks', types: [], enabled: true });
    t.is(body.data.secret, undefined);
  }
});

test.serial('what an administrator cannot set, an application cannot set either', async (t) => {
  const shop = await shopOf();
  for (const [body, pointer, code] of [
    [{ types: ['order.paid'] }, '/url', 'required'],
    [{ url: 'ftp://shop.example/' }, '/url', undefined],
    [{ url: 'https://169.254.169.254/latest' }, '/url', 'address_refused'],
    [{ url: 'https://[fd00::1]/hook' }, '/url', 'address_refused'],
    [{ url: 'https://shop.example/', types: ['app.credentials_changed'] }, '/types/0', undefined],
    [{ url: 'https://shop.example/', clientId: 'app_other' }, '/clientId', undefined],
  ] as const) {
    const answer = await shop.call('PUT', HOOK, body);
    refused(t, answer, 400, 'invalid_request');
    t.like(answer.body.errors[0], { pointer, ...(code && { code }) }, JSON.stringify(body));
  }
  refused(t, await shop.call('POST', `${HOOK}/rotate-secret`, { graceSeconds: 604_801 }), 400, 'invalid_request');
  for (const query of ['state=lost', 'limit=0', 'eventId=a%20b', 'clientId=app_other'])
    refused(t, await shop.call('GET', `${HOOK}/deliveries?${query}`), 400, 'invalid_request');
  refused(t, await shop.call('GET', HOOK), 404, 'not_found');
});

test.serial('an application tests its webhook, and lists its deliveries', async (t) => {
  const shop = await shopOf();
  refused(t, await shop.call('POST', `${HOOK}/test`), 404, 'not_found');
  const receiver = await startReceiver(t);
  const { secret } = (await shop.call('PUT', HOOK, { url: receiver.url })).body.data;
  const tested = await shop.call('POST', `${HOOK}/test`);
  t.is(tested.status, 200);
  t.like(tested.body.data, { state: 'delivered', target: 'test', lastStatus: 200, type: 'webhook.test' });
  t.true(isSigned(secret, receiver.received[0]!));
  const orderNo = await payOrder(file.service, shop, { amount: 2 });
  await file.service.app.deliveries.once();
  t.true(receiver.received[1]?.body.includes(orderNo));
  const list = await shop.call('GET', `${HOOK}/deliveries?limit=1`);
  t.is(list.status, 200);
  t.like(list.body.data[0], { type: 'order.paid', state: 'delivered', target: 'webhook' });
  t.true(list.body.page.hasMore);
  const rest = await shop.call('GET', `${HOOK}/deliveries?cursor=${list.body.page.nextCursor}`);
  t.is(rest.body.data[0].id, tested.body.data.id);
  t.deepEqual((await shop.call('GET', `${HOOK}/deliveries?state=failed`)).body.data, []);
});

test.serial('a new signing secret is shown once, and replaces the old one when it comes back', async (t) => {
  const shop = await shopOf();
  const receiver = await startReceiver(t);
  const { secret: old } = (await shop.call('PUT', HOOK, { url: receiver.url })).body.data;
  const rotate = (body?: object) => shop.call('POST', `${HOOK}/rotate-secret`, body);
  const signedBy = async (...secrets: string[]) => {
    await shop.call('POST', `${HOOK}/test`);
    return secrets.map((secret) => isSigned(secret, receiver.received.at(-1)!));
  };
  const { secret } = (await rotate({ prepare: true })).body.data;
  t.deepEqual(await signedBy(old, secret), [true, true]);
  refused(t, await rotate({ secret: 'whsec_AAAA' }), 409, 'changed_meanwhile');
  t.is((await rotate({ secret })).body.data.secret, secret);
  t.deepEqual(await signedBy(old, secret), [false, true]);
  const last = await rotate();
  t.regex(last.body.data.secret, /^whsec_/);
  t.deepEqual(await signedBy(secret, last.body.data.secret), [false, true]);
  t.is((await shop.call('GET', HOOK)).body.data.secret, undefined);
});

test.serial('an application does not learn whether a host exists that it may not reach', async (t) => {
  const shop = await shopOf();
  await shop.call('PUT', HOOK, { url: 'https://missing.invalid/hooks' });
  const tested = (await shop.call('POST', `${HOOK}/test`)).body.data;
  const [listed] = (await shop.call('GET', `${HOOK}/deliveries`)).body.data;
  for (const { lastError, tries } of [tested, listed])
    for (const error of [lastError, tries[0].error])
      t.is(error, 'address_refused: The host of the URL does not resolve, or its address is not allowed.');
  const { data } = (await file.admin('GET', `/api/v1/api-apps/${shop.clientId}/webhook/deliveries`)).body;
  t.regex(data[0].lastError, /^unresolvable: /);
});

test.serial('a deleted webhook leaves no delivery for the next one, however many were pending', async (t) => {
  const shop = await shopOf();
  const receiver = await startReceiver(t);
  await shop.call('PUT', HOOK, { url: 'https://old.example/hooks' });
  const { store } = file.service.app;
  await store.transaction(
    (tx) => tx.sql`
      insert into deliveries (id, event_id, client_id, target, url, state, attempts, next_attempt_at, created_at)
      select gen_random_uuid(), 'evt_' || n, ${shop.clientId}, 'webhook', 'https://old.example/hooks', 'pending', 1, now() + interval '1 day', now()
        from generate_series(1, 2001) n`,
  );
  t.is((await shop.call('DELETE', HOOK)).status, 204);
  t.is((await shop.call('PUT', HOOK, { url: receiver.url })).status, 200);
  t.deepEqual((await shop.call('GET', `${HOOK}/deliveries?state=pending`)).body.data, []);
});

test.serial('an application deletes its webhook, and sets it again', async (t) => {
  const shop = await shopOf();
  refused(t, await shop.call('DELETE', HOOK), 404, 'not_found');
  const receiver = await startReceiver(t);
  await shop.call('PUT', HOOK, { url: receiver.url });
  await payOrder(file.service, shop, { amount: 2 });
  t.is((await shop.call('DELETE', HOOK)).status, 204);
  await file.service.app.deliveries.once();
  t.is(receiver.received.length, 0);
  t.is((await shop.call('GET', `${HOOK}/deliveries?state=cancelled`)).body.data.length, 1);
  t.like((await shop.call('GET', HOOK)).body.data, { url: null, enabled: false });
  refused(t, await shop.call('POST', `${HOOK}/test`), 409, 'webhook_not_configured');
  t.is((await shop.call('PUT', HOOK, { url: receiver.url })).status, 200);
});

test.serial('an application reaches its own webhook only', async (t) => {
  const shops = [await shopOf(), await shopOf(), await shopOf({ project: await file.project() })];
  for (const [n, shop] of shops.entries())
    t.is((await shop.call('PUT', HOOK, { url: `https://shop-${n}.example/hooks` })).status, 201);
  const [first, ...others] = shops;
  const { store } = file.service.app;
  const theirs = () => Promise.all(others.map(({ clientId }) => store.read((tx) => tx.webhooks.find({ clientId }))));
  const before = await theirs();
  t.deepEqual(
    before.map((row) => row?.url),
    ['https://shop-1.example/hooks', 'https://shop-2.example/hooks'],
  );
  await first!.call('POST', `${HOOK}/rotate-secret`);
  t.is((await first!.call('DELETE', HOOK)).status, 204);
  t.deepEqual(await theirs(), before);
  for (const shop of others) {
    t.is((await shop.call('GET', HOOK)).body.data.clientId, shop.clientId);
    t.deepEqual((await shop.call('GET', `${HOOK}/deliveries`)).body.data, []);
    const byId = `/api/v1/api-apps/${shop.clientId}/webhook`;
    refused(t, await first!.call('GET', byId), 401, 'unauthenticated');
  }
});

test.serial('the changes of an application are in the audit log, and administrators see them as events', async (t) => {
  const shop = await shopOf();
  const receiver = await startReceiver(t);
  await shop.call('PUT', HOOK, { url: receiver.url });
  await shop.call('PUT', HOOK, { types: ['order.paid'] });
  await shop.call('POST', `${HOOK}/rotate-secret`, { prepare: true });
  await shop.call('POST', `${HOOK}/rotate-secret`, {});
  await shop.call('POST', `${HOOK}/test`);
  await shop.call('DELETE', HOOK);
  const { store } = file.service.app;
  const lines = await store.read((tx) => tx.audit.list({ target: shop.clientId }, { orderBy: { id: 'asc' } }));
  t.deepEqual(
    lines.filter(({ actorKind }) => actorKind === 'app').map(({ actor, action }) => [actor, action]),
    ['update', 'update', 'prepare-secret', 'rotate-secret', 'test', 'delete'].map((verb) => [
      shop.clientId,
      `webhook.${verb}`,
    ]),
  );
  t.like(lines.at(-1), { before: { url: receiver.url, enabled: true }, after: { url: null, enabled: false } });
  const { clientId } = shop;
  const { data } = (await file.admin('GET', `/api/v1/events?types=app.credentials_changed&objectNo=${clientId}`)).body;
  t.deepEqual(
    data.map((event: { data: { object: object } }) => event.data.object).slice(1),
    ['webhook', 'webhook_secret', 'webhook_secret'].map((change) => ({ clientId, change, by: clientId })),
    'after the creation by an administrator',
  );
});
