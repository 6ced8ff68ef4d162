import test from 'ava';
import { giveCoins } from '../support/coins.ts';
import { count, inParallel } from '../support/counts.ts';
import { openCutter } from './cutter.ts';
import { freePort, serve } from '../support/free-port.ts';
import { startReplica } from '../support/replica.ts';
import { request, startService, until, type Merchant, type Service } from '../support/service.ts';
import { addSkill, callSkill } from '../support/skillpay.ts';

const env = { PAY_OAUTH_TOKEN_TTL_SECONDS: '86400', PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
const coinPrice = { code: 'bean', amount: 3 };
const PATH = '/api/v2/skillpay/resource';

/** Asserts that ledger and calls agree: one debit per call, one credit per refunded call, and their sum is the balance. */
async function audit(
  service: Service,
): Promise<{ calls: number; debits: number; back: number; balances: Map<string, bigint> }> {
  return service.app.store.read(async (tx) => {
    const calls = await tx.coinCalls.list({});
    const entries = await tx.coinEntries.list({});
    const accounts = await tx.coinAccounts.list({});
    const sums = new Map<string, bigint>();
    for (const { userId, delta } of entries) sums.set(userId, (sums.get(userId) ?? 0n) + delta);
    for (const { userId, balance } of accounts)
      if (sums.get(userId) !== balance) throw new Error(`${userId}: ${balance}, entries ${sums.get(userId)}`);
    for (const { orderNo, amount, refundedAt } of calls) {
      const of = entries.filter((entry) => entry.orderNo === orderNo).map(({ delta }) => delta);
      const expected = refundedAt ? [-amount, amount] : [-amount];
      if (of.join() !== expected.join()) throw new Error(`${orderNo}: ${of.join()}`);
    }
    const of = (sign: (delta: bigint) => boolean) =>
      entries.filter(({ orderNo, delta }) => orderNo !== null && sign(delta)).length;
    return { calls: calls.length, debits: of((delta) => delta < 0n), back: of((delta) => delta > 0n), balances: sums };
  });
}

const callAt = (url: string, shop: Merchant, userId: string, key: string) =>
  request(
    url,
    'POST',
    PATH,
    { resource: 'weather', userId },
    { authorization: `Bearer ${shop.token}`, 'idempotency-key': key },
  );

test.serial(
  'racing calls at two replicas succeed as far as the coins last, and one key at once is one call',
  async (t) => {
    const service = await startService(t, { env });
    const twin = await startService(t, { env, url: service.databaseUrl, simulator: service.simulator });
    const shop = await service.merchant();
    await addSkill(service, { coinPrice });
    const rounds = count(50, 3);
    await giveCoins(service, 'bean', 'u2', 1000);
    for (let round = 0; round < rounds; round += 1) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, index) =>
          until('an answer', async () => {
            const answer = await callAt(index % 2 ? service.url : twin.url, shop, 'u2', `round-${round}`);
            return answer.status !== 409 && answer;
          }),
        ),
      );
      t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
      t.is(new Set(answers.map(({ body }) => body.data.outTradeNo)).size, 1);
      t.is(new Set(answers.map(({ body }) => body.data.receipt)).size, 1);
    }
    t.is((await audit(service)).debits, rounds);
    const calls = count(2000, 60);
    await giveCoins(service, 'bean', 'u1', 3 * (calls / 2) + 1);
    const answers = await inParallel(calls, 16, async (index) => {
      const answer = await callAt(index % 2 ? service.url : twin.url, shop, 'u1', `k${index}`);
      return answer.body.code === 'too_many_offers' ? 402 : answer.status;
    });
    t.is(answers.filter((status) => status === 200).length, calls / 2);
    t.is(answers.filter((status) => status === 402).length, calls / 2);
    const { balances, debits } = await audit(service);
    t.is(balances.get('u1'), 1n);
    t.is(debits, rounds + calls / 2);
  },
);

