import test, { type ExecutionContext } from 'ava';
import { claimWork } from '../../server/skillpay/claim.ts';
import { skillEffects } from '../../server/skillpay/effects.ts';
import { resumeFulfilment } from '../../server/skillpay/fulfil.ts';
import { serve } from '../support/free-port.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { count, inParallel } from '../support/counts.ts';
import { startVictim } from '../support/replica.ts';
import { startService, until, type Answer, type Merchant, type Service } from '../support/service.ts';
import { addSkill, callSkill, offerSkill, paidSkill, redeemAt, withNewToken } from '../support/skillpay.ts';

const open = { PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', PAY_OAUTH_TOKEN_TTL_SECONDS: '86400' };

interface Upstream {
  url: string;
  calls: Map<string, number>;
}

/** An upstream that returns another result on every execution, so that a second one would show. */
async function upstream(t: ExecutionContext, delayMs = 20): Promise<Upstream> {
  const calls = new Map<string, number>();
  const url = await serve(t, (request, response) => {
    const order = String(request.headers['idempotency-key']);
    const nth = (calls.get(order) ?? 0) + 1;
    calls.set(order, nth);
    request.resume();
    setTimeout(() => response.end(`${order} execution ${nth}`), delayMs);
  });
  return { url: `${url}/run`, calls };
}

interface Pair {
  service: Service;
  /** Another replica on the same database. */
  twin: Service;
  shop: Merchant;
}

let opened: Promise<Pair> | undefined;
const ends: (() => unknown)[] = [];

/** Two replicas for all tests that need both; each test has its own skills. */
function pair(): Promise<Pair> {
  return (opened ??= openPair());
}

async function openPair(): Promise<Pair> {
  const own = { teardown: (end: () => unknown) => void ends.push(end) };
  const service = await startService(own, { env: open });
  const { databaseUrl: url, simulator, clock } = service;
  const twin = await startService(own, { env: open, url, simulator, now: clock.now });
  return { service, twin, shop: await service.merchant() };
}

test.after.always('the replicas end', async () => {
  for (const end of ends.toReversed()) await end();
});

const rowOf = (service: Service, orderNo: string) => service.app.store.read((tx) => tx.skillOrders.find({ orderNo }));

/** Repeats as a patient caller does: 409 and 503 mean "retry". */
async function untilAnswered(call: () => Promise<Answer>): Promise<Answer> {
  return until('an answer', async () => {
    const answer = await call();
    return answer.status !== 409 && answer.status !== 503 && answer;
  });
}

async function assertFulfilledOnce(t: ExecutionContext, service: Service, orderNo: string): Promise<void> {
  const row = await rowOf(service, orderNo);
  t.is(row?.fulfilment, 'done');
  const events = await service.app.store.read((tx) =>
    tx.events.count({ objectNo: orderNo, type: 'skillpay.fulfilled' }),
  );
  t.is(events, 1);
}

test.serial(
  'G13: many concurrent paid repeats at two replicas cause one execution, one row and one content',
  async (t) => {
    const { url, calls } = await upstream(t, 50);
    const { service, twin, shop } = await pair();
    const resource = { handler: 'http', url } as const;
    await addSkill(service, { code: 'repeated', resource });
    await addSkill(service, { code: 'repeated-abroad', currency: 'USD', payWays: ['paypal'], resource });
    for (const payWay of ['wechat', 'alipay', 'paypal'] as const) {
      const code = payWay === 'paypal' ? 'repeated-abroad' : 'repeated';
      const outTradeNo = await paidSkill(service, shop, { resource: code, payWay });
      const answers = await Promise.all(
        Array.from({ length: count(100, 16) }, (_, index) =>
          untilAnswered(() => redeemAt(index % 2 ? service.url : twin.url, shop, outTradeNo)),
        ),
      );
      t.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
      t.deepEqual([...new Set(answers.map(({ body }) => body.data.content))], [`${outTradeNo} execution 1`]);
      t.is(new Set(answers.map(({ body }) => body.data.receipt)).size, 1);
      t.is(answers.filter(({ body }) => body.data.alreadyFulfilled === false).length, 1);
      t.is(calls.get(outTradeNo), 1);
      await assertFulfilledOnce(t, service, outTradeNo);
      t.like(await rowOf(service, outTradeNo), { attempts: 1, fencing: 1 });
    }
    await assertLedgersMatch(t, service);
  },
);

test.serial('finished work is not claimed again by a repeat that saw it running or by a job', async (t) => {
  const { url, calls } = await upstream(t);
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  await addSkill(service, { resource: { handler: 'http', url } });
  const outTradeNo = await paidSkill(service, shop);
  t.is((await untilAnswered(() => redeemAt(service.url, shop, outTradeNo))).status, 200);
  const { store } = service.app;
  const { now } = service.clock;
  t.is((await claimWork({ store, now }, outTradeNo)).kind, 'done');
  t.is((await claimWork({ store, now }, outTradeNo, { due: true })).kind, 'done');
  t.is(calls.get(outTradeNo), 1);
  await assertFulfilledOnce(t, service, outTradeNo);
});

test.serial(
  'G13: kill -9 at every step of the work and of a first call: the work is done once after the restart',
  async (t) => {
    const { url, calls } = await upstream(t);
    const service = await startService(t, { env: open });
    const shop = await service.merchant();
    await addSkill(service, { resource: { handler: 'http', url } });
    const works: { dies: string; executions: number; outTradeNo: string }[] = [];
    for (const [dies, executions] of [
      ['fulfil.claimed', 1],
      ['fulfil.worked', 2],
      ['fulfil.kept', 1],
    ] as const)
      works.push({ dies, executions, outTradeNo: await paidSkill(service, shop) });
    const victim = await startVictim(t, service);
    const at = (to: string, body: unknown, headers: Record<string, string>) =>
      shop.callAt(to, 'POST', '/api/v2/skillpay/resource', body, headers);
    const first = (to: string, key: string, headers: Record<string, string> = {}) =>
      at(to, { resource: 'weather', input: { city: 'Paris' } }, { 'idempotency-key': key, ...headers });
    for (const { dies, outTradeNo } of works)
      await t.throwsAsync(
        at(victim.url, undefined, { 'x-out-trade-no': outTradeNo, 'x-dies-at': dies }),
        undefined,
        dies,
      );
    const steps = ['place.intent', 'place.asked', 'place.settled'];
    for (const dies of steps) await t.throwsAsync(first(victim.url, dies, { 'x-dies-at': dies }), undefined, dies);
    t.is(await victim.kill(), 'SIGKILL');

    const refund = await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo: works[0]!.outTradeNo });
    t.is(refund.body.code, 'fulfilment_in_progress', 'the lease outlives its maker');
    service.clock.advance(31);
    for (const dies of steps) {
      const again = await first(service.url, dies);
      t.is(again.status, 402, `${dies}: ${JSON.stringify(again.body)}`);
      t.truthy(again.body.data.qrCode, dies);
    }
    t.is(await service.app.store.read((tx) => tx.orders.count({})), works.length + steps.length);
    await service.app.sweep.once();
    for (const { dies, executions, outTradeNo } of works) {
      await assertFulfilledOnce(t, service, outTradeNo);
      t.is(calls.get(outTradeNo), executions, dies);
      const answer = await callSkill(shop, undefined, outTradeNo);
      t.is(answer.body.data.content, `${outTradeNo} execution ${executions}`);
      t.true(answer.body.data.alreadyFulfilled);
    }
    await assertLedgersMatch(t, service);
  },
);

