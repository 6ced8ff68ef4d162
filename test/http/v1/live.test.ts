import test from 'ava';
import { LiveMessage } from '../../../server/routes/live.ts';
import { firstAdmin } from '../../support/admin.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { payOrder, placeOrder } from '../../support/orders.ts';
import { messagesIn, reading, type ReadMessage } from '../../support/reading.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';
import { request, startService } from '../../support/service.ts';

const liveTimes = { figuresMs: 40, eventsMs: 20 };
const file = await serviceOfFile(import.meta.filename, { liveTimes });
const { admin, service } = file;
coverRoutes(test, file);

const LIVE = '/api/v1/live';

/** A session of a new viewer. */
async function viewer(username: string): Promise<string> {
  const account = { username, password: 'nine-tidy-green-anchors' };
  await admin('POST', '/api/v1/admins', { ...account, role: 'viewer' });
  return (await request(service.url, 'POST', '/api/v1/login', account)).body.data.token as string;
}

/** All messages so far merged as a client does: the newest of each section, and every event sent. */
function boardOf(messages: readonly ReadMessage[]) {
  const data = messages.map((message) => LiveMessage.strict().parse(message.data));
  const events = data.flatMap(({ events: one }) => (one ? [one] : []));
  return {
    ...Object.assign({}, ...data),
    passed: events.reduce((sum, { passed }) => sum + passed, 0),
    rows: events.flatMap(({ rows }) => rows),
    // oxlint-disable-next-line typescript/no-explicit-any -- the sections of the newest messages that have them
  } as any;
}

test.serial('a client receives a snapshot first, then the changes, and each new event once', async (t) => {
  const token = await viewer('follows');
  const shop = await file.shop({ name: '茶馆 Tea house' });
  const before = await payOrder(service, shop, { amount: 12.5, subject: '红茶' });
  const live = await reading(service, token, LIVE);
  t.is(live.answer.status, 200);
  t.regex(live.answer.headers.get('content-type') ?? '', /^text\/event-stream/);
  const [snapshot] = messagesIn(await live.until((text) => messagesIn(text).length > 0));
  t.is(snapshot!.event, 'snapshot');
  t.deepEqual(Object.keys(snapshot!.data).toSorted(), [
    'at',
    'channels',
    'due',
    'events',
    'exceptions',
    'orders',
    'replicas',
    'webhooks',
  ]);
  const first = boardOf([snapshot!]);
  t.is(first.passed, 0, 'earlier events are shown and not counted');
  t.like(first.rows.at(-1), { type: 'order.paid', orderNo: before, amount: 12.5, currency: 'CNY', subject: '红茶' });
  t.deepEqual(
    first.orders.past.statuses.map(({ status }: { status: string }) => status),
    ['paid', 'closed', 'failed', 'refunded'],
  );
  t.like(first.orders.past.statuses[0], { count: 1, amounts: [{ currency: 'CNY', amount: 12.5, amountMinor: 1250 }] });
  t.like(first.replicas[0], { pid: process.pid, worker: null, silent: false });
  t.true(first.channels.find(({ payWay }: { payWay: string }) => payWay === 'alipay').callsPerSecond > 0);

  const open = await placeOrder(shop, { amount: 3, payWay: 'wechat' });
  const paid = await payOrder(service, shop, { amount: 7 });
  const text = await live.until((one) => {
    const { orders, rows } = boardOf(messagesIn(one));
    const isTold = rows.some(({ orderNo }: { orderNo: string }) => orderNo === paid);
    return isTold && orders.open[1].count === 1 && orders.past.statuses[0].count === 2;
  });
  const now = boardOf(messagesIn(text));
  t.is(now.passed, 1);
  t.like(now.orders.open[1], { status: 'pending', more: false, amounts: [{ currency: 'CNY', amount: 3 }] });
  t.like(now.orders.past.statuses[0], { amounts: [{ amount: 19.5 }] });
  t.false(JSON.stringify(now.rows).includes(open), 'to be placed is no event');
  await live.stop();

  const missed = await payOrder(service, shop, { amount: 1 });
  const again = await reading(service, token, LIVE, { 'last-event-id': messagesIn(text).at(-1)!.id });
  const then = boardOf(messagesIn(await again.until((one) => boardOf(messagesIn(one)).passed > 0)));
  t.is(then.passed, 1, 'a received event is not counted again');
  t.deepEqual(
    then.rows.map(({ orderNo }: { orderNo: string }) => orderNo),
    [missed],
  );
  await again.stop();
});

