import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { postgresDatabase } from '../support/database.ts';
import { readTexts } from '../../server/db/queries/messages.ts';
import { firstAdmin } from '../support/admin.ts';
import { runUntilQuiet } from '../support/merchant-ledger.ts';
import { orderRow } from '../support/core-rows.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { proveBooks } from '../support/prove.ts';
import { startReceiver } from '../support/receiver.ts';
import { type Merchant, type Service, startService, until } from '../support/service.ts';

const MARK = 'zqMARKzq';
const ADDRESS = '203.0.113.77';
const PHONE = '+447700900123';
const USER = 'user-1001';

/**
 * The tables with payer data, with each column: `erased` columns lose their payer data when the payer is deleted, wholly or, for
 * JSON, by member; `kept` columns hold a number, a state, a time, or text of the merchant, the service or the channel about no
 * person.
 */
const COLUMNS: Record<string, { erased?: string; kept: string }> = {
  users: {
    erased: 'nickname email phone metadata',
    kept: 'id project user_id status anonymised_at forget_since forget_at created_at updated_at',
  },
  orders: {
    erased: 'subject extra payer client_ip open_id credential return_url failure_message pay_code channel_options',
    kept: `order_no kind client_id project merchant_order_no mode pay_way account config_version scene order_type user_id amount currency
      facts_hash product product_code stock_held effects_due late_payment state close_reason close_asked close_answered failure_code paid
      refunded refunding overrun channel_order_id channel_trade_no credential_until notify_url app_id sequence place_tries absent_count
      absent_first_at captures capture_state capture_leased_until capture_reason approvals_asked approval_asked_at reverse_doubt_at
      settlement limited trace_parent checks next_check_at leased_until checked_at created_at sent_at expires_at paid_at closed_at`,
  },
  refunds: {
    erased: 'reason failure_message',
    kept: `refund_no order_no client_id project merchant_refund_no origin amount currency state accepted surplus elsewhere failure_code
      channel_refund_no payment_no actor approval attempt tries refused_at absent_count absent_first_at unknown_at checks next_check_at
      leased_until queue_key trace_parent sent_at created_at finished_at`,
  },
  approvals: {
    erased: 'reason decision',
    kept: 'refund_no kind order_no client_id project pay_way amount currency asked_by state decided_by created_at decided_at',
  },
  transitions: {
    erased: 'outcome',
    kept: 'id order_no refund_no sequence from_state to_state rule cause actor request_id at',
  },
  order_exceptions: {
    erased: 'reason detail',
    kept: `id order_no refund_no client_id project kind dedupe received_minor received_currency blocks_refunds state resolution
      resolved_by created_at resolved_at`,
  },
  order_fees: { kept: 'order_no refund_no fee currency bill_no' },
  disputes: {
    kept: `dispute_no order_no client_id project pay_way account mode channel_dispute_no reason amount currency state due_at amount_lost
      refund_no answered_at accepted_at changes checks next_check_at leased_until opened_at created_at updated_at closed_at`,
  },
  refund_lookups: {
    kept: 'id order_no number total state checks revision next_at leased_until queue_key last_answer created_at finished_at',
  },
  bill_lines: {
    erased: 'raw',
    kept: `bill_no reading line day kind event order_no refund_no channel_trade_no channel_refund_no currency amount discount
      fee share at`,
  },
  bill_differences: {
    kept: `id bill_no pay_way project day kind order_no refund_no key ours theirs state checks next_check_at leased_until queue_key answer
      created_at finished_at`,
  },
  due_effects: {
    erased: 'last_error',
    kept: `id order_no refund_no project sequence place name run refunded refunding state tries next_at leased_until created_at finished_at`,
  },
  channel_messages: {
    erased: 'texts',
    kept: 'id order_no refund_no pay_way direction call status duration_ms support_id digest note verified_by at times last_at',
  },
  notifications: { kept: 'pay_way account notification_id order_no copies received_at' },
  events: {
    erased: 'payload',
    kept: 'sequence id type client_id project object_no dedupe notify_url trace_parent created_at',
  },
  deliveries: {
    kept: `id event_id client_id target url state attempts next_attempt_at leased_until last_at last_ms last_status last_error created_at finished_at`,
  },
  delivery_attempts: { kept: 'id delivery_id at status error duration_ms' },
  idempotency_keys: {
    erased: 'body',
    kept: 'scope route key fingerprint intent_no state leased_until status created_at',
  },
  coin_accounts: { kept: 'id project coin user_id balance held debt created_at updated_at' },
  coin_entries: {
    erased: 'memo',
    kept: 'id project coin user_id delta balance_after kind source order_no biz_no actor created_at',
  },
  coin_clawbacks: {
    kept: 'refund_no order_no project coin user_id state due held taken debt waived turns created_at updated_at',
  },
  coin_calls: {
    erased: 'subject input',
    kept: `order_no client_id project user_id resource product_version body_digest handler coin amount refund_after_fulfilment fulfilment
      fencing attempts first_attempt_at leased_until next_attempt_at content content_type receipt failure_code failure_message created_at
      fulfilled_at refunded_at`,
  },
  // The payer is an agent: such an order belongs to no user that could be deleted.
  skill_orders: {
    kept: `order_no client_id project resource product_version body_digest input handler refund_after_fulfilment payment_code agent_code
      agent_code_until entries signed_offer signed_receipt payment_needed agent_trade_no confirm_at confirm_tries queue_key successor
      fulfilment fencing attempts first_attempt_at leased_until next_attempt_at content content_type receipt failure_code
      failure_message refund_no offered_at fulfilled_at`,
  },
};
/** Tables of the merchant, of administrators and of the service itself. The audit log records who did each action and is never changed. */
const WITHOUT_PAYERS = `admins agent_pays api_apps audit_keys audit_log bills certs channel_configs channel_states coins known_addresses
  limit_uses payees products projects quiet_accounts rate_limits recovery_codes removed_history removed_orders replicas revoked_tokens schema_migrations
  schema_origin second_factors sessions signing_keys webhooks`;

