import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { fillDatabase } from '../support/tables.ts';
import { startInBetween } from '../support/in-between.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { request, startService, until, type Answer } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

function assertFull(t: ExecutionContext, what: string, { status, body, headers }: Answer): void {
  t.is(status, 503, `${what}: ${JSON.stringify(body)}`);
  t.true(Number(headers.get('retry-after')) > 1, what);
  if (body.error) t.is(body.error, 'temporarily_unavailable', what);
  else t.like(body, { code: 'database_full', retryable: true }, what);
}

test('a full database disk answers writes with 503 database_full, serves reads, alerts administrators, and recovers with free space', async (t) => {
  const service = await startService(t);
  const admin = await firstAdmin(service);
  const shop = await service.merchant();
  const paid = await payOrder(service, shop, { payWay: 'wechat', amount: 20 });
  const open = await placeOrder(shop, { payWay: 'alipay' });
  t.is((await admin.call('GET', '/api/v1/info')).body.data.databaseFull, false);
  const orders = await service.app.store.read((tx) => tx.orders.count({}));

  const makeRoom = await fillDatabase(service);
  const pay = { subject: 'Full', amount: 5, payWay: 'alipay' };
  const refund = { orderNo: paid, refundAmount: 1, merchantRefundNo: 'full-1' };
  const writes: [string, () => Promise<Answer>][] = [
    ['pay', () => shop.call('POST', '/api/v2/payment/pay', pay)],
    ['pay with a key', () => shop.call('POST', '/api/v2/payment/pay', pay, { 'idempotency-key': 'full-1' })],
    ['refund', () => shop.call('POST', '/api/v2/payment/refund', refund)],
    ['close', () => shop.call('POST', `/api/v2/payment/close/${open}`)],
    ['project', () => admin.call('POST', '/api/v1/projects', { code: 'full', name: 'Full' })],
  ];
  for (const [what, write] of writes) assertFull(t, what, await write());
  const reads: [string, () => Promise<Answer>][] = [
    ['orders', () => shop.call('GET', '/api/v2/payment/orders')],
    ['query of a paid order', () => shop.call('GET', `/api/v2/payment/query/${paid}`)],
    ['query of an open order', () => shop.call('GET', `/api/v2/payment/query/${open}`)],
    ['token', () => request(service.url, 'POST', '/oauth/token', credentials(shop))],
    ['orders of the console', () => admin.call('GET', '/api/v1/orders')],
    ['health', () => shop.call('GET', '/health/db')],
  ];
  for (const [what, read] of reads) t.is((await read()).status, 200, what);
  t.is((await admin.call('GET', '/api/v1/info')).body.data.databaseFull, true);
  t.regex(await service.app.metrics.registry.metrics(), /^database_full 1$/m);
  t.is(await service.app.store.read((tx) => tx.orders.count({})), orders, 'refused requests changed nothing');

  await makeRoom();
  t.is((await writes[1]![1]()).status, 201, 'the same key is free again');
  t.is((await writes[2]![1]()).status, 200);
  service.clock.advance(61);
  t.is((await admin.call('GET', '/api/v1/info')).body.data.databaseFull, false);
  t.regex(await service.app.metrics.registry.metrics(), /^database_full 0$/m);
  await runUntilQuiet(service, 10 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
});

test('a disk that fills up between the channel call and its settlement returns the number, and nothing is lost', async (t) => {
  let makeRoom: (() => Promise<void>) | undefined;
  let armed = false;
  const simulator = await ownSimulator(t);
  const channel = await startInBetween(t, simulator.url, async (_method, path) => {
    if (armed && !path.startsWith('/sim/')) makeRoom ??= await fillDatabase(service);
    return undefined;
  });
  const service = await startService(t, { simulator: channel });
  const shop = await service.merchant();
  const paid = await payOrder(service, shop, { payWay: 'alipay', amount: 20 });
  const scenes = {
    pay: () => shop.call('POST', '/api/v2/payment/pay', { subject: 'x', amount: 5, payWay: 'wechat' }),
    refund: () =>
      shop.call('POST', '/api/v2/payment/refund', { orderNo: paid, refundAmount: 5, merchantRefundNo: 'r1' }),
  };
  for (const [what, act] of Object.entries(scenes)) {
    armed = true;
    const { status, body } = await act();
    t.is(status, 504, `${what}: ${JSON.stringify(body)}`);
    t.truthy(body.orderNo);
    armed = false;
    await makeRoom?.();
    makeRoom = undefined;
  }
  await until('the refund is done', async () => {
    service.clock.advance(61);
    await service.app.sweep.once();
    return service.app.store.read((tx) => tx.refunds.find({ orderNo: paid, state: 'succeeded' }));
  });
  await runUntilQuiet(service, 10 * 3600, 1800);
  t.deepEqual(await unexplained(service), []);
  await assertLedgersMatch(t, service);
});

test('a disk can fill up and recover while readers of several tables run', async (t) => {
  const service = await startService(t);
  const { store } = service.app;
  const makeRoom = await fillDatabase(service);
  const [{ names = [] } = {}] = await store.read(
    (tx) =>
      tx.sql<{
        names: string[];
      }>`select array_agg(tablename::text) as names from pg_tables where schemaname = 'public'`,
  );
  t.true(names.length > 20);
  const { promise: room, resolve } = Promise.withResolvers<string>();
  // Reads one table, then all others while the space is being freed and waits for it.
  await store.transaction(async (tx) => {
    await tx.sql`select 1 from orders limit 1`;
    makeRoom().then(
      () => resolve('made'),
      (error: Error) => resolve(error.message),
    );
    const waiting = `select 1 from pg_locks where relation = 'orders'::regclass and not granted`;
    await until('a statement waits for the reader', async () => {
      const rows = await store.read((beside) => beside.sql`${sql.raw(waiting)}`);
      return rows.length > 0;
    });
    for (const name of names) await tx.sql`select 1 from ${sql.raw(name)} limit 1`;
  });
  t.is(await room, 'made');
});

function credentials({ clientId, secret }: { clientId: string; secret: string }) {
  return { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
}
