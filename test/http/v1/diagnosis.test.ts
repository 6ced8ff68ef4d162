import test from 'ava';
import { randomUUID } from 'node:crypto';
import { waitingFigures } from '../../../server/db/queries/figures.ts';
import { serviceOfFile } from '../../support/file-service.ts';
import { payOrder, placeOrder } from '../../support/orders.ts';
import { coverRoutes } from '../../support/route-file.ts';

const file = await serviceOfFile(import.meta.filename);
const { viewer, service, shop } = file;
const { store } = service.app;
coverRoutes(test, file);

const HOUR = 3_600_000;
const ago = (ms: number) => new Date(Date.now() - ms);

const diagnose = async () => (await viewer('GET', '/api/v1/diagnosis')).body.data;

/** Sets the cause of the payments of this file that were learned without a notification. */
const causeOfPayments = (cause: string) =>
  service.app.database.em
    .fork()
    .execute(`update transitions set cause = '${cause}' where to_state = 'paid' and cause in ('agent', 'query')`);

/** A delivery of an application that was attempted. */
const delivery = (clientId: string, change: object) => ({
  id: randomUUID(),
  eventId: `evt_${randomUUID()}`,
  clientId,
  target: 'webhook' as const,
  url: 'https://shop.example/hook',
  state: 'pending' as const,
  attempts: 2,
  nextAttemptAt: new Date(Date.now() + HOUR),
  leasedUntil: null,
  lastStatus: 500,
  lastError: null,
  createdAt: ago(1000),
  finishedAt: null,
  ...change,
});

test.serial('a healthy service reports no findings', async (t) => {
  const { clockAheadSeconds, secondFactors, ...rest } = await diagnose();
  t.false(secondFactors.required);
  t.is(secondFactors.without, secondFactors.administrators, 'no administrator has enrolled');
  t.true(secondFactors.administrators > 0);
  t.true(Math.abs(clockAheadSeconds) < 5, 'both run here');
  t.deepEqual(rest, {
    production: false,
    consoleOpen: true,
    explorer: false,
    listensElsewhere: null,
    due: [],
    failingWebhooks: [],
    approvers: null,
    silentNotices: [],
  });
});

test.serial(
  'applications with failing webhooks are listed with the last reason, and test messages do not count',
  async (t) => {
    const ended = { state: 'failed' as const, nextAttemptAt: null };
    await store.transaction(async (tx) => {
      await tx.deliveries.insert(delivery('app_bad', { createdAt: ago(2000), lastStatus: 503 }));
      await tx.deliveries.insert(delivery('app_bad', {}));
      await tx.deliveries.insert(
        delivery('app_bad', { ...ended, lastError: 'old', createdAt: ago(HOUR), finishedAt: ago(HOUR) }),
      );
      await tx.deliveries.insert(delivery('app_old', { ...ended, finishedAt: ago(25 * HOUR) }));
      await tx.deliveries.insert(delivery('app_test', { ...ended, target: 'test', finishedAt: ago(1000) }));
      await tx.deliveries.insert(delivery('app_new', { attempts: 0 }));
    });
    const { failingWebhooks } = await diagnose();
    t.deepEqual(failingWebhooks, [{ clientId: 'app_bad', retrying: 2, givenUp: 1, lastError: 'HTTP 500' }]);
    const { deliveries } = await store.read((tx) => waitingFigures(tx, new Date()));
    t.deepEqual(deliveries, { waiting: 1, retrying: 2, failed: 1 }, 'the figures say the same');
    const help = /^# HELP webhook_deliveries .* among the 10000 deliveries that ended last\.$/m;
    t.regex(await service.app.metrics.registry.metrics(), help, 'the bound of the count is named');
  },
);

test.serial('a channel is listed when its newest payments were learned only by queries', async (t) => {
  const merchant = await shop();
  const pay = () => payOrder(service, merchant, { payWay: 'wechat' });
  const settle = (orderNo: string) => store.autocommit((tx) => tx.orders.update({ orderNo }, { paidAt: ago(HOUR) }));
  await settle(await pay());
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  for (let paid = 1; paid <= 5; paid++) {
    const orderNo = await placeOrder(merchant, { payWay: 'wechat' });
    await service.sim('/sim/pay', { orderNo });
    await store.autocommit((tx) => tx.orders.update({ orderNo }, { checkedAt: null }));
    await merchant.call('GET', `/api/v2/payment/query/${orderNo}`);
    t.deepEqual((await diagnose()).silentNotices, [], 'a notification of a recent payment may still arrive');
    await store.autocommit((tx) => tx.orders.update({ orderNo }, { paidAt: ago(HOUR / 2 - paid * 1000) }));
  }
  t.deepEqual((await diagnose()).silentNotices, [{ project: 'default', payWay: 'wechat', payments: 5 }]);
  await causeOfPayments('agent');
  t.deepEqual((await diagnose()).silentNotices, [], 'payments by agents are reported by the agents');
  await causeOfPayments('query');
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: true });
  const told = await pay();
  await store.autocommit((tx) => tx.orders.update({ orderNo: told }, { paidAt: ago(HOUR / 4) }));
  await service.app.messages.flush();
  t.deepEqual((await diagnose()).silentNotices, [], 'one new notification is enough');
});

test.serial('overdue rows without a worker are counted, with the age of the oldest', async (t) => {
  const merchant = await shop();
  for (const age of [HOUR, HOUR / 2]) {
    const orderNo = await placeOrder(merchant, {});
    await store.autocommit((tx) => tx.orders.update({ orderNo }, { nextCheckAt: ago(age), leasedUntil: null }));
  }
  const { due } = await diagnose();
  const orders = due.find(({ kind }: { kind: string }) => kind === 'order');
  t.is(orders.rows, 2);
  t.true(orders.lagSeconds >= 3600);
});
