import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { createChance } from '../prove/chance.ts';
import { count } from '../support/counts.ts';
import { type Crowd, dataOf, openCrowd, requestOf, statusOf, watchShared } from './crowd.ts';
import { payOrder } from '../support/orders.ts';
import { bootstrapAdmin, type Merchant, request, type Service, startService, until } from '../support/service.ts';
import { admin, callersOfEveryKind, comparable, env, openOrders, type OwnQuery } from './batched-callers.ts';

// The tests watch the statements of the whole process, so they run one after another.

test.serial('each of many requests at once gets the response that it gets alone', async (t) => {
  const { service, asks } = await callersOfEveryKind(t);
  const { lines, ask } = await openCrowd(t, service.url, 24);
  const shared = watchShared(t);
  // The first time, a payment is placed and stored under its key. Later it is repeated.
  for (let at = 0; at < asks.length; at += 24) await ask(asks.slice(at, at + 24).map(({ text }) => text()));
  const alone: { name: string; text: () => string; answer: string; statements: number }[] = [];
  const cheap: typeof alone = [];
  for (const { name, text } of asks) {
    shared.forget();
    const answer = comparable(await lines[0]!.ask(text()));
    const one = { name, text, answer, statements: shared.seen().all };
    alone.push(one);
    if (shared.others() === 0) cheap.push(one);
  }
  t.true(new Set(alone.map(({ answer }) => answer)).size > 30, 'the callers get different responses');
  t.true(cheap.length > 80);
  // Refusals count the failed attempt and lists have statements of their own, so they are rarer than the other requests.
  const chance = createChance(20);
  shared.forget();
  let [requests, reads, different] = [0, 0, 0];
  const batches = count(100_000, 150);
  for (let batch = 0; batch < batches; batch += 1) {
    const chosen = Array.from({ length: chance.whole(2, 24) }, () => chance.pick(chance.happens(0.9) ? cheap : alone));
    const answers = await ask(chosen.map(({ text }) => text()));
    for (const [at, { name, answer, statements }] of chosen.entries()) {
      requests += 1;
      reads += statements;
      const got = comparable(answers[at]!);
      if (got === answer) continue;
      different += 1;
      t.is(got, answer, `${name}, beside ${chosen.map((one) => one.name).join('; ')}`);
    }
  }
  const { all } = shared.seen();
  t.log(`${batches} batches, ${requests} requests, ${different} different; ${reads} reads in ${all} statements`);
  t.is(different, 0);
  t.true(all < reads / 2, `${reads} reads shared only ${all} statements`);
});

/** Whether each query got its own order. */
function areOwn(t: ExecutionContext, answers: readonly string[], queries: readonly OwnQuery[]): void {
  for (const [at, { orderNo, clientId }] of queries.entries()) {
    t.is(statusOf(answers[at]!), 200);
    const found = dataOf(answers[at]!);
    t.deepEqual({ orderNo: found.orderNo, clientId: found.clientId }, { orderNo, clientId });
  }
}

const textsOf = (queries: readonly OwnQuery[]) => queries.map(({ text }) => text);

test.serial('one request takes a statement for each read, and 32 at once together at most half as many', async (t) => {
  const { service, shops, queries } = await openOrders(t);
  const { ask } = await openCrowd(t, service.url, 150);
  const shared = watchShared(t);
  const tokens = shops.map(({ clientId, secret }) =>
    requestOf('POST', '/oauth/token', {
      body: { grant_type: 'client_credentials', client_id: clientId, client_secret: secret },
    }),
  );
  areOwn(t, await ask([queries[0]!.text]), queries.slice(0, 1));
  t.deepEqual(shared.seen(), { apps: 1, clients: 0, orders: 1, all: 2 }, 'a query');
  shared.forget();
  t.is(statusOf((await ask([tokens[0]!]))[0]!), 200);
  t.deepEqual(shared.seen(), { apps: 0, clients: 1, orders: 0, all: 1 }, 'a token');
  for (const size of [32, 150]) {
    const many = Array.from({ length: size }, (_, at) => queries[at % queries.length]!);
    const taken: { queries: number; tokens: number }[] = [];
    // On a busy machine the requests of a round arrive in several turns, so the round with the fewest statements counts.
    for (let round = 0; round < 5; round += 1) {
      shared.forget();
      areOwn(t, await ask(textsOf(many)), many);
      const { apps, orders, all } = shared.seen();
      // A statement has room for 100 requests.
      t.true(Math.min(apps, orders) >= Math.ceil(size / 100));
      shared.forget();
      const answers = await ask(Array.from({ length: size }, (_, at) => tokens[at % tokens.length]!));
      for (const [at, answer] of answers.entries()) {
        const claims = JSON.parse(Buffer.from(dataOf(answer).access_token.split('.')[1], 'base64url').toString());
        t.is(claims.sub, shops[at % shops.length]!.clientId);
      }
      taken.push({ queries: all, tokens: shared.seen().all });
    }
    const fewest = (of: 'queries' | 'tokens') => Math.min(...taken.map((round) => round[of]));
    t.log(`${size} queries: ${fewest('queries')} statements; ${size} tokens: ${fewest('tokens')}`);
    t.true(fewest('queries') <= size, 'at most half of the two reads of each query');
    t.true(fewest('tokens') <= size / 2);
  }
});