/** An upstream whose first execution waits until it is released. */
async function stuckUpstream(t: ExecutionContext) {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let calls = 0;
  const url = await serve(t, async (request, response) => {
    request.resume();
    calls += 1;
    const mine = calls;
    begun.resolve();
    if (mine === 1) await gate.promise;
    response.end(`execution ${mine}`);
  });
  return { url, begun: begun.promise, letGo: () => gate.resolve() };
}

test.serial('a result after its lease is dropped if another claim or a refund came first', async (t) => {
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  const begin = async (code: string) => {
    const { url, begun, letGo } = await stuckUpstream(t);
    await addSkill(service, { code, resource: { handler: 'http', url } });
    const outTradeNo = await paidSkill(service, shop, { resource: code });
    const slow = callSkill(shop, undefined, outTradeNo);
    await begun;
    return { outTradeNo, slow, letGo };
  };

  const { outTradeNo, slow, letGo } = await begin('claimed-again');
  service.clock.advance(31);
  const second = await callSkill(shop, undefined, outTradeNo);
  t.is(second.body.data.content, 'execution 2');
  letGo();
  t.is((await slow).body.data.content, 'execution 2');
  await service.app.skillpay.idle();
  await assertFulfilledOnce(t, service, outTradeNo);
  t.like(await rowOf(service, outTradeNo), { fencing: 2, content: 'execution 2' });

  for (const refundAmount of [undefined, 0.1]) {
    const late = await begin(refundAmount ? 'part-refunded' : 'refunded');
    const { outTradeNo: refunded } = late;
    const refund = () => shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo: refunded, refundAmount });
    t.is((await refund()).status, 409);
    service.clock.advance(31);
    t.is((await refund()).status, 200);
    late.letGo();
    t.is((await late.slow).status, 410);
    await service.app.skillpay.idle();
    t.like(await rowOf(service, refunded), { fulfilment: 'none', content: null });
    await service.app.sweep.once();
    t.is((await callSkill(shop, undefined, refunded)).status, 410);
  }
  await assertLedgersMatch(t, service);
});

