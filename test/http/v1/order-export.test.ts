import test from 'ava';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { exportOrders } from '../../../server/payments/export.ts';
import { serviceOfFile, assertMarked } from '../../support/file-service.ts';
import { firstAdmin } from '../../support/admin.ts';
import { count } from '../../support/counts.ts';
import { type TestDatabase, postgresDatabase } from '../../support/database.ts';
import { placeOrder } from '../../support/orders.ts';
import { startService, until } from '../../support/service.ts';
import { coverRoutes } from '../../support/route-file.ts';

const audit = async () => {};
const now = () => new Date();
const file = await serviceOfFile(import.meta.filename);
coverRoutes(test, file);

async function seedOrders({ database }: Pick<TestDatabase, 'database'>, n: number): Promise<void> {
  const em = database.em.fork();
  await em.begin();
  await em.execute('set local statement_timeout = 0');
  await em.execute(
    `insert into orders (order_no, kind, client_id, project, mode, pay_way, account, config_version, scene, subject, amount,
       currency, facts_hash, stock_held, late_payment, state, close_asked, close_answered, paid, refunded, refunding, overrun,
       sequence, place_tries, absent_count, captures, checks, created_at, sent_at, expires_at)
     select 'P' || lpad(n::text, 10, '0'), 'payment', 'app_a', 'default', 'simulator', 'alipay', 'acc', 1, 'qr',
       'Seed ' || repeat('x', 100), n, 'CNY', 'h', false, '', 'closed', false, false, 0, 0, 0, 0, 1, 1, 0, 0, 0,
       t, t, t from generate_series(1, ${n}) n, lateral (select timestamptz '2030-01-01' + (n / 3) * interval '1 second' as t) x`,
  );
  await em.commit();
}

test.serial('orders are exported as CSV and NDJSON with the filters of the list', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const desk = await firstAdmin(service);
  const evil = await placeOrder(shop, { subject: '=1+1, "tea"', merchantOrderNo: 'm-1', amount: 12.5 });
  const plain = await placeOrder(shop, { subject: 'Tea', payWay: 'wechat', extra: 'a\nb' });
  const csv = await fetch(`${service.url}/api/v1/orders/export`, {
    headers: { authorization: `Bearer ${desk.token}` },
  });
  t.is(csv.status, 200);
  t.regex(csv.headers.get('content-type') ?? '', /^text\/csv/);
  t.is(csv.headers.get('content-disposition'), 'attachment; filename="orders.csv"');
  const text = await csv.text();
  t.regex(text, /^orderNo,merchantOrderNo,/);
  t.true(text.includes(`"'=1+1, ""tea"""`));
  t.true(text.includes('"a\nb"'));
  t.true(text.includes(',12.5,1250,CNY,'));
  const ndjson = await desk.call('GET', '/api/v1/orders/export?format=ndjson&payWay=wechat');
  t.is(ndjson.body.orderNo, plain);
  const some = await desk.call('GET', '/api/v1/orders/export?format=ndjson&merchantOrderNo=m-1&status=pending');
  t.is(some.body.orderNo, evil);
  t.is((await desk.call('GET', '/api/v1/orders/export?format=ndjson&status=refunded')).body, '');
  await assertMarked(t, `${service.url}/api/v1/orders/export?merchantOrderNo=m-1`, desk.token);
  for (const bad of ['bom=1', 'format=xlsx', 'cursor=x', 'limit=5', 'status=eaten', 'colour=red'])
    t.is((await desk.call('GET', `/api/v1/orders/export?${bad}`)).status, 400, bad);
  t.is((await shop.call('GET', '/api/v1/orders/export')).status, 401);
});

test.serial('a long export has every order once, in the memory of one batch', async (t) => {
  const db = await postgresDatabase(t);
  const total = count(100_000, 20_000);
  await seedOrders(db, total);
  const seen = new Set<string>();
  let lines = 0;
  let rest = '';
  const grown: number[] = [];
  for await (const part of await exportOrders({ ...db, reports: db.store, audit, now })({}, {}, 'ndjson')) {
    const pieces = (rest + String(part)).split('\n');
    rest = pieces.pop() ?? '';
    for (const line of pieces) {
      lines += 1;
      seen.add(line.slice(12, 23));
    }
    grown.push(process.memoryUsage().rss);
  }
  t.is(lines, total);
  t.is(seen.size, total);
  // Uncollected garbage grows at first; the memory must not grow with the number of orders.
  const half = Math.floor(grown.length / 2);
  const growth = Math.max(...grown.slice(half)) - Math.max(...grown.slice(0, half));
  t.true(growth < 100 * 1024 * 1024, `${Math.round(growth / 1e6)} MB in the second half`);
  t.log(`${total} orders: resident memory grew by ${Math.round(growth / 1e6)} MB in the second half`);
});

test.serial('a client that disconnects ends the export', async (t) => {
  const service = await startService(t);
  await seedOrders({ database: service.app.database }, 20_000);
  const desk = await firstAdmin(service);
  const { store } = service.app;
  const asked = get(`${service.url}/api/v1/orders/export`, {
    headers: { authorization: `Bearer ${desk.token}` },
    agent: false,
  });
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  await once(answer, 'data');
  answer.destroy();
  let reads = 0;
  const counting = { ...store, read: ((work) => ((reads += 1), store.read(work))) as typeof store.read };
  const body: Readable = await exportOrders({ store, reports: counting, audit, now })({}, {}, 'csv');
  body.once('data', () => body.destroy());
  await until('the client is disconnected', async () => body.destroyed);
  await turn();
  const before = reads;
  await turn();
  t.true(before <= 3, `${before} batches were read for a reader that took one`);
  t.is(reads, before);
  t.is((await desk.call('GET', '/api/v1/orders?limit=1')).status, 200);
  await service.stop();
});
