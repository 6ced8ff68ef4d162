import test from 'ava';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { count, inParallel, untilTaken } from '../support/counts.ts';
import { freePort } from '../support/free-port.ts';
import { payOrder } from '../support/orders.ts';
import { startReplica } from '../support/replica.ts';
import { paymentOperations } from '../../server/payments/operations.ts';
import { firstAdmin, madeOffline } from '../support/admin.ts';
import { type Service, startService } from '../support/service.ts';
import type { Requester } from '../../server/payments/ports.ts';

const env = { PAY_APPROVAL_REFUND_ABOVE: '50' };
const REFUND = '/api/v2/payment/refund';
const admin = (name: string): Requester => ({ owner: 'any', actor: `admin:${name}`, person: { kind: 'admin', name } });

const ends: (() => unknown)[] = [];
test.after.always(async () => {
  for (const end of ends.toReversed()) await end();
});

let common: ReturnType<typeof startTwo> | undefined;

async function startTwo() {
  const here = { teardown: (end: () => unknown) => void ends.push(end) };
  const service = await startService(here, { env });
  await firstAdmin(service);
  for (const username of ['ann', 'bob', 'cid']) await madeOffline(service, username, { role: 'operator' });
  const { databaseUrl: url, simulator, clock } = service;
  return { service, beside: await startService(here, { env, url, simulator, now: clock.now }) };
}

/** The replicas of all tests, which run serially; each test's shop has a new token. */
async function twoReplicas() {
  const { service, beside } = await (common ??= startTwo());
  const shop = await service.merchant();
  const desks = [service, beside].map(({ app }) => app.payments);
  return { service, beside, shop, desks };
}

async function wordOf(done: Promise<unknown>): Promise<string> {
  try {
    await done;
    return 'ok';
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

const refundsOf = ({ app }: Service, orderNo: string) => app.store.read((tx) => tx.refunds.list({ orderNo }));

test.serial(
  'an approval and a rejection sent twice each to two replicas give one decision and at most one refund',
  async (t) => {
    const { service, shop, desks } = await twoReplicas();
    const orders = count(200, 8);
    let sent = 0;
    await inParallel(orders, 4, async (at) => {
      const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 100 });
      const { body } = await untilTaken(() =>
        shop.call('POST', REFUND, { orderNo, refundAmount: 60, merchantRefundNo: `a-${at}` }),
      );
      const { refundNo, status } = body.data;
      t.is(status, 'waiting_for_approval');
      const words = await Promise.all([
        wordOf(desks[0]!.approve(admin('ann'), refundNo)),
        wordOf(desks[1]!.approve(admin('bob'), refundNo)),
        wordOf(desks[0]!.reject(admin('bob'), refundNo, 'no')),
        wordOf(desks[1]!.reject(admin('ann'), refundNo, 'no')),
        wordOf(untilTaken(() => shop.call('POST', REFUND, { orderNo, refundAmount: 60, merchantRefundNo: `a-${at}` }))),
      ]);
      t.deepEqual(words.slice(0, 4).toSorted(), ['approval_decided', 'approval_decided', 'approval_decided', 'ok']);
      const approval = await service.app.store.read((tx) => tx.approvals.find({ refundNo }));
      const rows = await refundsOf(service, orderNo);
      t.is(rows.length, 1);
      t.is(rows[0]!.state === 'failed', approval!.state === 'rejected');
      if (approval!.state === 'approved') sent += 1;
    });
    await runUntilQuiet(service, 7200, 600);
    const done = await service.app.store.read((tx) => tx.refunds.count({ state: 'succeeded' }));
    t.is(done, sent);
    await assertLedgersMatch(t, service);
    t.log(`${orders} refunds: ${sent} approved, ${orders - sent} rejected`);
  },
);

test.serial(
  'racing refunds of one order reserve pending approvals: neither two refunds nor partial refunds exceed the payment',
  async (t) => {
    const { service, beside, shop } = await twoReplicas();
    const rounds = count(60, 3);
    await inParallel(rounds, 2, async (round) => {
      const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 100 });
      const answers = await inParallel(12, 12, (at) =>
        untilTaken(() =>
          shop.callAt(at % 2 ? service.url : beside.url, 'POST', REFUND, {
            orderNo,
            refundAmount: 15,
            merchantRefundNo: `p-${round}-${at}`,
          }),
        ),
      );
      t.is(answers.filter(({ status }) => status === 200).length, 6);
      const rows = await refundsOf(service, orderNo);
      const free = rows.filter(({ approval }) => approval === null);
      t.is(free.length, 3, '45 go at once, the rest waits');
      const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
      t.is(order!.refunded + order!.refunding, 9000n);
    });
    await assertLedgersMatch(t, service);
  },
);

test.serial('a replica that dies right after an approval or after the refund request loses nothing', async (t) => {
  const { service, shop, desks } = await twoReplicas();
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 100 });
  const replica = await startReplica(t, {
    environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
    simulatorUrl: service.simulator.url,
    port: await freePort(),
    crashAt: 'refund.intent',
    // Earlier tests advanced the clock.
    aheadMs: service.clock.now().getTime() - Date.now(),
  });
  const asked = { orderNo, refundAmount: 70, merchantRefundNo: 'crash-1' };
  await t.throwsAsync(shop.callAt(replica.url, 'POST', REFUND, asked));
  t.is(await replica.ended, 'SIGKILL');
  const { refundNo, status } = (await shop.call('POST', REFUND, asked)).body.data;
  t.is(status, 'waiting_for_approval');
  await runUntilQuiet(service, 7200, 600);
  t.is((await refundsOf(service, orderNo))[0]!.tries, 0, 'a refund that waits for approval is not sent');
  const dying = paymentOperations({
    ...service.app.ports,
    checkpoint: (name) => {
      if (name === 'approval.approved') throw new Error('died');
    },
  });
  await t.throwsAsync(dying.approve(admin('ann'), refundNo));
  t.is(await wordOf(desks[1]!.approve(admin('bob'), refundNo)), 'approval_decided');
  await runUntilQuiet(service, 7200, 600);
  t.is((await refundsOf(service, orderNo))[0]!.state, 'succeeded', 'the job sends it');
  t.is((await service.app.payments.refund(shop.requester, asked)).status, 'succeeded');
  await assertLedgersMatch(t, service);
});

test.serial('the requester of a refund cannot approve it at any replica', async (t) => {
  const { service, shop, desks } = await twoReplicas();
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 100 });
  const { refund } = service.app.payments;
  const { refundNo } = await refund(admin('ann'), { orderNo, refundAmount: 80 });
  for (const desk of desks) t.is(await wordOf(desk.approve(admin('ann'), refundNo)), 'approval_by_asker');
  t.is(await wordOf(desks[0]!.approve(admin('bob'), refundNo)), 'ok');
});