test.serial('work that died before its refund is not polled forever', async (t) => {
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  await addSkill(service);
  const { store } = service.app;
  for (const refundAmount of [undefined, 0.1]) {
    const outTradeNo = await paidSkill(service, shop);
    t.is((await claimWork({ store, now: service.clock.now }, outTradeNo)).kind, 'claimed');
    service.clock.advance(31);
    t.is((await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo, refundAmount })).status, 200);
    await service.app.sweep.once();
    t.like(await rowOf(service, outTradeNo), { fulfilment: 'none', nextAttemptAt: null, leasedUntil: null });
  }
  await assertLedgersMatch(t, service);
});

test.serial('work that pauses while its refund fails is due again', async (t) => {
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  await addSkill(service);
  const outTradeNo = await paidSkill(service, shop, { resource: 'weather', payWay: 'alipay' });
  t.is((await shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo })).status, 200);
  const { store } = service.app;
  const [refund] = await store.read((tx) => tx.refunds.list({ orderNo: outTradeNo }));
  const order = { orderNo: outTradeNo };
  await store.transaction((tx) => tx.refunds.update({ refundNo: refund!.refundNo }, { state: 'processing' }));
  await store.transaction((tx) => tx.orders.update(order, { refunding: 50n, refunded: 0n }));
  await store.transaction((tx) => tx.skillOrders.update(order, { nextAttemptAt: service.clock.now() }));

  const effects = skillEffects({ now: service.clock.now, raise: async () => {} });
  const slow: typeof store = {
    ...store,
    async read(work) {
      const seen = await store.read(work);
      await store.transaction(async (tx) => {
        const row = (await tx.orders.lock(order))!;
        await tx.refunds.update({ refundNo: refund!.refundNo }, { state: 'failed' });
        await tx.orders.update(order, { refunding: 0n });
        await effects.refundFailed(tx, row, refund!);
      });
      return seen;
    },
  };
  const never = { begin: () => t.fail(), giveUp: () => t.fail() } as never;
  await resumeFulfilment({ store: slow, now: service.clock.now, payments: {} } as never, never)(outTradeNo);
  t.truthy((await rowOf(service, outTradeNo))?.nextAttemptAt, 'an exception opens, or the work continues');
});

