import test from 'ava';
import { payOrder, placeOrder } from '../../support/orders.ts';
import { type Answer, type Service, until } from '../../support/service.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { coverRoutes, refused } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { admin, service, viewer } = file;
coverRoutes(test, file);

/** One falsification written directly to the database, and the ledger check that must find it. */
const LIES: readonly [check: string, statement: string][] = [
  ['refunded', `update orders set refunded = refunded + 1 where order_no = 'PAID'`],
  ['refunding', `update orders set refunding = refunding + 1 where order_no = 'PAID'`],
  ['overrun', `update orders set overrun = paid, refunded = paid + 5 where order_no = 'PAID'`],
  ['paid', `update orders set channel_trade_no = null where order_no = 'PAID'`],
  ['unpaid', `update orders set paid = 7 where order_no = 'OPEN'`],
  ['order-history', `update orders set state = 'failed' where order_no = 'OPEN'`],
  ['refund-history', `update refunds set state = 'failed' where refund_no = 'REFUND'`],
  ['sequence', `delete from transitions where order_no = 'PAID' and sequence = 2`],
  ['order-events', `delete from events where object_no = 'PAID' and type = 'order.paid'`],
  ['refund-events', `delete from events where object_no = 'REFUND'`],
  ['closed-events', `delete from events where object_no = 'CLOSED'`],
  [
    'coins',
    `insert into coin_accounts (id, project, coin, user_id, balance, held, debt, created_at, updated_at)
      values (gen_random_uuid(), 'default', 'gold', 'u', 5, 0, 0, now(), now())`,
  ],
  [
    'bills',
    `insert into bills (bill_no, pay_way, account, mode, project, day, state, reading, readings, lines, most_lines, not_ours, checks, created_at)
      values ('B1', 'wechat', '1900000001', 'live', 'default', current_date - 9, 'missing', 0, 0, 0, 0, 0, 3, now()),
             ('B2', 'wechat', '1900000001', 'live', 'default', current_date - 8, 'done', 1, 1, 0, 0, 0, 0, now())`,
  ],
  ['due', `update orders set next_check_at = null where order_no = 'OPEN'`],
  ['audit-log', `update audit_log set actor = 'somebody else' where id = (select min(id) from audit_log)`],
];

const names: Record<string, string> = {};

test.before('there are orders, paid, open and closed, and a refund', async () => {
  const shop = await file.shop();
  names.PAID = await payOrder(service, shop, { amount: 20 });
  names.OPEN = await placeOrder(shop, { amount: 20, payWay: 'wechat' });
  names.CLOSED = await placeOrder(shop, { amount: 20, payWay: 'wechat' });
  await until('the close', async () => {
    const { body } = await shop.call('POST', `/api/v2/payment/close/${names.CLOSED}`);
    return body.data.status === 'closed';
  });
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo: names.PAID, refundAmount: 5 });
  names.REFUND = refund.body.data.refundNo;
  await until('the refund', async () => {
    const { body } = await admin('GET', `/api/v1/refunds/${names.REFUND}`);
    return body.data.status === 'succeeded';
  });
});

test.serial('the ledger check passes on correct data', async (t) => {
  const { status, body } = await viewer('GET', '/api/v1/books');
  t.is(status, 200);
  t.true(body.data.ok, JSON.stringify(body.data.proofs.filter(({ ok }: { ok: boolean }) => !ok)));
});

test.serial('only=audit-log checks the audit log alone, also in pages', async (t) => {
  const { body } = await viewer('GET', '/api/v1/books?only=audit-log');
  t.deepEqual(
    body.data.proofs.map(({ check, ok }: { check: string; ok: boolean }) => [check, ok]),
    [['audit-log', true]],
  );
  t.true(body.data.auditLog.lines > 0);
  t.is(body.data.nextCursor, null);
  const first = (await viewer('GET', '/api/v1/books?only=audit-log&limit=1')).body.data;
  const rest = await viewer('GET', `/api/v1/books?only=audit-log&cursor=${first.nextCursor}`);
  t.is(first.auditLog.lines, 1);
  t.deepEqual(rest.body.data.auditLog, body.data.auditLog);
  refused(t, await viewer('GET', '/api/v1/books?only=orders'), 400, 'invalid_request');
});

test.serial('many small pages return the same as one page, and the last one has no next', async (t) => {
  const whole = (await viewer('GET', '/api/v1/books')).body.data;
  t.is(whole.nextCursor, null);
  const counts = new Map<string, number>();
  let pages = 0;
  for (let next: string | null = ''; next !== null; pages += 1) {
    const { status, body } = await viewer('GET', `/api/v1/books?limit=1${next && `&cursor=${next}`}`);
    t.is(status, 200);
    t.true(body.data.ok);
    for (const { check, count } of body.data.proofs) counts.set(check, (counts.get(check) ?? 0) + count);
    next = body.data.nextCursor;
  }
  t.true(pages > 5);
  t.deepEqual(
    [...counts],
    whole.proofs.map(({ check }: { check: string }) => [check, 0]),
  );
});