test.serial('a repeat under the key after a lost answer costs nothing and returns the content', async (t) => {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  await addSkill(service, { coinPrice });
  const calls = count(10_000, 80);
  await giveCoins(service, 'bean', 'u1', 3 * calls);
  let salt = 7;
  const random = () => (salt = (salt * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  const cutter = await openCutter(t, service.url, () => (random() < 0.6 ? Math.floor(random() * 1800) : undefined));
  await inParallel(calls, 8, async (index) => {
    for (;;) {
      const answer = await callAt(cutter.url, shop, 'u1', `call-${index}`).catch(() => undefined);
      if (answer?.status === 409) continue;
      if (answer === undefined) continue;
      t.is(answer.status, 200, JSON.stringify(answer.body));
      t.deepEqual(answer.body.data.content, { sky: 'blue' });
      return;
    }
  });
  const { balances, ...sums } = await audit(service);
  t.deepEqual(sums, { calls, debits: calls, back: 0 });
  t.is(balances.get('u1'), 0n);
  t.true(cutter.cuts() > calls / 2, `${cutter.cuts()} answers were lost`);
  t.log(`${calls} calls, ${cutter.cuts()} lost answers, 0 second debits`);
});

test.serial('a replica that dies in a call has taken the coins once, and the content is delivered', async (t) => {
  let executions = 0;
  const url = await serve(t, (_, response) => {
    executions += 1;
    response.end('done');
  });
  const service = await startService(t, { env });
  const shop = await service.merchant();
  await addSkill(service, { coinPrice, resource: { handler: 'http', url } });
  await giveCoins(service, 'bean', 'u1', 9);
  for (const [died, crashAt] of ['coins.paid', 'coins.worked', 'coins.kept'].entries()) {
    executions = 0;
    const victim = await startReplica(t, {
      environment: { ...service.environment, ...env },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      crashAt,
      quiet: true,
      // The death before advanced the service's clock.
      aheadMs: service.clock.now().getTime() - Date.now(),
    });
    await t.throwsAsync(callAt(victim.url, shop, 'u1', crashAt));
    await victim.ended;
    service.clock.advance(31);
    const answer = await until(`the content (${crashAt})`, async () => {
      const one = await callAt(service.url, shop, 'u1', crashAt);
      return one.status === 200 && one;
    });
    t.is(answer.body.data.content, 'done', crashAt);
    t.is((await callSkill(shop, undefined, answer.body.data.outTradeNo)).status, 200, crashAt);
    const { balances, ...sums } = await audit(service);
    t.deepEqual(sums, { calls: died + 1, debits: died + 1, back: 0 }, crashAt);
    t.is(balances.get('u1'), BigInt(6 - 3 * died), crashAt);
    t.true(executions >= 1 && executions <= 2, crashAt);
  }
});

test.serial(
  'work that outlives its claim stores nothing about a call whose coins were refunded meanwhile',
  async (t) => {
    let [status, arrived, released] = [0, Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const url = await serve(t, (_, response) => {
      arrived.resolve();
      void released.promise.then(() => response.writeHead(status).end('late'));
    });
    const service = await startService(t, { env });
    const shop = await service.merchant();
    await addSkill(service, { coinPrice, resource: { handler: 'http', url } });
    await giveCoins(service, 'bean', 'u1', 3);
    for (const [before, answered] of [200, 404].entries()) {
      [status, arrived, released] = [answered, Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const call = callAt(service.url, shop, 'u1', `k${answered}`);
      await arrived.promise;
      const [row] = await service.app.store.read((tx) => tx.coinCalls.list({ refundedAt: null }));
      const { orderNo: outTradeNo } = row!;
      const refund = () => shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo });
      t.is((await refund()).body.code, 'fulfilment_in_progress');
      service.clock.advance(31);
      t.is((await refund()).body.data.status, 'refunded');
      released.resolve();
      t.is((await call).body.code, 'order_refunded');
      await service.app.skillpay.idle();
      t.is((await callSkill(shop, undefined, outTradeNo)).body.code, 'order_refunded');
      const kept = await service.app.store.read((tx) => tx.coinCalls.find({ orderNo: outTradeNo }));
      t.like(kept, { fulfilment: 'none', content: null, fulfilledAt: null });
      const events = await service.app.store.read((tx) => tx.events.count({ type: 'skillpay.fulfilled' }));
      t.is(events, 0);
      const times = before + 1;
      t.like(await audit(service), { calls: times, debits: times, back: times });
    }
  },
);
