import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import { PATIENT } from '../support/database.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { runUntilQuiet } from '../support/merchant-ledger.ts';
import { startService, until, type Service } from '../support/service.ts';

const SLOW = 4711;
/** Only administrators see the messages of a channel. */
const ADMINISTRATOR = { owner: 'any', actor: 'admin:1' } as const;

/** The stored size of an order: its rows in every table that names it, and their bytes. */
async function costOf({ app }: Service, orderNo: string): Promise<{ rows: number; messages: number; bytes: number }> {
  const [cost] = await app.store.read(
    (tx) =>
      tx.sql<Record<'rows' | 'messages' | 'bytes', string>>`
       select count(*) as rows, count(*) filter (where name = 'message') as messages, sum(size) as bytes from (
         select 'order' as name, pg_column_size(o.*) as size from orders o where order_no = ${orderNo}
         union all select 'message', pg_column_size(m.*) from channel_messages m where order_no = ${orderNo}
         union all select 'move', pg_column_size(m.*) from transitions m where order_no = ${orderNo}
         union all select 'notice', pg_column_size(n.*) from notifications n where order_no = ${orderNo}
         union all select 'event', pg_column_size(e.*) from events e where object_no = ${orderNo}) parts`,
  );
  return { rows: Number(cost?.rows), messages: Number(cost?.messages), bytes: Number(cost?.bytes) };
}

for (const payWay of ['alipay', 'wechat', 'paypal'] as const)
  test.serial(`an unpaid order stores no more than a paid one if both are polled alike (${payWay})`, async (t) => {
    const service = await startService(t);
    const shop = await service.merchant();
    const paid = await placeOrder(shop, { payWay });
    const abandoned = await placeOrder(shop, { payWay });
    for (let turn = 0; turn < 5; turn += 1) {
      service.clock.advance(10);
      for (const orderNo of [paid, abandoned]) await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
    }
    await service.sim('/sim/pay', { orderNo: paid });
    await until('paid', async () => (await stateOf(service, paid)) === 'paid');
    await runUntilQuiet(service, 3 * 3600, 300);
    await runUntilQuiet(service, 3 * 86_400, 3600);
    t.is(await stateOf(service, abandoned), 'closed');
    await service.app.messages.flush();
    const [one, other] = [await costOf(service, abandoned), await costOf(service, paid)];
    t.log(`abandoned: ${JSON.stringify(one)}, paid: ${JSON.stringify(other)}`);
    // The close of an unpaid order is one more call.
    t.true(one.rows <= other.rows + 1, `${one.rows} rows against ${other.rows}`);
    t.true(one.bytes <= other.bytes, `${one.bytes} bytes against ${other.bytes}`);
    const story = await service.app.payments.timeline(ADMINISTRATOR, abandoned);
    const asked = story.filter(({ kind, detail }) => kind === 'message' && Number(detail['times']) > 1);
    t.true(asked.length > 0);
    for (const { summary, detail } of asked)
      t.true(
        summary.endsWith(`${String(detail['times'])} times until ${(detail['lastAt'] as Date).toISOString()}`),
        summary,
      );
  });

interface Slow {
  service: Service;
  /** Sends the service a notification of an order, with this much text. */
  hear(orderNo: string, characters: number): void;
  /** Runs work while no message can be written. */
  while(work: () => Promise<void>): Promise<void>;
  waiting(): Promise<number>;
}

/** A service whose message writes the test controls, and which records the rows of each statement. */
async function slowService(t: ExecutionContext): Promise<Slow> {
  const service = await startService(t, { databaseTimeouts: { ...PATIENT, lock: 60_000 } });
  const { store, ports } = service.app;
  await store.transaction(async (tx) => {
    await tx.sql`create table writes (n int)`;
    await tx.sql`create function wait_for_me() returns trigger language plpgsql as
       $$ begin perform pg_advisory_xact_lock_shared(${sql.lit(SLOW)}); return null; end $$`;
    await tx.sql`create function note_written() returns trigger language plpgsql as
       $$ begin insert into writes select count(*) from fresh; return null; end $$`;
    await tx.sql`create trigger slow before insert on channel_messages for each statement execute function wait_for_me()`;
    await tx.sql`create trigger noted after insert on channel_messages referencing new table as fresh for each statement execute function note_written()`;
  });
  const message = { refundNo: null, payWay: 'alipay', call: 'TRADE_SUCCESS', status: 200 } as const;
  const waiting = async () => {
    const rows = await store.read(
      (tx) => tx.sql`select 1 from pg_locks where locktype = 'advisory' and objid = ${sql.lit(SLOW)} and not granted`,
    );
    return rows.length;
  };
  return {
    service,
    hear: (orderNo, characters) =>
      ports.onReceived({
        ...message,
        orderNo,
        request: 'x'.repeat(characters),
        answer: 'ok',
        note: 'settled',
        verifiedBy: '1',
      }),
    while: (work) =>
      store.transaction(async (tx) => {
        await tx.sql`select pg_advisory_xact_lock(${sql.lit(SLOW)})`;
        await work();
      }),
    waiting,
  };
}