test.serial('the ledger check reports the number of days with a bill and without one', async (t) => {
  const before = (await viewer('GET', '/api/v1/books')).body.data.bills;
  const row = (no: string, days: number, state: string, reading: number) =>
    `('${no}', 'alipay', '2088', 'live', 'default', current_date - ${days}, '${state}', ${reading}, ${reading}, 0, 0, 0, 0, now())`;
  await service.app.database.em.fork().execute(
    `insert into bills (bill_no, pay_way, account, mode, project, day, state, reading, readings, lines, most_lines, not_ours, checks, created_at)
        values ${[row('BR1', 5, 'done', 1), row('BR2', 6, 'waiting', 0), row('BR3', 7, 'refused', 0)].join()},
               ${[row('BR4', 1, 'waiting', 0), row('BR5', 40, 'waiting', 0)].join()}`,
  );
  const whole = (await viewer('GET', '/api/v1/books')).body.data.bills;
  t.deepEqual(whole, { read: before.read + 1, unread: before.unread + 2, quiet: [] });
  const sum = { read: 0, unread: 0, quiet: [] };
  for (let next: string | null = ''; next !== null;) {
    const { body }: Answer = await viewer('GET', `/api/v1/books?limit=1${next && `&cursor=${next}`}`);
    const { data } = body;
    sum.read += data.bills?.read ?? 0;
    sum.unread += data.bills?.unread ?? 0;
    next = data.nextCursor;
  }
  t.deepEqual(sum, whole);
  await service.app.database.em.fork().execute(`delete from bills where account = '2088' and mode = 'live'`);
});

test.serial('an invalid page cursor is 400', async (t) => {
  const place = (text: string) => Buffer.from(text).toString('base64url');
  const bad = ['limit=0', 'limit=10001', 'limit=x', 'cursor=x', 'page=1', `cursor=${'a'.repeat(300)}`];
  const cursors = ['users|1', 'entries|x', 'audit|', `accounts|1`, `orders|a'b`, 'orders', 'entries|1 or 1=1'].map(
    place,
  );
  for (const query of [...bad, ...cursors.slice(0, 5).map((cursor) => `cursor=${cursor}`), `cursor=${cursors[6]}`])
    t.is((await viewer('GET', `/api/v1/books?${query}`)).status, 400, query);
});

test.serial('the audit log is checked up to a tip that was stored elsewhere', async (t) => {
  const { tip, lines } = (await viewer('GET', '/api/v1/books')).body.data.auditLog;
  t.true(lines > 0);
  await file.shop();
  const { body } = await viewer('GET', `/api/v1/books?tip=${tip}`);
  t.true(body.data.ok);
  t.true(body.data.auditLog.lines > lines);
  const inPages = async (known: string) => {
    const oks: boolean[] = [];
    let last;
    for (let next: string | null = ''; next !== null; next = last.nextCursor) {
      last = (await viewer('GET', `/api/v1/books?limit=3&tip=${known}${next && `&cursor=${next}`}`)).body.data;
      oks.push(last.ok);
    }
    return { oks, auditLog: last.auditLog };
  };
  const paged = await inPages(tip);
  t.true(paged.oks.length > 3 && paged.oks.every(Boolean), 'the tip may be on any page');
  t.deepEqual(paged.auditLog, body.data.auditLog);
  const other = 'f'.repeat(64);
  t.is((await inPages(other)).oks.filter((ok) => !ok).length, 1);
  const lost = (await viewer('GET', `/api/v1/books?tip=${other}&acceptUntil=1`)).body.data;
  t.false(lost.ok);
  t.deepEqual(lost.proofs.find(({ check }: { check: string }) => check === 'audit-log').examples, [
    { id: other, detail: 'tip_missing' },
  ]);
});

test.serial('an invalid tip is 400', async (t) => {
  for (const query of ['tip=', `tip=${'F'.repeat(64)}`, 'acceptUntil=-1', 'acceptUntil=x'])
    refused(t, await viewer('GET', `/api/v1/books?${query}`), 400, 'invalid_request');
});

for (const [check, statement] of LIES)
  test.serial(`a falsification of ${check} is found by its ledger check, with an example`, async (t) => {
    const sql = statement.replace(/'(PAID|OPEN|CLOSED|REFUND)'/g, (_, name: string) => `'${names[name]}'`);
    const undo = await plant(service, sql);
    const { body } = await admin('GET', '/api/v1/books');
    await undo();
    const proof = body.data.proofs.find((one: { check: string }) => one.check === check);
    t.false(body.data.ok);
    t.false(proof.ok);
    t.true(proof.count >= 1 && proof.examples.length >= 1);
  });

/** Writes a falsification and returns the function that restores the tables. */
async function plant({ app }: Service, sql: string): Promise<() => Promise<void>> {
  const tables = ['orders', 'refunds', 'transitions', 'events', 'coin_accounts', 'audit_log'];
  const run = (statement: string) => app.database.em.fork().execute(statement);
  for (const table of tables) await run(`create table honest_${table} as table ${table}`);
  await run(sql);
  return async () => {
    for (const table of tables) {
      await run(`delete from ${table}`);
      await run(`insert into ${table} select * from honest_${table}`);
      await run(`drop table honest_${table}`);
    }
  };
}