test.serial('waiting webhooks, due work and open exceptions are sent with their application', async (t) => {
  const shop = await file.shop({ name: 'Silent shop' });
  await admin('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url: 'https://shop.example/hooks' });
  const orderNo = await payOrder(service, shop, { amount: 2 });
  await service.app.store.transaction(async (tx) => {
    await tx.exceptions.insert({
      id: '01935b31-2d5e-7c04-8b6a-e41f9a7d0c52',
      orderNo,
      refundNo: null,
      clientId: shop.clientId,
      project: 'default',
      kind: 'late_paid',
      dedupe: 'x',
      detail: null,
      receivedMinor: null,
      receivedCurrency: null,
      blocksRefunds: false,
      state: 'open',
      resolution: null,
      reason: null,
      resolvedBy: null,
      createdAt: service.clock.now(),
      resolvedAt: null,
    });
  });
  const live = await reading(service, await viewer('waits'), LIVE);
  const board = boardOf(messagesIn(await live.until('late_paid')));
  const mine = board.webhooks.find(({ clientId }: { clientId: string }) => clientId === shop.clientId);
  t.like(mine, { name: 'Silent shop', count: 1, more: false, failing: 0 });
  const due = board.due.find(({ kind }: { kind: string }) => kind === 'delivery');
  t.true(due.count >= 1);
  t.like(board.exceptions.kinds[0], { kind: 'late_paid', count: 1 });
  t.like(board.exceptions.newest[0], { kind: 'late_paid', orderNo });
  await live.stop();
});

test.serial("every working replica is shown on another replica's feed, and disappears when it stops", async (t) => {
  const { databaseUrl: url, simulator, clock } = service;
  const other = await startService(t, { url, simulator, now: clock.now, liveTimes, worker: 7 });
  const live = await reading(service, await viewer('counts'), LIVE);
  const replicas = (text: string) => boardOf(messagesIn(text)).replicas;
  await live.until((text) => replicas(text)?.length === 1);
  other.app.startJobs();
  const text = await live.until((one) => replicas(one).length === 2);
  t.deepEqual(
    replicas(text).map(({ worker }: { worker: number | null }) => worker),
    [null, 7],
  );
  t.true(boardOf(messagesIn(text)).due.length > 5);
  await other.stop();
  await live.until((one) => replicas(one).length === 1);
  await live.stop();
});

test.serial('the feed ends with its session, and when the server stops', async (t) => {
  const own = await startService(t, { liveTimes });
  const desk = await firstAdmin(own);
  const live = await reading(own, desk.token, LIVE);
  await live.until('event: snapshot');
  const left = await reading(own, desk.token, LIVE);
  await left.until('event: snapshot');
  await own.stop();
  t.false((await left.ended()).includes('event: error'));
  await live.ended();

  const mine = await viewer('leaves');
  const followed = await reading(service, mine, LIVE);
  await followed.until('event: snapshot');
  await request(service.url, 'POST', '/api/v1/logout', undefined, { authorization: `Bearer ${mine}` });
  t.true((await followed.ended()).endsWith('event: error\ndata: {"code":"unauthenticated"}\n\n'));
});

test.serial('an invalid id is 400', async (t) => {
  for (const query of ['after=-1', 'after=x', 'colour=red'])
    refused(t, await admin('GET', `${LIVE}?${query}`), 400, 'invalid_request');
  refused(t, await admin('GET', LIVE, undefined, { 'last-event-id': 'x' }), 400, 'invalid_request');
});
