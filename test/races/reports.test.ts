import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { firstAdmin } from '../support/admin.ts';
import { placeOrder } from '../support/orders.ts';
import { startPostgres, type TestPostgres } from '../support/postgres.ts';
import { type Service, startService, until } from '../support/service.ts';
import { ownSimulator } from '../support/simulator.ts';

interface Pair {
  postgres: TestPostgres;
  primary: string;
  replica: string;
  /** Runs a statement at the primary. */
  atPrimary(text: string): Promise<pg.QueryResult>;
  /** Runs a statement at the replica. */
  atReplica(text: string): Promise<pg.QueryResult>;
  service(t: ExecutionContext, readUrl: string, env?: Record<string, string>): Promise<Service>;
}

let pair: Promise<Pair> | undefined;

/** One primary with a hot standby for the file; each test has its own database on both. */
async function ofFile(t: ExecutionContext, name: string): Promise<Pair> {
  pair ??= (async () => {
    const postgres = await startPostgres();
    return { postgres, primary: postgres.url, replica: await postgres.standby() } as Pair;
  })();
  const { postgres, ...servers } = await pair;
  const at = (server: string, database = name) => {
    const url = new URL(server);
    url.pathname = `/${database}`;
    return url.href;
  };
  const admin = new pg.Client({ connectionString: servers.primary });
  await admin.connect();
  await admin.query(`create database ${name}`);
  await admin.end();
  const [primary, replica] = [at(servers.primary), at(servers.replica)];
  const run = async (server: string, text: string) => {
    const client = new pg.Client({ connectionString: at(server, 'postgres') });
    await client.connect();
    return client.query(text).finally(() => client.end());
  };
  const atPrimary = (text: string) => run(servers.primary, text);
  const atReplica = (text: string) => run(servers.replica, text);
  t.teardown(() => atReplica('select pg_wal_replay_resume()'));
  const service: Pair['service'] = (of, readUrl, env = {}) =>
    startService(of, { url: primary, env: { PAY_DATABASE_READ_URL: readUrl, ...env } });
  return { postgres, primary, replica, atPrimary, atReplica, service };
}

async function readsFrom({ app }: Service, from: string): Promise<number> {
  const { values } = await app.metrics.registry.getSingleMetric('report_reads_total')!.get();
  return values.find(({ labels }) => labels['from'] === from)?.value ?? 0;
}

type Shop = Awaited<ReturnType<Service['merchant']>>;

async function listed(shop: Shop): Promise<{ numbers: string[]; lag: string | null }> {
  const { status, headers, body } = await shop.call('GET', '/api/v2/payment/orders');
  if (status !== 200) throw new Error(`list: ${status}`);
  return { numbers: body.data.map((one: { orderNo: string }) => one.orderNo), lag: headers.get('replica-lag') };
}

/** Repeats the list request until the replica answers: the primary answers until the replica is known to be fresh. */
async function fromReplica(shop: Shop): Promise<string[]> {
  let found = await listed(shop);
  await until('the replica answers', async () => (found = await listed(shop)).lag !== null);
  return found.numbers;
}

/** Waits until the standby has replayed everything that the primary has written. */
async function caughtUp({ atReplica }: Pair, { app }: Service): Promise<void> {
  const [row] = await app.store.read((tx) => tx.sql<{ lsn: string }>`select pg_current_wal_insert_lsn()::text as lsn`);
  const isThere = `select pg_last_wal_replay_lsn() >= pg_lsn '${row!.lsn}' as there`;
  await until('the standby has everything', async () => (await atReplica(isThere)).rows[0].there);
}

test.serial('lists, exports and statistics come from the replica and report their maximum age', async (t) => {
  const on = await ofFile(t, 'fresh');
  const service = await on.service(t, on.replica);
  const shop = await service.merchant();
  const admin = await firstAdmin(service);
  const orderNo = await placeOrder(shop, { merchantOrderNo: 'm1' });
  await until('the replica has the order', async () => (await fromReplica(shop)).includes(orderNo));
  for (const path of [
    '/api/v1/orders',
    '/api/v1/orders/export?format=ndjson',
    '/api/v1/refunds',
    '/api/v1/disputes',
    '/api/v1/users',
    '/api/v1/bills',
    '/api/v1/stats/overview',
    '/api/v1/stats/skillpay',
  ]) {
    const { status, headers } = await admin.call('GET', path);
    t.is(status, 200, path);
    t.regex(headers.get('replica-lag') ?? '', /^\d+\.\d{3}$/, path);
  }
  t.true((await readsFrom(service, 'replica')) >= 9);
  const query = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  t.is(query.headers.get('replica-lag'), null, 'a single order is read from the primary');
});

