import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { existsSync } from 'node:fs';
import { request as send } from 'node:http';
import { type Admin, firstAdmin } from '../support/admin.ts';
import { count } from '../support/counts.ts';
import { postgresDatabase } from '../support/database.ts';
import { type Facts, createForger, type Forger, type Message } from './forge.ts';
import { serve } from '../support/free-port.ts';
import { placeOrder } from '../support/orders.ts';
import { type Merchant, type Service, startService, until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';
import { PAY_WAYS, post } from './unreceived-notifications.ts';
import { withOrder } from './wrong-notifications.ts';

const kind = 'payment_of_another_order';
const KEY = 4711;

interface Stage {
  one: Service;
  two: Service;
  shop: Merchant;
  admin: Admin;
  forger: Forger;
  proxyUrl: string;
  simulatorUrl: string;
}

type Rewrite = (path: string, text: string) => string;

/** Two replicas whose channel answers pass through `rewrite`; notifications are off. */
async function stage(t: ExecutionContext, rewrite: Rewrite = (_path, text) => text): Promise<Stage> {
  const simulator = await ownSimulator(t);
  const proxyUrl = await serve(t, (incoming, response) => {
    const { method, headers, url: path = '' } = incoming;
    const onward = send(simulator.url + path, { method, headers }, async (answer) => {
      const bytes = Buffer.concat(await answer.toArray());
      const isText = String(answer.headers['content-type']).includes('json');
      const body = isText ? rewrite(path, bytes.toString()) : bytes;
      const { 'content-length': _, 'transfer-encoding': __, ...kept } = answer.headers;
      response.writeHead(answer.statusCode ?? 502, kept).end(body);
    });
    onward.on('error', () => response.destroy());
    incoming.pipe(onward);
  });
  const one = await startService(t, { simulator: { url: proxyUrl } });
  await one.app.prepare();
  const two = await startService(t, { url: one.databaseUrl, simulator: { url: proxyUrl }, now: one.clock.now });
  for (const payWay of PAY_WAYS) await one.sim('/sim/notices', { payWay, enabled: false });
  const [shop, admin] = [await one.merchant(), await firstAdmin(one)];
  return { one, two, shop, admin, forger: createForger(simulator.dir), proxyUrl, simulatorUrl: simulator.url };
}

/** Holds the write of `event` just before it runs. */
async function gateAt({ app: { store } }: Service, event: string) {
  await store.transaction(async (tx) => {
    await tx.sql`create or replace function wait_here() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(${sql.lit(KEY)}); return new; end $$`;
    await tx.sql`create trigger wait_here before ${sql.raw(event)} for each row execute function wait_here()`;
  });
  return async <T>(
    waiters: number,
    work: () => Promise<T>,
    meanwhile: () => Promise<unknown> = async () => {},
  ): Promise<T> => {
    const [shut, opened] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const gate = store.transaction(async (tx) => {
      await tx.sql`select pg_advisory_xact_lock(${sql.lit(KEY)})`;
      shut.resolve();
      await opened.promise;
    });
    await shut.promise;
    const working = work();
    await until(`${waiters} wait at the gate`, async () => {
      const [row] = await store.read(
        (tx) =>
          tx.sql<{
            n: number;
          }>`select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = ${sql.lit(KEY)} and not granted
            and database = (select oid from pg_database where datname = current_database())`,
      );
      return row?.n === waiters;
    });
    await meanwhile().finally(() => opened.resolve());
    await gate;
    return working;
  };
}

async function rowOf({ app }: Service, orderNo: string) {
  return (await app.store.read((tx) => tx.orders.find({ orderNo })))!;
}

/** One of these orders is paid, and each other one has one exception with that order's number. */
async function oneIsPaid(t: ExecutionContext, { one }: Stage, orderNos: readonly string[]): Promise<void> {
  const rows = await Promise.all(orderNos.map((orderNo) => rowOf(one, orderNo)));
  const [owner, ...more] = rows.filter(({ state }) => state === 'paid');
  t.is(more.length, 0, 'one payment pays one order');
  for (const { orderNo, state, nextCheckAt } of rows) {
    const listed = await one.app.store.read((tx) => tx.exceptions.list({ orderNo }));
    if (orderNo === owner?.orderNo) t.deepEqual(listed, []);
    else {
      t.deepEqual(
        [state, listed.map((row) => [row.kind, row.detail?.['owner']])],
        ['pending', [[kind, owner?.orderNo]]],
      );
      t.not(nextCheckAt, null);
    }
  }
}

/** Messages that all name one new payment, each for another order. */
async function claims({ shop, one, forger }: Stage, payWay: 'alipay' | 'wechat', orders: number) {
  const donor = await placeOrder(shop, { payWay });
  await one.sim('/sim/pay', { orderNo: donor });
  await one.sim('/sim/notify', { orderNo: donor });
  const facts = forger.factsOf((await one.deliveries(donor))[0]!);
  const name = payWay === 'alipay' ? 'trade_no' : 'transaction_id';
  const number = withOrder(payWay, facts, donor, '')[name];
  const made: { orderNo: string; message: Message }[] = [];
  for (let index = 0; index < orders; index += 1) {
    const orderNo = await placeOrder(shop, { payWay });
    const claim: Facts = { ...withOrder(payWay, facts, orderNo, ''), [name]: number };
    made.push({ orderNo, message: await forger.sign(payWay, 'default', claim) });
  }
  return made;
}

for (const payWay of ['alipay', 'wechat'] as const) {
  test(`${payWay}: two orders notified of one payment at the same moment: one is paid, the other has an exception`, async (t) => {
    const on = await stage(t);
    const through = await gateAt(on.one, 'update of paid on orders');
    const rounds = count(25, 4);
    for (let round = 0; round < rounds; round += 1) {
      const made = await claims(on, payWay, 2);
      const answers = await through(2, () =>
        Promise.all(made.map(({ message }, at) => post([on.one, on.two][at]!, 'default', payWay, message))),
      );
      t.deepEqual(
        answers.map(({ status }) => status),
        [200, 200],
      );
      await oneIsPaid(
        t,
        on,
        made.map(({ orderNo }) => orderNo),
      );
    }
    t.log(`${rounds} pairs, both decided before either was written: ${rounds} paid, ${rounds} listed, no fault`);
  });

  test(`${payWay}: many orders notified of one payment at once: one is paid, all others have an exception`, async (t) => {
    const on = await stage(t);
    const made = await claims(on, payWay, count(60, 12));
    const answers = await Promise.all(
      made.flatMap(({ message }) => [on.one, on.two].map((at) => post(at, 'default', payWay, message))),
    );
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    await oneIsPaid(
      t,
      on,
      made.map(({ orderNo }) => orderNo),
    );
    t.log(`${answers.length} messages about ${made.length} orders: 1 paid, ${made.length - 1} listed, no fault`);
  });
}

test('paypal: two captures answered with one capture id at the same moment: one order is paid, the other has an exception', async (t) => {
  let round = 0;
  const shared = () => `SHAREDCAPTURE${String(round).padStart(4, '0')}`;
  const on = await stage(t, (path, text) =>
    path.startsWith('/paypal/') ? text.replaceAll(/("captures":\s*\[\s*\{\s*"id":\s*")\w+"/g, `$1${shared()}"`) : text,
  );
  const through = await gateAt(on.one, 'update of paid on orders');
  const rounds = count(25, 4);
  for (round = 1; round <= rounds; round += 1) {
    const orderNos = [await placeOrder(on.shop, { payWay: 'paypal' }), await placeOrder(on.shop, { payWay: 'paypal' })];
    for (const orderNo of orderNos) await on.one.sim('/sim/pay', { orderNo });
    const answers = await through(2, () =>
      Promise.all(
        orderNos.map((orderNo, at) =>
          on.shop.callAt([on.one, on.two][at]!.url, 'POST', `/api/v2/payment/capture/${orderNo}`),
        ),
      ),
    );
    t.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    await oneIsPaid(t, on, orderNos);
    for (const orderNo of orderNos)
      t.true((await on.shop.call('GET', `/api/v2/payment/query/${orderNo}`)).status === 200);
  }
  t.log(`${rounds} pairs: ${rounds} paid, ${rounds} listed, no fault`);
});

/** An order that expired without a payment, and whose merchantOrderNo is free again. */
async function ended({ one, shop }: Stage, merchantOrderNo: string): Promise<string> {
  const orderNo = await placeOrder(shop, { payWay: 'wechat', merchantOrderNo });
  const closedAt = one.clock.now();
  const end = { state: 'closed', closeReason: 'expired', closedAt, nextCheckAt: null, credential: null } as const;
  await one.app.store.autocommit((tx) => tx.orders.update({ orderNo }, end));
  return orderNo;
}

test('a late payment that races the next order of the same merchantOrderNo is refunded without a fault', async (t) => {
  const on = await stage(t);
  const { one, shop } = on;
  const through = await gateAt(one, 'update of paid on orders');
  const rounds = count(25, 4);
  for (let round = 0; round < rounds; round += 1) {
    const merchantOrderNo = `late-${round}`;
    const orderNo = await ended(on, merchantOrderNo);
    await one.sim('/sim/pay', { orderNo });
    await one.sim('/sim/notify', { orderNo });
    const { headers, bodyBase64 } = (await one.deliveries(orderNo))[0]!;
    const message = { headers, body: Buffer.from(bodyBase64, 'base64') };
    let next = '';
    const place = async () => void (next = await placeOrder(shop, { payWay: 'wechat', merchantOrderNo }));
    const answer = await through(1, () => post(one, 'default', 'wechat', message), place);
    t.is(answer.status, 200, answer.text);
    t.like(await rowOf(one, orderNo), { state: 'closed', paid: 1000n, refunding: 1000n });
    t.is((await rowOf(one, next)).state, 'pending');
  }
  t.log(`${rounds} payments beside the next order: ${rounds} go back, no fault`);
});

test('an accepted payment that races the next order of the same merchantOrderNo is refused without a fault', async (t) => {
  const on = await stage(t);
  const { one, shop, admin } = on;
  const merchantOrderNo = 'accepted';
  const orderNo = await ended(on, merchantOrderNo);
  await one.sim('/sim/pay', { orderNo });
  await one.sim('/sim/notify', { orderNo });
  await one.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { amount: 2000n }));
  const { headers, bodyBase64 } = (await one.deliveries(orderNo))[0]!;
  t.is((await post(one, 'default', 'wechat', { headers, body: Buffer.from(bodyBase64, 'base64') })).status, 200);
  const [listed] = await one.app.store.read((tx) => tx.exceptions.list({ orderNo, kind: 'amount_mismatch' }));
  const through = await gateAt(one, 'update of paid on orders');
  const accepted = await through(
    1,
    () => admin.call('POST', `/api/v1/exceptions/${listed!.id}/resolve`, { action: 'accept', reason: 'x' }),
    () => placeOrder(shop, { payWay: 'wechat', merchantOrderNo }),
  );
  t.deepEqual([accepted.status, accepted.body.code], [409, 'order_already_paid'], JSON.stringify(accepted.body));
  t.like(await rowOf(one, orderNo), { state: 'closed', paid: 0n });
});

test('two concurrent messages that name one dispute for different payments make one dispute without a fault', async (t) => {
  const swap: { text?: (text: string) => string } = {};
  let reads = 0;
  const on = await stage(t, (path, text) =>
    swap.text && /\/v1\/customer\/disputes\/[\w-]+$/.test(path) && (reads += 1) % 2 === 0 ? swap.text(text) : text,
  );
  const { one, two, shop, forger } = on;
  const orderNos: string[] = [];
  for (let index = 0; index < 2; index += 1) {
    const orderNo = await placeOrder(shop, { payWay: 'paypal' });
    await one.sim('/sim/pay', { orderNo });
    t.is((await shop.call('POST', `/api/v2/payment/capture/${orderNo}`)).body.data.status, 'paid');
    orderNos.push(orderNo);
  }
  const [first, second] = await Promise.all(orderNos.map((orderNo) => rowOf(one, orderNo)));
  await one.sim('/sim/dispute', { orderNo: first!.orderNo, act: 'open' });
  const told = await until('the message about the dispute', async () =>
    (await one.deliveries(first!.orderNo)).find(({ event }) => event.startsWith('CUSTOMER.DISPUTE')),
  );
  swap.text = (text) =>
    text.replaceAll(first!.channelTradeNo!, second!.channelTradeNo!).replaceAll(first!.orderNo, second!.orderNo);
  const certUrl = (told.headers['paypal-cert-url'] ?? '').replace(on.simulatorUrl, on.proxyUrl);
  const message = () => forger.sign('paypal', 'default', forger.factsOf(told), { certUrl });
  const through = await gateAt(one, 'insert on disputes');
  const messages = [await message(), await message()];
  const answers = await through(2, () =>
    Promise.all(messages.map((sent, at) => post([one, two][at]!, 'default', 'paypal', sent))),
  );
  t.deepEqual(
    answers.map(({ status }) => status),
    [200, 200],
  );
  const disputes = await one.app.store.read((tx) => tx.disputes.list({}));
  t.is(disputes.length, 1);
  t.true(orderNos.includes(disputes[0]!.orderNo));
  // Later messages about the dispute are settled at the order that owns it.
  t.is((await post(one, 'default', 'paypal', await message())).status, 200);
  t.is(await one.app.store.read((tx) => tx.disputes.count({})), 1);
});

/** How channel messages can violate each unique constraint, and the test of it. `random`: a number drawn for the row itself. */
const UNIQUE: Readonly<Record<string, readonly [how: string, test?: string]>> = {
  orders_channel_trade_no: [
    'looked up under the lock of the order, and decided again',
    'races/shared-payments.test.ts',
  ],
  orders_live_merchant_no: ['a new order gives way (on conflict), money is decided again', 'races/idempotency.test.ts'],
  disputes_pay_way_account_channel_dispute_no_unique: ['looked up, and decided again', 'races/disputes.test.ts'],
  notifications_pkey: ['on conflict: the same message is a duplicate', 'races/notifications.test.ts'],
  order_exceptions_order_no_kind_dedupe_unique: ['on conflict: listed once', 'races/unmatched-notifications.test.ts'],
  events_object_no_type_dedupe_unique: ['on conflict: told once', 'races/events.test.ts'],
  events_pkey: ['the number is taken from a sequence'],
  events_id_unique: ['random'],
  transitions_order_no_sequence_unique: ['counted on under the lock of the order', 'races/histories.test.ts'],
  transitions_pkey: ['the number is taken from a sequence'],
  refunds_merchant_no: ['on conflict: the caller is refused, channels name none', 'races/refunds.test.ts'],
  refunds_pkey: ['random, or made of the order number once in its life', 'races/stuck-refunds.test.ts'],
  refund_lookups_order_no_number_unique: [
    'looked up under the lock of the order',
    'races/contradicted-refunds.test.ts',
  ],
  approvals_pkey: ['the number of the refund that is inserted before'],
  due_effects_order_no_sequence_name_unique: [
    'under the lock of the order, one name for a move',
    'races/effects.test.ts',
  ],
  bills_of_day: ['on conflict: the day is there', 'races/bill-reading.test.ts'],
  bill_differences_once: ['on conflict: what is known changes', 'races/bill-matching.test.ts'],
  bill_lines_pkey: ['a reading is one try of one replica, its lines are counted', 'races/bill-deaths.test.ts'],
  payees_pkey: ['on conflict: the version is written down', 'races/bill-payees.test.ts'],
  quiet_accounts_pkey: ['looked up under the lock of the account', 'http/v1/bills.test.ts'],
  order_fees_pkey: ['on conflict: the newest bill counts', 'races/bill-matching.test.ts'],
  coin_accounts_project_coin_user_id_unique: ['on conflict, then locked', 'races/catalog.test.ts'],
  coin_entries_project_coin_source_unique: [
    'in the savepoint of an effect, under the lock of its order',
    'races/effects.test.ts',
  ],
  coin_entries_biz_no: ['debits of applications, looked up under the lock of the account', 'races/catalog.test.ts'],
  coin_clawbacks_pkey: ['looked up under the lock of the order', 'races/catalog.test.ts'],
  skill_orders_pkey: ['the number of the order that is inserted before'],
  coin_calls_pkey: ['random'],
  idempotency_keys_pkey: ['on conflict: the first one decides', 'races/idempotency.test.ts'],
  limit_uses_pkey: ['on conflict: counted on', 'races/limits.test.ts'],
  removed_orders_pkey: ['on conflict: counted on', 'races/retention.test.ts'],
};

/** Rows of people, keys, settings and processes, which channel messages never write. */
const NOT_OF_CHANNELS = new Set(
  `admins agent_pays api_apps audit_keys audit_log certs channel_configs channel_states coins known_addresses products projects
   rate_limits recovery_codes removed_history replicas revoked_tokens schema_migrations second_factors sessions signing_keys
   users webhooks`.split(/\s+/),
);

test('every unique constraint has a documented way that channel messages meet it', async (t) => {
  const { store } = await postgresDatabase(t);
  const rows = await store.read(
    (tx) =>
      tx.sql<{
        name: string;
        of: string;
        columns: string[];
      }>`select replace(i.relname, '_rest_pkey', '_pkey') as name, c.relname as of,
              array(select a.attname::text from pg_attribute a where a.attrelid = x.indexrelid order by a.attnum) as columns
         from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
        where c.relnamespace = 'public'::regnamespace and x.indisunique
          and (not c.relispartition or c.relname like '%\\_rest' and c.relname <> 'bill_lines_rest')`,
  );
  const met = rows.filter(({ of }) => !NOT_OF_CHANNELS.has(of));
  // A row with a drawn id collides with nothing.
  const isOwnId = ({ name, columns }: (typeof rows)[number]) =>
    name.endsWith('_pkey') && ['id', 'order_no', 'bill_no', 'dispute_no'].includes(columns.join()) && !(name in UNIQUE);
  t.deepEqual(
    met
      .filter((one) => !isOwnId(one))
      .map(({ name }) => name)
      .toSorted(),
    Object.keys(UNIQUE).toSorted(),
  );
  for (const [name, [how, file]] of Object.entries(UNIQUE)) {
    t.not(how, '', name);
    if (file) t.true(existsSync(new URL(`../${file}`, import.meta.url)), `${name}: ${file}`);
  }
});