const words = (text = '') => text.split(/\s+/).filter(Boolean);

test.serial(
  'every column of a table with payer data is listed as erased or kept, and no table is missing',
  async (t) => {
    const { store } = await postgresDatabase(t);
    const columns = await store.read(
      (tx) =>
        tx.sql<{
          name: string;
          col: string;
        }>`select c.relname as name, a.attname as col from pg_attribute a join pg_class c on c.oid = a.attrelid
        where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and a.attnum > 0 and not a.attisdropped`,
    );
    const found = Map.groupBy(columns, ({ name }) => name);
    t.deepEqual([...found.keys()].toSorted(), [...Object.keys(COLUMNS), ...words(WITHOUT_PAYERS)].toSorted());
    for (const [name, { erased, kept }] of Object.entries(COLUMNS))
      t.deepEqual(
        [...words(erased), ...words(kept)].toSorted(),
        found
          .get(name)!
          .map(({ col }) => col)
          .toSorted(),
        name,
      );
  },
);

/** Every column of the database that contains the text, as `table.column`. */
async function placesOf({ app }: Service, text: string): Promise<string[]> {
  const columns = await app.store.read(
    (tx) =>
      tx.sql<{
        name: string;
        col: string;
        type: string;
      }>`select c.table_name as name, c.column_name as col, c.data_type as type from information_schema.columns c
         join information_schema.tables t using (table_schema, table_name)
        where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
          and c.data_type in ('text', 'character varying', 'character', 'json', 'jsonb', 'bytea', 'ARRAY')`,
  );
  const found: string[] = [];
  const messages = await app.store.read((tx) => tx.messages.list({}));
  if (messages.some((row) => JSON.stringify(readTexts(row)).includes(text))) found.push('channel_messages.texts');
  for (const { name, col, type } of columns) {
    const value = type === 'bytea' ? `encode("${col}", 'escape')` : `"${col}"::text`;
    const rows = await app.store.read(
      (tx) => tx.sql`select 1 from "${sql.raw(name)}" where ${sql.raw(value)} like ${`%${text}%`} limit 1`,
    );
    if (rows.length > 0) found.push(`${name}.${col}`);
  }
  return found;
}