test.serial('decisions read rows that the replica does not have yet', async (t) => {
  const on = await ofFile(t, 'behind');
  const service = await on.service(t, on.replica, { PAY_DATABASE_READ_MAX_LAG_SECONDS: '3600' });
  const shop = await service.merchant();
  const first = await placeOrder(shop, {});
  await until('the replica has the first', async () => (await fromReplica(shop)).includes(first));
  await on.atReplica('select pg_wal_replay_pause()');
  const second = await placeOrder(shop, { merchantOrderNo: 'm2' });
  t.deepEqual(await fromReplica(shop), [first], 'the list is older');
  const { lag } = await listed(shop);
  t.true(Number(lag) > 0);
  t.is((await shop.call('GET', `/api/v2/payment/query/${second}`)).status, 200);
  t.is(await placeOrder(shop, { merchantOrderNo: 'm2' }), second, 'the same number is the same order');
  await service.sim('/sim/pay', { orderNo: second });
  await until('paid', async () => {
    const { body } = await shop.call('GET', `/api/v2/payment/query/${second}`);
    return body.data.status === 'paid';
  });
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo: second, refundAmount: 10 });
  t.is(refund.status, 200);
  const more = await shop.call('POST', '/api/v2/payment/refund', { orderNo: second, refundAmount: 1 });
  t.is(more.status, 422, 'the sum of the primary counts');
  t.deepEqual(await fromReplica(shop), [first]);
  await on.atReplica('select pg_wal_replay_resume()');
  await until('it caught up', async () => (await fromReplica(shop)).includes(second));
});

test.serial(
  "a list reported as fresh includes every committed order, even one not yet in the primary's log",
  async (t) => {
    const on = await ofFile(t, 'unwritten');
    const service = await on.service(t, on.replica, { PAY_DATABASE_READ_MAX_LAG_SECONDS: '3600' });
    const shop = await service.merchant();
    const first = await placeOrder(shop, {});
    await until('the replica has the first', async () => (await fromReplica(shop)).includes(first));
    // Commits are asynchronous here, and the log is written only on demand.
    const writeEvery = async (delay: string) => {
      await on.atPrimary(`alter system set wal_writer_delay = '${delay}'`);
      await on.atPrimary('select pg_reload_conf()');
    };
    t.teardown(() => writeEvery('200ms'));
    await writeEvery('2s');
    const second = await placeOrder(shop, {});
    const placedAt = performance.now();
    const isThere = async () => {
      const { numbers, lag } = await listed(shop);
      const hasIt = numbers.includes(second);
      t.true(hasIt || Number(lag) * 1000 >= performance.now() - placedAt - 500, `${lag} s`);
      return lag !== null && hasIt;
    };
    await until('the replica has the second', isThere);
  },
);

test.serial('a replica that is too far behind is not used, and a lost one fails no request', async (t) => {
  const on = await ofFile(t, 'late');
  const service = await on.service(t, on.replica, { PAY_DATABASE_READ_MAX_LAG_SECONDS: '1' });
  const shop = await service.merchant();
  const first = await placeOrder(shop, {});
  await until('the replica has the first', async () => (await fromReplica(shop)).includes(first));
  await on.atReplica('select pg_wal_replay_pause()');
  const second = await placeOrder(shop, {});
  await until('the primary answers', async () => (await listed(shop)).lag === null);
  t.deepEqual((await listed(shop)).numbers, [second, first]);
  const before = await readsFrom(service, 'primary');
  await listed(shop);
  t.is(await readsFrom(service, 'primary'), before + 1);
  // Its connections are ended and new ones refused, as in a crash.
  await on.atReplica('select pg_wal_replay_resume()');
  await fromReplica(shop);
  await on.atReplica(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'late' and pid <> pg_backend_pid()`,
  );
  t.deepEqual((await listed(shop)).numbers, [second, first], 'the waiting request is answered');
});

test.serial(
  'a database that is no replica of the primary is not used, and an unreachable one is retried later',
  async (t) => {
    const on = await ofFile(t, 'wrong');
    const lines: string[] = [];
    const logger = {
      child: () => logger,
      debug() {},
      trace() {},
      info() {},
      error() {},
      warn: (_: object, m: string) => lines.push(m),
    };
    const simulator = await ownSimulator(t);
    // The last one has the whole log and another service's database.
    const neighbour = on.replica.replace(/wrong$/, 'fresh');
    for (const readUrl of [on.primary, on.primary.replace(/:\d+\//, ':1/'), neighbour]) {
      const service = await startService(t, {
        simulator,
        url: on.primary,
        env: { PAY_DATABASE_READ_URL: readUrl },
        logger: logger as never,
      });
      const shop = await service.merchant();
      const orderNo = await placeOrder(shop, {});
      for (let turn = 0; turn < 3; turn += 1) {
        const { numbers, lag } = await listed(shop);
        t.true(numbers.includes(orderNo));
        t.is(lag, null);
        await caughtUp(on, service);
      }
      t.is(await readsFrom(service, 'primary'), 3);
      t.is(await readsFrom(service, 'replica'), 0);
      await service.stop();
    }
    t.deepEqual(
      lines.filter((line) => line.includes('primary')).length,
      3,
      'once for each service, not for each request',
    );
  },
);

test.after.always(async () => {
  await (await pair)?.postgres.stop();
});