/** Lets the queries wait for a lock on all orders, in one statement or several. */
async function heldQueries(t: ExecutionContext, crowd: Crowd, service: Service, queries: readonly OwnQuery[]) {
  const locker = new pg.Client({ connectionString: service.databaseUrl });
  await locker.connect();
  t.teardown(() => locker.end());
  await locker.query('begin; lock table orders in access exclusive mode');
  const answers = crowd.ask(textsOf(queries));
  const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  await until('the orders are asked for', async () => (await locker.query(`select 1 ${waiting}`)).rowCount);
  return {
    answers,
    end: (how: string) => locker.query(`select ${how}(pid) ${waiting}`),
    release: () => locker.query('commit'),
  };
}

for (const [what, how] of [
  ['whose connection is ended', 'pg_terminate_backend'],
  ['that is cancelled, as by its time limit,', 'pg_cancel_backend'],
] as const)
  test.serial(`a shared statement ${what} fails no request`, async (t) => {
    const { service, queries } = await openOrders(t, { shops: 4, orders: 24 });
    const crowd = await openCrowd(t, service.url, 24);
    const shared = watchShared(t);
    const sizes: number[] = [];
    shared.onShared(({ values: [first, numbers] }) => {
      if (first === 'open') sizes.push((numbers as string[]).length);
      return undefined;
    });
    const held = await heldQueries(t, crowd, service, queries);
    const before = sizes.length;
    const { rowCount } = await held.end(how);
    t.true(rowCount! >= 1);
    await held.release();
    const answers = await held.answers;
    // On a busy machine a request may arrive in a turn of its own. The failure of its statement is then its own.
    const failed = answers.filter((answer) => statusOf(answer) !== 200).length;
    t.true(failed <= sizes.slice(0, before).filter((size) => size === 1).length, `${failed} requests failed`);
    const isServed = (_: unknown, at: number) => statusOf(answers[at]!) === 200;
    areOwn(t, answers.filter(isServed), queries.filter(isServed));
    t.log(`${before} shared statements, then ${sizes.length - before}`);
    t.true(
      sizes.some((size) => size > 1),
      'requests met',
    );
    t.true(sizes.length > before, 'the requests read alone');
  });

test.serial('a value that the database rejects fails only the request that sent it', async (t) => {
  const { service, queries } = await openOrders(t, { shops: 4, orders: 24 });
  const { ask } = await openCrowd(t, service.url, 24);
  const shared = watchShared(t);
  const bad = queries[7]!.orderNo;
  shared.onShared(({ values }) =>
    values.some((value) => Array.isArray(value) && value.includes(bad))
      ? Object.assign(new Error('invalid byte sequence for encoding "UTF8"'), { code: '22021' })
      : undefined,
  );
  const answers = await ask(textsOf(queries));
  const isBad = ({ orderNo }: OwnQuery) => orderNo === bad;
  t.deepEqual(
    answers.filter((_, at) => isBad(queries[at]!)).map((answer) => statusOf(answer) >= 500),
    [true],
  );
  areOwn(
    t,
    answers.filter((_, at) => !isBad(queries[at]!)),
    queries.filter((query) => !isBad(query)),
  );
  shared.onShared(() => undefined);
  areOwn(t, await ask(textsOf(queries)), queries);
});