type Admin = Awaited<ReturnType<typeof firstAdmin>>['call'];

/** Stores payer data in every place on every path. */
async function sayEverything(t: ExecutionContext, service: Service, shop: Merchant, admin: Admin) {
  const receiver = await startReceiver(t);
  const expect = async (status: number, answer: Promise<{ status: number; body: unknown }>) => {
    const got = await answer;
    t.is(got.status, status, JSON.stringify(got.body));
    return (got.body as { data: never }).data as Record<string, string>;
  };
  await expect(201, admin('PUT', `/api/v1/api-apps/${shop.clientId}/webhook`, { url: receiver.url }));
  const said = {
    nickname: MARK,
    email: `${MARK}@example.com`,
    phone: PHONE,
    metadata: { note: MARK },
  };
  await expect(201, shop.call('POST', '/api/v2/users', { userId: USER, ...said }));
  const words = { subject: `Tea for ${MARK}`, extra: JSON.stringify({ name: MARK }), clientIp: ADDRESS, userId: USER };
  const channelOptions = { alipay: { passbackParams: MARK }, wechat: { attach: MARK }, paypal: { brandName: MARK } };
  const pay = async (payWay: string, more: object = {}) => {
    const request = {
      ...words,
      channelOptions,
      payWay,
      amount: 10,
      returnUrl: `https://shop.example/?who=${MARK}`,
      ...more,
    };
    const { orderNo } = await expect(
      201,
      shop.call('POST', '/api/v2/payment/pay', request, { 'idempotency-key': `pay-${payWay}` }),
    );
    return orderNo!;
  };
  const orders: string[] = [];
  for (const payWay of ['alipay', 'wechat', 'paypal']) {
    const orderNo = await pay(payWay);
    await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
    await service.sim('/sim/pay', { orderNo });
    await until('paid', async () => (await stateOf(service, orderNo)) === 'paid');
    const refund = { orderNo, refundAmount: 4, reason: `sorry, ${MARK}` };
    await expect(200, shop.call('POST', '/api/v2/payment/refund', refund, { 'idempotency-key': `refund-${payWay}` }));
    orders.push(orderNo);
  }
  const above = { orderNo: orders[0], refundAmount: 6, reason: `dear ${MARK}` };
  const { refundNo } = await expect(200, shop.call('POST', '/api/v2/payment/refund', above));
  await expect(200, admin('POST', `/api/v1/approvals/${refundNo}/reject`, { reason: `not for ${MARK}` }));
  const closed = await placeOrder(shop, { ...words, payWay: 'wechat' });
  await expect(200, shop.call('POST', `/api/v2/payment/close/${closed}`));
  orders.push(closed);
  await expect(201, admin('POST', '/api/v1/coins', { code: 'gold', name: 'Gold' }));
  const given = { userId: USER, amount: 50, reason: `for ${MARK}` };
  await expect(201, admin('POST', '/api/v1/coins/gold/adjustments', given, { 'idempotency-key': 'give' }));
  const spent = { userId: USER, amount: 5, bizNo: 'b1', memo: `by ${MARK}` };
  await expect(200, shop.call('POST', '/api/v2/coins/gold/debit', spent, { 'idempotency-key': 'take' }));
  await runUntilQuiet(service, 12 * 3600, 1200);
  await service.app.deliveries.once();
  await service.app.messages.flush();
  const payers = await service.app.store.read((tx) => tx.orders.list({ orderNo: orders }));
  return { orders, payers: payers.flatMap(({ payer }) => (payer ? [payer] : [])) };
}

