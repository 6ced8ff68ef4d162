import { sql } from 'kysely';
import test, { type ExecutionContext } from 'ava';
import type { PayWay } from '../../server/payments/channel.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { startReplica } from '../support/replica.ts';
import { freePort } from '../support/free-port.ts';
import { type Service } from '../support/service.ts';
import { messageOf, PAY_WAYS, post, stage, type Stage, untold } from './unreceived-notifications.ts';
import { withOrder } from './wrong-notifications.ts';

const listed = async ({ admin }: Stage, state = 'open') =>
  (await admin.call('GET', `/api/v1/exceptions?kind=unmatched_notice&state=${state}`)).body.data;

/** As after a restore of a backup that is older than the order. */
async function forget({ app }: Service, orderNo: string): Promise<void> {
  await app.store.transaction(async (tx) => {
    for (const table of ['transitions', 'events', 'orders'])
      await tx.sql`delete from ${sql.raw(table)} where ${sql.raw(table === 'events' ? 'object_no' : 'order_no')} = ${orderNo}`;
  });
}

/** A message about money of an unknown order. */
async function lost(on: Stage, payWay: PayWay) {
  const delivery = await untold(on, on.shop, payWay);
  const order = await on.service.app.store.read((tx) => tx.orders.find({ orderNo: delivery.orderNo }));
  await forget(on.service, delivery.orderNo);
  return { ...delivery, account: order!.account };
}

for (const payWay of PAY_WAYS)
  test(`${payWay}: a genuine notification about an unknown order is listed once, and an operator resolves it`, async (t) => {
    const on = await stage(t);
    const { service, admin } = on;
    const delivery = await lost(on, payWay);
    const message = messageOf(delivery);
    const replica = await startReplica(t, {
      environment: service.environment,
      simulatorUrl: service.simulator.url,
      port: await freePort(),
    });
    const answers = await Promise.all(
      [service, replica, service, replica].map((to) => post(to, 'default', payWay, message)),
    );
    const refused = payWay === 'paypal' ? 503 : 400;
    t.deepEqual(
      answers.map(({ status }) => status),
      [refused, refused, refused, refused],
      'the channel keeps sending',
    );
    const [row, ...others] = await listed(on);
    t.deepEqual(others, []);
    t.like(row, { orderNo: delivery.orderNo, clientId: null, project: 'default', state: 'open', blocksRefunds: false });
    t.like(row.detail, { payWay, notices: 4, account: delivery.account });
    // PayPal's messages carry no trusted amounts.
    const money = payWay === 'paypal' ? [null, null] : [1000, 'CNY'];
    t.deepEqual([row.receivedMinor, row.receivedCurrency], money);
    await refusesOtherActions(t, on, row.id);
    const reason = 'Refunded in the portal';
    const ended = await admin.call('POST', `/api/v1/exceptions/${row.id}/resolve`, { action: 'acknowledge', reason });
    t.is(ended.status, 200, JSON.stringify(ended.body));
    t.like(ended.body.data, { state: 'resolved', resolution: 'acknowledge', reason });
    t.is((await post(service, 'default', payWay, message)).status, refused);
    t.deepEqual(await listed(on), [], 'the same message is not listed again');
    t.is((await listed(on, 'resolved'))[0].detail.notices, 5);
    await assertLedgersMatch(t, service);
  });

async function refusesOtherActions(t: ExecutionContext, { admin }: Stage, id: string): Promise<void> {
  for (const action of ['refund', 'accept', 'close', 'retry']) {
    const refused = await admin.call('POST', `/api/v1/exceptions/${id}/resolve`, { action, reason: 'Tried' });
    t.is(refused.status, 400, action);
  }
}

test("another system's orders at the same account make one exception for any number of notifications", async (t) => {
  const on = await stage(t);
  const delivery = await untold(on, on.shop, 'wechat');
  const facts = on.forger.factsOf(delivery);
  for (let index = 0; index < 12; index += 1) {
    const foreign = withOrder('wechat', facts, `SHOP-${index}`, '');
    const message = await on.forger.sign('wechat', 'default', foreign);
    t.is((await post(on.service, 'default', 'wechat', message)).status, 400);
  }
  const rows = await listed(on);
  t.is(rows.length, 1);
  t.like(rows[0], { orderNo: null, receivedMinor: null });
  t.like(rows[0].detail, { payWay: 'wechat', notices: 12, number: 'SHOP-11' });
});

test('unknown numbers in our format make an exception each up to a hundred, then one for the rest', async (t) => {
  const on = await stage(t);
  const delivery = await untold(on, on.shop, 'wechat');
  const facts = on.forger.factsOf(delivery);
  for (let index = 0; index < 105; index += 1) {
    const number = `P20300101000000ABCDEFG${String(index).padStart(3, '0')}`;
    const message = await on.forger.sign('wechat', 'default', withOrder('wechat', facts, number, ''));
    t.is((await post(on.service, 'default', 'wechat', message)).status, 400);
  }
  const open = await on.service.app.store.read((tx) => tx.exceptions.list({ kind: 'unmatched_notice', state: 'open' }));
  t.is(open.length, 101);
  t.is(open.find(({ orderNo }) => orderNo === '')?.detail?.['notices'], 5);
});

test('a message that is not genuine opens no exception', async (t) => {
  const on = await stage(t);
  for (const payWay of PAY_WAYS) {
    const { headers, body } = messageOf(await lost(on, payWay));
    const spoilt = Buffer.from(body);
    const at = spoilt.length >> 1;
    spoilt[at] = spoilt[at]! ^ 1;
    t.not((await post(on.service, 'default', payWay, { headers, body: spoilt })).status, 200);
  }
  t.deepEqual(await listed(on), []);
});
