import test, { type ExecutionContext } from 'ava';
import { settle } from '../../server/payments/settle.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { count, inParallel, untilTaken } from '../support/counts.ts';
import { freePort } from '../support/free-port.ts';
import { payOrder } from '../support/orders.ts';
import { startReplica } from '../support/replica.ts';
import { type Answer, type Merchant, type Service, startService } from '../support/service.ts';

const REQUESTS = count(10_000, 240);
const PAY = '/api/v2/payment/pay';

async function twoReplicas(t: ExecutionContext) {
  const service = await startService(t);
  const { databaseUrl: url, simulator, clock } = service;
  const beside = await startService(t, { url, simulator, now: clock.now });
  // No new day begins during the race.
  clock.stop();
  return { service, urls: [service.url, beside.url] as const };
}

/** The total of an application's orders that did not end unpaid, in minor units, from the rows themselves. */
async function orderedBy({ app }: Service, { clientId }: Merchant): Promise<bigint> {
  const rows = await app.store.read((tx) =>
    tx.orders.list({ clientId, state: ['created', 'pending', 'closing', 'paid'] }),
  );
  return rows.reduce((sum, { amount }) => sum + amount, 0n);
}

async function usedBy({ app }: Service, { clientId }: Merchant, span: 'hour' | 'day' | 'month' | 'refunds') {
  const rows = await app.store.read((tx) => tx.limitUses.list({ clientId, span }));
  return rows.reduce((sum, { used }) => sum + used, 0n);
}

function requireOnly(t: ExecutionContext, answers: readonly Answer[], status: number): number {
  const taken = answers.filter((answer) => answer.status === status);
  for (const { status: other, body } of answers)
    if (other !== status) t.is(body.code, 'limit_exceeded', JSON.stringify(body));
  return taken.length;
}

test.serial('racing orders at two replicas reach a limit exactly if their amounts divide it', async (t) => {
  const { service, urls } = await twoReplicas(t);
  const allowed = REQUESTS / 4;
  const shop = await service.merchant({ limits: { CNY: { perDay: allowed * 1.25 } } });
  const answers = await inParallel(REQUESTS, 24, (at) =>
    untilTaken(() =>
      shop.callAt(urls[at % 2]!, 'POST', PAY, {
        subject: 'T',
        amount: 1.25,
        payWay: 'alipay',
        merchantOrderNo: `m-${at}`,
      }),
    ),
  );
  t.is(requireOnly(t, answers, 201), allowed);
  t.is(await orderedBy(service, shop), BigInt(allowed) * 125n);
  t.is(await usedBy(service, shop, 'day'), BigInt(allowed) * 125n);
  t.log(`${REQUESTS} requests for 1.25 against ${allowed * 1.25}: ${allowed} taken`);
});

test.serial('orders of uneven amounts never exceed the limit while other orders are closed', async (t) => {
  const { service, urls } = await twoReplicas(t);
  const limit = 37_77n;
  const shop = await service.merchant({ limits: { CNY: { perDay: '37.77', perMonth: '37.77' } } });
  let most = 0n;
  const answers = await inParallel(REQUESTS, 24, async (at) => {
    const asked = { subject: 'T', amount: `0.${11 + ((at * 37) % 89)}`, payWay: 'wechat', merchantOrderNo: `u-${at}` };
    const answer = await untilTaken(() => shop.callAt(urls[at % 2]!, 'POST', PAY, asked));
    if (answer.status === 201 && at % 3 === 0) {
      const { orderNo } = answer.body.data;
      await untilTaken(() => shop.callAt(urls[(at + 1) % 2]!, 'POST', `/api/v2/payment/close/${orderNo}`));
    }
    if (at % 40 === 0) {
      const ordered = await orderedBy(service, shop);
      most = ordered > most ? ordered : most;
    }
    return answer;
  });
  requireOnly(t, answers, 201);
  const ordered = await orderedBy(service, shop);
  t.true(ordered <= limit && most <= limit, `${ordered}, at most ${most}`);
  t.is(await usedBy(service, shop, 'day'), ordered, 'the count equals the stored orders');
  t.is(await usedBy(service, shop, 'month'), ordered);
  t.is(await usedBy(service, shop, 'hour'), BigInt(answers.filter(({ status }) => status === 201).length));
  await assertLedgersMatch(t, service);
});

test.serial('racing refunds of several orders stay within the daily refund limit', async (t) => {
  const { service, urls } = await twoReplicas(t);
  const shop = await service.merchant({ limits: { CNY: { refundPerDay: 21 } } });
  const orders: string[] = [];
  for (let at = 0; at < 4; at++) orders.push(await payOrder(service, shop, { amount: 20 }));
  const refunds = count(1000, 80);
  const answers = await inParallel(refunds, 20, (at) =>
    untilTaken(() =>
      shop.callAt(urls[at % 2]!, 'POST', '/api/v2/payment/refund', {
        orderNo: orders[at % 4],
        refundAmount: 0.75,
        merchantRefundNo: `r-${at}`,
      }),
    ),
  );
  t.is(requireOnly(t, answers, 200), 28);
  t.is(await usedBy(service, shop, 'refunds'), 2100n);
  await assertLedgersMatch(t, service);
});

test.serial('a replica that dies after storing the intent has counted it once under any repeats', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant({ limits: { CNY: { perDay: 15 } } });
  const paid = await payOrder(service, shop, { amount: 5 });
  for (const crashAt of ['place.intent', 'place.asked']) {
    const replica = await startReplica(t, {
      environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
      simulatorUrl: service.simulator.url,
      port: await freePort(),
      crashAt,
    });
    const asked = { subject: 'T', amount: 5, payWay: 'wechat', merchantOrderNo: crashAt.replace('.', '-') };
    await t.throwsAsync(shop.callAt(replica.url, 'POST', PAY, asked));
    t.is(await replica.ended, 'SIGKILL');
    for (const _ of [1, 2]) {
      const { status, body } = await untilTaken(() => shop.call('POST', PAY, asked));
      t.is(status, 201, JSON.stringify(body));
    }
  }
  t.is(await usedBy(service, shop, 'day'), 1500n);
  t.is((await shop.call('POST', PAY, { subject: 'T', amount: 0.01, payWay: 'wechat' })).body.code, 'limit_exceeded');
  t.truthy(paid);
});

test.serial('an order whose payment came after its end is counted again', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant({ limits: { CNY: { perDay: 10 } } });
  const { body } = await shop.call('POST', PAY, { subject: 'T', amount: 10, payWay: 'wechat' });
  const { orderNo } = body.data;
  const { store } = service.app;
  const via = { cause: 'test', actor: 'test' };
  await settle(service.app.ports, orderNo, { outcome: { kind: 'closed' } }, via);
  t.is(await usedBy(service, shop, 'day'), 0n);
  await store.autocommit((tx) => tx.orders.update({ orderNo }, { closeReason: 'expired' }));
  const amount = { minor: 1000n, currency: 'CNY' };
  const late = { kind: 'paid', channelNo: 'T-late', amount, at: service.clock.now() } as const;
  await settle(service.app.ports, orderNo, { outcome: late }, via);
  t.is((await store.read((tx) => tx.orders.find({ orderNo })))?.state, 'paid');
  t.is(await usedBy(service, shop, 'day'), 1000n);
});