test.serial(
  'a slow database gets one write of messages at a time, and the next write takes everything that arrived meanwhile',
  async (t) => {
    const slow = await slowService(t);
    const { store, messages } = slow.service.app;
    await slow.while(async () => {
      for (let n = 0; n < 400; n += 1) {
        slow.hear(`P${n}`, 10);
        if (n % 20 === 0) void messages.flush();
      }
      await until('a write waits', async () => (await slow.waiting()) > 0);
      t.is(await slow.waiting(), 1);
    });
    await messages.flush();
    const written = await store.read((tx) => tx.sql<{ n: number }>`select n from writes where n > 0`);
    t.is(
      written.reduce((sum, { n }) => sum + Number(n), 0),
      400,
    );
    t.true(written.length <= 3, `${written.length} statements: the first one, and 300 rows at a time`);
  },
);

test.serial(
  'messages that a slow database cannot take are dropped and reported in timeline and figures, and no payment waits',
  async (t) => {
    const slow = await slowService(t);
    const { service } = slow;
    const { messages, metrics, payments } = service.app;
    const shop = await service.merchant();
    let orderNo = '';
    await slow.while(async () => {
      orderNo = await placeOrder(shop, {});
      void messages.flush();
      await until('a write waits', async () => (await slow.waiting()) > 0);
      for (let n = 0; n < 1_100; n += 1) slow.hear('P1', 16_000);
      for (let n = 0; n < 100; n += 1) slow.hear(orderNo, 16_000);
      await service.sim('/sim/pay', { orderNo });
      await until('paid', async () => (await stateOf(service, orderNo)) === 'paid');
    });
    await messages.flush();
    const figure = await metrics.registry.getSingleMetric('channel_messages_dropped_total')!.get();
    const marks = await service.app.store.read((tx) =>
      tx.messages.list({ call: 'missing' }, { orderBy: { id: 'asc' } }),
    );
    const kept = await service.app.store.read((tx) => tx.messages.count({ orderNo: 'P1', call: 'TRADE_SUCCESS' }));
    t.deepEqual(
      marks.map((mark) => mark.orderNo),
      ['P1', orderNo],
      'one mark for the gap of each order',
    );
    t.is(kept + marks[0]!.times, 1_100);
    t.true(kept * 16_000 <= 16 * 1024 * 1024);
    t.true(marks[1]!.times >= 100);
    t.is(figure.values[0]?.value, marks[0]!.times + marks[1]!.times);
    const story = await payments.timeline(ADMINISTRATOR, orderNo);
    t.true(story.some(({ summary }) => summary.startsWith(`${marks[1]!.times} messages are missing here until `)));
  },
);

test.serial('two replicas that count the same message lose no count and do not wait for each other', async (t) => {
  const one = await startService(t);
  const other = await startService(t, { url: one.databaseUrl, simulator: one.simulator });
  const shop = await one.merchant();
  const orders = await Promise.all(Array.from({ length: 10 }, () => placeOrder(shop, { payWay: 'wechat' })));
  for (let round = 0; round < 5; round += 1) {
    one.clock.advance(60);
    other.clock.advance(60);
    await Promise.all(
      orders.flatMap((orderNo, n) => {
        const urls = n % 2 === 0 ? [one.url, other.url] : [other.url, one.url];
        return urls.map((url) => shop.callAt(url, 'GET', `/api/v2/payment/query/${orderNo}`));
      }),
    );
    await Promise.all([one.app.messages.flush(), other.app.messages.flush()]);
  }
  const { asked, deadlocks } = await one.app.store.read(async (tx) => ({
    asked: await tx.messages.list({ call: 'query' }),
    deadlocks: await tx.sql<{
      deadlocks: string;
    }>`select deadlocks from pg_stat_database where datname = current_database()`,
  }));
  const times = asked.reduce((sum, row) => sum + row.times, 0);
  t.true(times >= 50 && times <= 100, `${times} questions`);
  t.true(asked.length <= times);
  t.is(Number(deadlocks[0]?.deadlocks), 0);
  t.is(await one.app.store.read((tx) => tx.messages.count({ call: 'missing' })), 0);
});
