import test from 'ava';
import { createEventFeed } from '../../../server/events/feed.ts';
import { eventStreams } from '../../../server/events/stream.ts';
import { Unauthenticated } from '../../../server/errors.ts';
import { firstAdmin } from '../../support/admin.ts';
import { payOrder } from '../../support/orders.ts';
import { reading } from '../../support/reading.ts';
import { request, startService } from '../../support/service.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, service } = file;
coverRoutes(test, file);

test.serial('the console reads all events with its filters', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const desk = await firstAdmin(service);
  const orderNo = await payOrder(service, shop, { amount: 2 });
  const get = async (query: string) =>
    (await desk.call('GET', `/api/v1/events?${query}`)).body.data as { objectNo: string }[];
  for (const query of [
    `clientId=${shop.clientId}`,
    'project=default&types=order.paid',
    `objectNo=${orderNo}`,
    'types=order.paid',
    'since=2020-01-01T00:00:00Z&types=order.paid',
  ])
    t.deepEqual(
      (await get(query)).map(({ objectNo }) => objectNo),
      [orderNo],
      query,
    );
  for (const query of [
    'clientId=nobody',
    'project=other',
    'objectNo=P1',
    'types=coin.debited',
    'since=2090-01-01T00:00:00Z',
    'after=999999',
  ])
    t.deepEqual(await get(query), [], query);
  t.is((await desk.call('POST', '/api/v1/events/evt_none/resend')).status, 404);
  const [event] = (await get('types=order.paid')) as unknown as { id: string }[];
  const refused = await desk.call('POST', `/api/v1/events/${event!.id}/resend`);
  t.is(refused.status, 409);
  t.is(refused.body.code, 'webhook_not_configured');
});

test.serial(
  'a stream sends ready, sends events, resumes after Last-Event-ID, and ends when the server stops',
  async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const { token } = await firstAdmin(service);
    const live = await reading(service, token, '/api/v1/events/stream');
    t.is(live.answer.status, 200);
    t.regex(live.answer.headers.get('content-type') ?? '', /^text\/event-stream/);
    await live.until('event: ready');
    const first = await payOrder(service, shop, { amount: 2 });
    const text = await live.until(first);
    const id = /id: (\d+)\ndata: /.exec(text)?.[1];
    await live.stop();
    const second = await payOrder(service, shop, { amount: 3 });
    const again = await reading(service, token, '/api/v1/events/stream', { 'last-event-id': String(id) });
    const missed = await again.until(second);
    t.false(missed.includes(first), 'a received event is not sent again');
    const past = await reading(service, token, '/api/v1/events/stream?since=2020-01-01T00:00:00Z&types=order.paid');
    const everything = await past.until(second);
    t.true(everything.includes(first));
    const none = await reading(service, token, `/api/v1/events/stream?after=0&clientId=nobody`);
    await none.until('event: ready');
    const bad = await reading(service, token, '/api/v1/events/stream', { 'last-event-id': 'x' });
    t.is(bad.answer.status, 400);
    const ended = Promise.all([again.ended(), past.ended(), none.ended()]);
    await service.stop();
    const [, , nothing] = await ended;
    t.false(nothing.includes('data:'));
  },
);

test.serial('a stream is kept alive, and ends when its credential becomes invalid', async (t) => {
  const service = await startService(t);
  const feed = createEventFeed({ store: service.app.store, log: () => {} }, 5);
  let checks = 0;
  const stillAllowed = async () => {
    checks += 1;
    if (checks > 2) throw new Unauthenticated();
  };
  const open = eventStreams(feed, { heartbeatMs: 0, recheckMs: 0 });
  let text = '';
  for await (const part of open({ filter: {}, after: undefined, stillAllowed })) text += String(part);
  t.true(text.includes(': heartbeat\n\n'));
  t.true(text.endsWith('event: error\ndata: {"code":"unauthenticated"}\n\n'));
  t.is(checks, 3);
});

/** Ways in which an administrator loses access. */
const ENDS: readonly [what: string, act: (desk: Desk, id: string) => Promise<unknown>, code?: string][] = [
  ['logged out', ({ own }) => own('POST', '/api/v1/logout')],
  ['disabled', ({ root }, id) => root('PUT', `/api/v1/admins/${id}/toggle`, { enabled: false })],
  [
    'given another role',
    ({ root }, id) => root('PUT', `/api/v1/admins/${id}`, { role: 'viewer' }),
    'role_insufficient',
  ],
  ['deleted', ({ root }, id) => root('DELETE', `/api/v1/admins/${id}`)],
];

type Call = (method: string, path: string, body?: unknown) => Promise<{ status: number }>;
interface Desk {
  own: Call;
  root: Call;
}

for (const [what, act, code = 'unauthenticated'] of ENDS)
  test.serial(`an administrator who was ${what} receives no more events`, async (t) => {
    const shop = await file.shop();
    const account = { username: `reader-${what.replaceAll(' ', '-')}`, password: 'nine-tidy-green-anchors' };
    const { body } = await admin('POST', '/api/v1/admins', { ...account, role: 'admin' });
    const { token } = (await request(service.url, 'POST', '/api/v1/login', account)).body.data;
    const live = await reading(service, token, '/api/v1/events/stream');
    await live.until('event: ready');
    const before = await payOrder(service, shop, { amount: 2 });
    await live.until(before);
    const own: Call = (method, path, sent) =>
      request(service.url, method, path, sent, { authorization: `Bearer ${token}` });
    t.true([200, 204].includes(((await act({ own, root: admin }, body.data.id)) as { status: number }).status));
    const after = await payOrder(service, shop, { amount: 3 });
    const text = await live.ended();
    t.true(text.endsWith(`event: error\ndata: {"code":"${code}"}\n\n`));
    t.false(text.includes(after));
  });

test.serial('an invalid filter of the log is 400', async (t) => {
  for (const query of ['types=order.eaten', 'after=-1', 'limit=0', 'since=today', 'colour=red'])
    refused(t, await admin('GET', `/api/v1/events?${query}`), 400, 'invalid_request');
});

test.serial('a resent event keeps its id', async (t) => {
  const shop = await file.shop();
  const orderNo = await payOrder(service, shop, { amount: 2 });
  const hook = { url: 'https://shop.example/hooks', types: [], enabled: true };
  t.is((await admin('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, hook)).status, 201);
  const [event] = (await admin('GET', `/api/v1/events?objectNo=${orderNo}`)).body.data;
  const { status, body } = await admin('POST', `/api/v1/events/${event.id}/resend`);
  t.is(status, 201);
  t.like(body.data, { eventId: event.id, type: 'order.paid', state: 'pending' });
});