const scopes = ['payment:write', 'payment:read', 'user:read', 'user:write', 'coin:read', 'coin:write'] as never;

test.serial('a deleted payer is found nowhere in the database, and the ledger checks pass as before', async (t) => {
  const service = await startService(t, {
    env: {
      PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
      PAY_OAUTH_TOKEN_TTL_SECONDS: '86400',
      PAY_APPROVAL_REFUND_ABOVE: '5',
    },
  });
  const { logIn } = await firstAdmin(service);
  // The clock advances by hours between calls, so sessions expire.
  const admin: Admin = async (...request) => (await logIn()).call(...request);
  const shop = await service.merchant({ scopes, trusted: true });
  const { orders, payers } = await sayEverything(t, service, shop, admin);
  t.true(payers.length >= 3);
  const before = await placesOf(service, MARK);
  const erased = Object.entries(COLUMNS).flatMap(([name, one]) => words(one.erased).map((col) => `${name}.${col}`));
  const parts = (place: string) => place.replace(/_(p\d+|rest|\d{4}_\d\d)\./, '.');
  t.deepEqual(
    before.map(parts).filter((place) => place !== 'audit_log.after' && !erased.includes(place)),
    [],
    'words about a payer stand in columns that are erased, and in no other',
  );
  for (const place of [
    'approvals.reason',
    'approvals.decision',
    'users.nickname',
    'users.metadata',
    'orders.subject',
    'orders.extra',
    'orders.return_url',
    'orders.channel_options',
    'refunds.reason',
    'events.payload',
    'channel_messages.texts',
    'idempotency_keys.body',
    'coin_entries.memo',
  ])
    t.true(before.includes(place), `${place} was marked`);
  const books = await proveBooks(service.app);
  t.true(books.ok, JSON.stringify(books.proofs.filter(({ ok }) => !ok)));
  const sums = async () =>
    (await service.app.store.read((tx) => tx.orders.list({ orderNo: orders }, { orderBy: { orderNo: 'asc' } }))).map(
      ({ orderNo, state, amount, paid, refunded, refunding, channelTradeNo, userId }) => ({
        orderNo,
        state,
        amount,
        paid,
        refunded,
        refunding,
        channelTradeNo,
        userId,
      }),
    );
  const facts = await sums();

  t.is((await admin('DELETE', `/api/v1/users/${USER}`)).status, 204);

  // The reason of an adjustment is in the audit log, which is immutable.
  t.deepEqual(await placesOf(service, MARK), ['audit_log.after']);
  for (const text of [ADDRESS, PHONE, ...payers]) t.deepEqual(await placesOf(service, text), [], text);
  t.deepEqual(await sums(), facts);
  t.deepEqual((await proveBooks(service.app)).proofs, books.proofs);
  const exported = await admin('GET', '/api/v1/orders/export');
  t.is(exported.status, 200);
  t.true(String(exported.body).includes(orders[0]!));
  t.false(JSON.stringify(exported.body).includes(MARK));
  const paid = { subject: `Tea for ${MARK}`, extra: JSON.stringify({ name: MARK }), clientIp: ADDRESS, userId: USER };
  const channelOptions = { alipay: { passbackParams: MARK }, wechat: { attach: MARK }, paypal: { brandName: MARK } };
  const request = {
    ...paid,
    channelOptions,
    payWay: 'alipay',
    amount: 10,
    returnUrl: `https://shop.example/?who=${MARK}`,
  };
  const replayed = await shop.call('POST', '/api/v2/payment/pay', request, { 'idempotency-key': 'pay-alipay' });
  t.is(replayed.status, 201);
  t.is(replayed.body.data.orderNo, orders[0], 'a retry is still no second payment');
  t.is((await admin('DELETE', `/api/v1/users/${USER}`)).status, 204, 'once more is the same');
  service.clock.advance(700);
  service.app.startJobs();
  await until('a last look was taken', async () => {
    const user = await service.app.store.read((tx) => tx.users.find({ project: 'default', userId: USER }));
    return user?.forgetAt === null;
  });
  t.deepEqual(await placesOf(service, MARK), ['audit_log.after']);
});