test.serial('callers who hang up disturb none of those who share their statements', async (t) => {
  const { service, queries } = await openOrders(t, { shops: 4, orders: 24 });
  const crowd = await openCrowd(t, service.url, 24);
  const ask: Crowd['ask'] = (texts) =>
    Promise.all(texts.map((text, at) => crowd.lines[at]!.ask(text).catch(() => 'closed')));
  const held = await heldQueries(t, { ...crowd, ask }, service, queries);
  for (const { socket } of crowd.lines.slice(0, 8)) socket.destroy();
  await held.release();
  const answers = await held.answers;
  t.deepEqual(
    answers.slice(0, 8),
    Array.from({ length: 8 }, () => 'closed'),
  );
  areOwn(t, answers.slice(8), queries.slice(8));
  const later = await openCrowd(t, service.url, 24);
  areOwn(t, await later.ask(textsOf(queries)), queries);
});

/** Other callers query their orders all the time until `end`, at the given services. */
async function noise(t: ExecutionContext, queries: readonly OwnQuery[], urls: readonly string[]) {
  let goesOn = true;
  let asked = 0;
  const crowds = await Promise.all(
    urls.map(async (url) => {
      const crowd = await openCrowd(t, url, 16);
      return async () => {
        const texts = queries.slice(0, 16);
        while (goesOn) {
          const answers = await crowd.ask(textsOf(texts));
          asked += texts.length;
          const wrong = answers.findIndex((answer, at) => dataOf(answer).orderNo !== texts[at]!.orderNo);
          if (wrong >= 0) t.fail(`${texts[wrong]!.orderNo}: ${answers[wrong]}`);
        }
      };
    }),
  );
  const running = Promise.all(crowds.map((run) => run()));
  return {
    async end(): Promise<number> {
      goesOn = false;
      await running;
      return asked;
    },
  };
}

async function grant(url: string, { clientId, secret }: Pick<Merchant, 'clientId' | 'secret'>) {
  const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  const { status, body: given } = await request(url, 'POST', '/oauth/token', body);
  return { status, token: given.access_token as string };
}

/** An application whose secret and token change, and one of its paid orders. */
type Shop = Merchant & { paid: string };

type Pair = (shop: Shop) => Promise<string | undefined>;

/** Each changes something and asks for it at once; returns what was stale. */
function pairsAt(service: Service, session: string): Record<string, Pair> {
  const { url } = service;
  const call = (token: string, method: string, path: string, body?: unknown) =>
    request(url, method, path, body, { authorization: `Bearer ${token}` });
  const tea = { subject: 'Tea', amount: 5, payWay: 'alipay' };
  const pay = async (token: string) =>
    (await call(token, 'POST', '/api/v2/payment/pay', tea)).body.data.orderNo as string;
  const query = async (token: string, orderNo: string) =>
    (await call(token, 'GET', `/api/v2/payment/query/${orderNo}`)).body.data ?? {};
  const change = async (method: string, path: string, body: unknown) => {
    const answer = await call(session, method, path, body);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body.data;
  };
  const expect = (is: unknown, wanted: unknown) =>
    is === wanted ? undefined : `${String(is)} instead of ${String(wanted)}`;
  return {
    async pay({ token }) {
      const orderNo = await pay(token);
      return expect((await query(token, orderNo)).orderNo, orderNo);
    },
    async close({ token }) {
      const orderNo = await pay(token);
      const { status } = (await call(token, 'POST', `/api/v2/payment/close/${orderNo}`)).body.data;
      return expect(['closing', 'closed'].includes(status) && (await query(token, orderNo)).status, status);
    },
    async refund({ token, paid }) {
      const { body } = await call(token, 'POST', '/api/v2/payment/refund', { orderNo: paid, refundAmount: 0.01 });
      const { refunds = [] } = await query(token, paid);
      return expect(
        refunds.some(({ refundNo }: { refundNo: string }) => refundNo === body.data.refundNo),
        true,
      );
    },
    async disable(shop) {
      await change('PUT', `/api/v1/api-apps/${shop.clientId}/toggle`, { enabled: false });
      const { status } = await call(shop.token, 'GET', '/api/v2/limits');
      const asked = await grant(url, shop);
      await change('PUT', `/api/v1/api-apps/${shop.clientId}/toggle`, { enabled: true });
      shop.token = (await grant(url, shop)).token;
      return expect(`${status} ${asked.status}`, '401 401');
    },
    async lessen({ clientId, token }) {
      await change('PUT', `/api/v1/api-apps/${clientId}`, { scopes: ['payment:read'] });
      const { status } = await call(token, 'POST', '/api/v2/payment/pay', tea);
      await change('PUT', `/api/v1/api-apps/${clientId}`, { scopes: ['payment:read', 'payment:write'] });
      const again = await call(token, 'POST', '/api/v2/payment/pay', tea);
      return expect(`${status} ${again.status}`, '403 201');
    },
    async rotate(shop) {
      const path = `/api/v1/api-apps/${shop.clientId}/rotate-secret`;
      const old = { ...shop };
      shop.secret = (await change('POST', path, { graceSeconds: 3600 })).client_secret;
      const during = [(await grant(url, old)).status, (await grant(url, shop)).status];
      const next = { ...shop };
      shop.secret = (await change('POST', path, { graceSeconds: 0 })).client_secret;
      const after = [(await grant(url, old)).status, (await grant(url, next)).status];
      const { status } = await call(old.token, 'GET', '/api/v2/limits');
      shop.token = (await grant(url, shop)).token;
      return expect([...during, ...after, status].join(), '200,200,401,401,401');
    },
    async grace(shop) {
      const old = { ...shop };
      const path = `/api/v1/api-apps/${shop.clientId}/rotate-secret`;
      shop.secret = (await change('POST', path, { graceSeconds: 1 })).client_secret;
      service.clock.advance(1);
      return expect((await grant(url, old)).status, 401);
    },
  };
}