test.serial('calls with the same key after a lost 402 make one order at two replicas', async (t) => {
  const { service, twin, shop } = await pair();
  await addSkill(service, { code: 'lost' });
  const before = await service.app.store.read((tx) => tx.orders.count({}));
  const body = { resource: 'lost', input: { city: 'Paris' } };
  const call = (at: string, key: string) =>
    shop.callAt(at, 'POST', '/api/v2/skillpay/resource', body, { 'idempotency-key': key });
  await inParallel(count(50, 6), 4, async (index) => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, nth) =>
        untilAnswered(() => call(nth % 2 ? service.url : twin.url, `key-${index}`)),
      ),
    );
    t.deepEqual([...new Set(answers.map(({ status }) => status))], [402]);
    t.is(new Set(answers.map(({ body: { data } }) => data.outTradeNo)).size, 1);
    t.is(new Set(answers.map(({ body: { data } }) => data.paymentCode)).size, 1);
    t.truthy(answers.at(-1)?.body.data.qrCode);
  });
  t.is(await service.app.store.read((tx) => tx.orders.count({})), before + count(50, 6));
});

test.serial('G13: fulfilment against refund never gives both content and refund', async (t) => {
  const { url } = await upstream(t, 5);
  const { service, twin, shop } = await pair();
  await addSkill(service, { code: 'firm', resource: { handler: 'http', url }, refundAfterFulfilment: false });
  await addSkill(service, { code: 'firm-still', refundAfterFulfilment: false });
  await addSkill(service, { code: 'firm-abroad', currency: 'USD', payWays: ['paypal'], refundAfterFulfilment: false });
  const races = count(200, 20);
  const seen = { content: 0, refund: 0, neither: 0 };
  const numbers = await inParallel(races, 4, (index) =>
    paidSkill(
      service,
      shop,
      index % 3 === 2
        ? { resource: 'firm-abroad' }
        : { resource: index % 2 ? 'firm' : 'firm-still', payWay: index % 3 ? 'wechat' : 'alipay' },
    ),
  );
  await inParallel(races, 3, async (index) => {
    const outTradeNo = numbers[index]!;
    const redeem = () => redeemAt(index % 2 ? service.url : twin.url, shop, outTradeNo);
    const refund = () =>
      index % 4 < 2
        ? shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo })
        : shop.call('POST', '/api/v2/payment/refund', { orderNo: outTradeNo, refundAmount: 0.5 });
    // The redeeming call makes more requests before its claim; delays of different length let either one win.
    const start = new Promise<void>((resolve) => setTimeout(resolve, (index % 8) * 2 || 40));
    // Every eighth refund starts early enough on most machines: all repeats come later.
    const late = (then: typeof redeem) => (index % 8 === 0 ? start.then(then) : then());
    const both =
      index % 4 === 0 ? [refund(), start.then(redeem), late(redeem)] : [redeem(), start.then(refund), redeem()];
    const answers = await Promise.all(both);
    const gaveContent = answers.some(({ status, body }) => status === 200 && body.data.content !== undefined);
    const gaveMoney = answers.some(({ status, body }) => status === 200 && body.data.refundNo !== undefined);
    t.false(gaveContent && gaveMoney, outTradeNo);
    for (const { status, body } of answers) t.true([200, 409, 410].includes(status), `${status} ${body.code}`);
    seen[gaveContent ? 'content' : gaveMoney ? 'refund' : 'neither'] += 1;
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo: outTradeNo }));
    const row = await rowOf(service, outTradeNo);
    const moneyIsBack = (order?.refunded ?? 0n) + (order?.refunding ?? 0n) > 0n;
    t.false(moneyIsBack && row?.fulfilment === 'done', outTradeNo);
    if (moneyIsBack) t.is((await redeem()).status, 410);
  });
  t.log(`${races} races: ${JSON.stringify(seen)}`);
  t.true(seen.content > 0 && seen.refund > 0);
  await runUntilQuiet(service, 7200);
  await assertLedgersMatch(t, service);
});

