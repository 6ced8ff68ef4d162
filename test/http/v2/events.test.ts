import test from 'ava';
import { serviceOfFile } from '../../support/file-service.ts';
import { openMarket } from '../../support/market.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

test.serial('an application reads the events of its orders, oldest first', async (t) => {
  const { shop, paid } = await openMarket(file);
  const orders = [await paid(), await paid()];
  const { status, body } = await shop.call('GET', '/api/v2/events');
  t.is(status, 200);
  t.deepEqual(
    body.data.map(({ type, data }: { type: string; data: { object: { orderNo: string } } }) => [
      type,
      data.object.orderNo,
    ]),
    orders.map((orderNo) => ['order.paid', orderNo]),
  );
  t.deepEqual(Object.keys(body.data[0]), ['id', 'type', 'createdAt', 'sequence', 'data']);
  t.true(body.data[0].sequence < body.data[1].sequence);
});

test.serial('a client continues after the last number, and a cursor leads to the same position', async (t) => {
  const { shop, paid } = await openMarket(file);
  for (const amount of [2, 3, 4]) await paid({ amount });
  const first = await shop.call('GET', '/api/v2/events?limit=2');
  t.is(first.body.data.length, 2);
  t.true(first.body.page.hasMore);
  const rest = await shop.call('GET', `/api/v2/events?after=${first.body.data[1].sequence}`);
  t.is(rest.body.data.length, 1);
  t.is(rest.body.data[0].data.object.amount, 4);
  t.deepEqual(rest.body.page, { nextCursor: null, hasMore: false });
  const { nextCursor } = first.body.page;
  t.deepEqual((await shop.call('GET', `/api/v2/events?cursor=${nextCursor}`)).body, rest.body);
});

test.serial('a client starts at a time', async (t) => {
  const { shop, paid } = await openMarket(file);
  await paid();
  const [event] = (await shop.call('GET', '/api/v2/events')).body.data;
  const later = new Date(new Date(event.createdAt).getTime() + 1).toISOString();
  t.deepEqual((await shop.call('GET', `/api/v2/events?since=${event.createdAt}`)).body.data, [event]);
  t.deepEqual((await shop.call('GET', `/api/v2/events?since=${later}`)).body.data, []);
});

test.serial('only events of the requested types are returned', async (t) => {
  const { shop, paid } = await openMarket(file);
  await paid();
  t.is((await shop.call('GET', '/api/v2/events?types=order.paid')).body.data.length, 1);
  t.deepEqual((await shop.call('GET', '/api/v2/events?types=order.closed,refund.failed')).body.data, []);
});

test.serial('an application does not see the events of another one', async (t) => {
  const { paid } = await openMarket(file);
  await paid();
  const stranger = await file.shop();
  t.deepEqual((await stranger.call('GET', '/api/v2/events')).body.data, []);
});

test.serial('an invalid query is 400', async (t) => {
  const shop = await file.shop();
  for (const query of ['types=order.eaten', 'after=-1', 'after=x', 'limit=0', 'clientId=x', 'project=default'])
    refused(t, await shop.call('GET', `/api/v2/events?${query}`), 400, 'invalid_request');
});

test.serial('an application has an own event delivered again, and no other', async (t) => {
  const { shop, paid } = await openMarket(file);
  await paid();
  const [{ id }] = (await shop.call('GET', '/api/v2/events')).body.data;
  const resend = (caller: typeof shop, event = id) => caller.call('POST', `/api/v2/events/${event}/resend`);
  refused(t, await resend(shop), 409, 'webhook_not_configured');
  t.is((await shop.call('PUT', '/api/v2/webhook', { url: 'https://shop.example/hooks' })).status, 201);
  const { status, body } = await resend(shop);
  t.is(status, 201);
  t.like(body.data, { eventId: id, type: 'order.paid', state: 'pending', target: 'webhook' });
  const again = await resend(shop);
  t.is(again.body.data.id, body.data.id, 'a pending delivery is sent, not a second one');
  const { store } = file.service.app;
  const lines = await store.read((tx) => tx.audit.list({ action: 'event.resend', target: id }));
  t.deepEqual(
    lines.map(({ actorKind, actor }) => [actorKind, actor]),
    Array.from({ length: 2 }, () => ['app', shop.clientId]),
  );
  const stranger = await file.shop({ scopes: ['admin'] });
  await stranger.call('PUT', '/api/v2/webhook', { url: 'https://stranger.example/hooks' });
  refused(t, await resend(stranger), 404, 'not_found');
  refused(t, await resend(shop, 'evt_nothing'), 404, 'not_found');
});