test.serial('a caller sees each own change at once, while other callers fill the statements', async (t) => {
  const { service, queries } = await openOrders(t);
  await bootstrapAdmin(service.app, admin);
  const { token: session } = (await request(service.url, 'POST', '/api/v1/login', admin)).body.data;
  const pairs = Object.entries(pairsAt(service, session));
  const tries = count(10_000, 42);
  const shared = watchShared(t);
  const others = await noise(t, queries, [service.url]);
  let next = 0;
  const stale: string[] = [];
  const worker = async () => {
    const shop = { ...(await service.merchant({ scopes: ['payment:read', 'payment:write'] })), paid: '' };
    shop.call = (method, path, body) =>
      request(service.url, method, path, body, { authorization: `Bearer ${shop.token}` });
    while (next < tries) {
      const [name, pair] = pairs[(next += 1) % pairs.length]!;
      if (name === 'refund') shop.paid = await payOrder(service, shop, { amount: 10 });
      const was = await pair(shop);
      if (was !== undefined) stale.push(`${name}: ${was}`);
    }
  };
  await Promise.all(Array.from({ length: 6 }, worker));
  const asked = await others.end();
  const { all } = shared.seen();
  t.log(`${tries} pairs, ${stale.length} stale; ${asked} queries of others; ${all} shared statements`);
  t.deepEqual(stale, []);
  t.true(all < asked, `${all} statements for ${2 * asked} reads`);
});

test.serial(
  'a revoked token is refused at once by each replica, while other callers fill the statements of both',
  async (t) => {
    const { service: one, shops, queries } = await openOrders(t);
    const two = await startService(t, { url: one.databaseUrl, simulator: one.simulator, env, now: one.clock.now });
    const tries = count(10_000, 40);
    const shared = watchShared(t);
    const others = await noise(t, queries, [one.url, two.url]);
    const uses = (url: string, token: string) =>
      request(url, 'GET', '/api/v2/limits', undefined, { authorization: `Bearer ${token}` }).then(
        ({ status }) => status,
      );
    let next = 0;
    const accepted: string[] = [];
    const worker = async () => {
      while (next < tries) {
        const turn = (next += 1);
        const [at, other] = turn % 2 ? [one.url, two.url] : [two.url, one.url];
        const { token } = await grant(one.url, shops[turn % shops.length]!);
        t.is(await uses(one.url, token), 200);
        if (turn % 3) t.is(await uses(two.url, token), 200);
        await request(at, 'POST', '/oauth/revoke', { token });
        const seen = [await uses(other, token), await uses(at, token)];
        if (seen.join() !== '401,401') accepted.push(`${turn}: ${seen.join()}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    const asked = await others.end();
    const { all } = shared.seen();
    t.log(`${tries} tries, ${accepted.length} accepted; ${asked} queries of others; ${all} shared statements`);
    t.deepEqual(accepted, []);
    t.true(all < asked, `${all} statements for ${2 * asked} reads`);
  },
);