test.serial('a partial refund prevents a later delivery, where refunds after delivery are allowed', async (t) => {
  const { url } = await upstream(t, 5);
  const { service, twin, shop } = await pair();
  await addSkill(service, { code: 'mild', resource: { handler: 'http', url } });
  await addSkill(service, { code: 'mild-still' });
  const races = count(200, 20);
  const seen = { refundFirst: 0, contentFirst: 0, refused: 0 };
  const numbers = await inParallel(races, 4, (index) =>
    paidSkill(service, shop, {
      resource: index % 2 ? 'mild' : 'mild-still',
      payWay: index % 3 ? 'wechat' : 'alipay',
    }),
  );
  await inParallel(races, 3, async (index) => {
    const outTradeNo = numbers[index]!;
    const redeem = () => redeemAt(index % 2 ? service.url : twin.url, shop, outTradeNo);
    const refund = () => shop.call('POST', '/api/v2/skillpay/refund', { outTradeNo, refundAmount: 0.49 });
    const start = new Promise<void>((resolve) => setTimeout(resolve, (index % 8) * 2 || 40));
    // Every eighth refund starts early enough on most machines: all repeats come later.
    const late = (then: typeof redeem) => (index % 8 === 0 ? start.then(then) : then());
    const both =
      index % 4 === 0 ? [refund(), start.then(redeem), late(redeem)] : [redeem(), start.then(refund), redeem()];
    const answers = await Promise.all(both);
    const back = answers.some(({ status, body }) => status === 200 && body.data.refundNo !== undefined);
    const row = await rowOf(service, outTradeNo);
    const [made] = await service.app.store.read((tx) => tx.refunds.list({ orderNo: outTradeNo }));
    t.is(back, made !== undefined);
    const last = await untilAnswered(redeem);
    if (!made) seen.refused += 1;
    else if (row?.fulfilment === 'done') {
      t.true(made.createdAt >= row.fulfilledAt!, `${outTradeNo}: delivered although a part was refunded before`);
      seen.contentFirst += 1;
    } else {
      t.is(last.body.code, 'order_refunded', outTradeNo);
      t.like(await rowOf(service, outTradeNo), { fulfilment: 'none', content: null });
      seen.refundFirst += 1;
    }
  });
  t.log(`${races} races: ${JSON.stringify(seen)}`);
  t.true(seen.refundFirst > 0 && seen.contentFirst + seen.refused > 0);
  await runUntilQuiet(service, 7200);
  await assertLedgersMatch(t, service);
});

test.serial('a payment that races the repeat and the expiry delivers content if paid and none if closed', async (t) => {
  const service = await startService(t, { env: open });
  const shop = await service.merchant();
  await addSkill(service, { offerTtlSeconds: 120 });
  const offers = await inParallel(count(40, 6), 3, (index) =>
    offerSkill(shop, { resource: 'weather', payWay: index % 2 ? 'wechat' : 'alipay' }),
  );
  service.clock.advance(181);
  await Promise.all([
    service.app.sweep.once(),
    ...offers.map((orderNo) => service.sim('/sim/pay', { orderNo }).catch(() => {})),
    ...offers.map((orderNo) => callSkill(shop, undefined, orderNo)),
  ]);
  const caller = await withNewToken(service, shop);
  for (const orderNo of offers) {
    service.clock.advance(6);
    const answer = await untilAnswered(() => callSkill(caller, undefined, orderNo));
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    t.is(answer.status, order?.state === 'paid' ? 200 : 402, `${orderNo} ${order?.state}`);
  }
  await assertLedgersMatch(t, service);
});