test.serial('work in progress is erased when it ends, also if the process died right after the deletion', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const words = { subject: `Tea for ${MARK}`, extra: MARK, clientIp: ADDRESS, userId: USER };
  const open = await placeOrder(shop, { ...words, payWay: 'wechat' });
  const ended = await placeOrder(shop, { ...words, payWay: 'wechat' });
  await shop.call('POST', `/api/v2/payment/close/${ended}`);
  await service.app.messages.flush();
  // Only the effects of the deletion's own commit.
  const since = service.clock.now();
  await service.app.store.transaction((tx) =>
    tx.users.update({ userId: USER }, { forgetSince: since, forgetAt: since }),
  );
  const user = () => service.app.store.read((tx) => tx.users.find({ userId: USER }));
  const order = (orderNo: string) => service.app.store.read((tx) => tx.orders.find({ orderNo }));
  service.app.startJobs();
  await until('the one that ended is forgotten', async () => (await order(ended))?.extra === null);
  t.is((await order(open))?.extra, MARK, 'the channel call may still need it');
  t.truthy((await user())?.forgetAt);
  await until('it is closed', async () => {
    service.clock.advance(600);
    await service.sim('/sim/clock', { advanceSeconds: 600 });
    await service.app.sweep.once();
    return (await stateOf(service, open)) === 'closed';
  });
  await until('it is forgotten, too', async () => {
    service.clock.advance(600);
    return (await user())?.forgetAt === null;
  });
  await service.app.messages.flush();
  t.deepEqual(await placesOf(service, MARK), []);
  t.deepEqual(await placesOf(service, ADDRESS), []);
});

test.serial(
  'a payer of many orders is erased in bounded batches by two replicas at once, and other payers stay',
  async (t) => {
    const one = await startService(t);
    const other = await startService(t, { url: one.databaseUrl, simulator: one.simulator });
    const { store } = one.app;
    const createdAt = new Date(one.clock.now().getTime() - 86_400_000);
    const ended = {
      state: 'closed',
      merchantOrderNo: null,
      nextCheckAt: null,
      createdAt,
      closedAt: createdAt,
      subject: MARK,
    } as const;
    await store.transaction(async (tx) => {
      for (let n = 0; n < 1_000; n += 1)
        await tx.orders.insert(orderRow({ ...ended, orderNo: `P${n}`, userId: n % 10 === 0 ? 'somebody' : USER }));
      await tx.sql`create table written (n int)`;
      await tx.sql`create function note_written() returns trigger language plpgsql as
       $$ begin insert into written select count(*) from fresh; return null; end $$`;
      await tx.sql`create trigger noted after update on orders referencing new table as fresh for each statement execute function note_written()`;
      for (const userId of [USER, 'somebody'])
        await tx.sql`insert into users (id, project, user_id, status, created_at, updated_at) values (gen_random_uuid(), 'default', ${userId}, 'active', now(), now())`;
    });
    const { call: admin } = await firstAdmin(one);
    t.is((await admin('DELETE', `/api/v1/users/${USER}`)).status, 204);
    const left = () => store.read((tx) => tx.orders.count({ userId: USER, subject: MARK }));
    t.true((await left()) > 0, 'the request did a few parts');
    one.app.startJobs();
    other.app.startJobs();
    await until('all are forgotten', async () => {
      for (const { clock } of [one, other]) clock.advance(61);
      return (await left()) === 0;
    });
    const written = await store.read((tx) => tx.sql<{ n: number }>`select n from written where n > 0`);
    t.true(Math.max(...written.map(({ n }) => Number(n))) <= 100);
    t.is(
      written.reduce((sum, { n }) => sum + Number(n), 0),
      900,
      'each once',
    );
    t.is(await store.read((tx) => tx.orders.count({ userId: 'somebody', subject: MARK })), 100);
  },
);
