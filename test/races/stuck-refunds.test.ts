import test, { type ExecutionContext } from 'ava';
import type { RefundRow } from '../../server/db/entities/refunds.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Service } from '../support/service.ts';

const DAY = 86_400;

async function stage(t: ExecutionContext) {
  const service = await startService(t);
  const shop = await service.merchant();
  const { logIn } = await firstAdmin(service);
  // The clock advances by days between calls, so sessions expire.
  const admin = async (method: string, path: string, body?: unknown) => (await logIn()).call(method, path, body);
  return { service, shop, admin };
}

async function refundOf({ app }: Service, refundNo: string): Promise<RefundRow> {
  const refund = await app.store.read((tx) => tx.refunds.find({ refundNo }));
  if (!refund) throw new Error(`no refund ${refundNo}`);
  return refund;
}

async function openKinds({ app }: Service, orderNo: string): Promise<string[]> {
  const rows = await app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
  return rows.map(({ kind }) => kind).toSorted();
}

test('a refund without any report is listed within four days, and each way to resolve it works', async (t) => {
  const { service, shop, admin } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  for (const call of ['refund', 'refund-query'])
    await service.sim('/sim/faults', { payWay: 'alipay', call, fault: '502', times: 1000 });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const { refundNo } = body.data;
  await runUntilQuiet(service, 2 * DAY, 6 * 3600);
  t.deepEqual(await openKinds(service, orderNo), [], 'not after two days');
  await runUntilQuiet(service, 2 * DAY, 6 * 3600);
  t.deepEqual(await openKinds(service, orderNo), ['refund_overdue']);
  const { data: listed } = (await admin('GET', `/api/v1/exceptions?state=open&orderNo=${orderNo}`)).body;
  const seen = { action: 'acknowledge', reason: 'seen' };
  t.is((await admin('POST', `/api/v1/exceptions/${listed[0].id}/resolve`, seen)).status, 400, 'it is still open');
  const resolve = (action: string) =>
    admin('POST', `/api/v1/refunds/${refundNo}/resolve`, { action, reason: 'asked the channel' });
  const released = await resolve('release');
  t.is(released.body.code, 'refund_not_released', 'the outcome is unknown');
  t.is((await resolve('failed_at_channel')).status, 200);
  t.is((await refundOf(service, refundNo)).state, 'failed');
  t.deepEqual(await openKinds(service, orderNo), []);
  await service.sim('/sim/reset-faults', {});
  const again = await admin('POST', `/api/v1/refunds/${refundNo}/retry`);
  t.is(again.status, 200, JSON.stringify(again.body));
  t.is((await refundOf(service, refundNo)).attempt, 2, 'the closed number is not reused');
  await runUntilQuiet(service, 3600, 60);
  t.is((await refundOf(service, refundNo)).state, 'succeeded');
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, 400);
  await assertLedgersMatch(t, service);
});

test('an operator resends an overdue refund under its number, and its exception ends when the refund succeeds', async (t) => {
  const { service, shop, admin } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  for (const call of ['refund', 'refund-query'])
    await service.sim('/sim/faults', { payWay: 'wechat', call, fault: '502', times: 1000 });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const { refundNo } = body.data;
  await runUntilQuiet(service, 4 * DAY, 6 * 3600);
  t.deepEqual(await openKinds(service, orderNo), ['refund_overdue']);
  await service.sim('/sim/reset-faults', {});
  t.is((await admin('POST', `/api/v1/refunds/${refundNo}/retry`)).status, 200);
  await runUntilQuiet(service, 3600, 60);
  const done = await refundOf(service, refundNo);
  t.is(done.state, 'succeeded');
  t.is(done.attempt, 1);
  t.deepEqual(await openKinds(service, orderNo), []);
  await assertLedgersMatch(t, service);
});

test('a late payment whose refund the channel closed is refunded under another number, and its exception reopens if that fails too', async (t) => {
  const { service, shop, admin } = await stage(t);
  const orderNo = await placeOrder(shop, { payWay: 'wechat', amount: 10 });
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'close', fault: '502', times: 1 });
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'pending-refund', times: 20 });
  const closing = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(closing.body.data.status, 'closing', JSON.stringify(closing.body));
  await service.sim('/sim/pay', { orderNo });
  await until('the late money is on its way back', async () => {
    service.clock.advance(61);
    await service.app.sweep.once();
    return (await stateOf(service, orderNo)) === 'closed';
  });
  const refundNo = `R${orderNo}L`;
  const fail = async (number: string) => {
    t.true((await refundOf(service, refundNo)).accepted, number);
    await service.sim('/sim/refund-state', { orderNo, refundNo: number, state: 'failed' });
    await until(`${number} failed`, async () => {
      service.clock.advance(61);
      await service.app.sweep.once();
      return (await refundOf(service, refundNo)).state === 'failed';
    });
    t.true((await openKinds(service, orderNo)).includes('refund_abnormal'));
    await service.sim('/sim/clock', { advanceSeconds: 61 });
  };
  await fail(refundNo);
  const { data } = (await admin('GET', `/api/v1/exceptions?state=open&orderNo=${orderNo}&kind=refund_abnormal`)).body;
  const seen = { action: 'acknowledge', reason: 'asked the channel' };
  t.is((await admin('POST', `/api/v1/exceptions/${data[0].id}/resolve`, seen)).status, 200);
  t.is((await admin('POST', `/api/v1/refunds/${refundNo}/retry`)).status, 200);
  await fail(`${refundNo}_2`);
  await service.sim('/sim/reset-faults', {});
  t.is((await admin('POST', `/api/v1/refunds/${refundNo}/retry`)).status, 200);
  await runUntilQuiet(service, 3600, 60);
  const done = await refundOf(service, refundNo);
  t.is(done.state, 'succeeded');
  t.is(done.attempt, 3);
  t.deepEqual(await openKinds(service, orderNo), []);
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, 1000);
});

test('an order without a reported end is listed a day after its expiry, and an operator can resolve it', async (t) => {
  const { service, shop, admin } = await stage(t);
  const orderNo = await placeOrder(shop, { payWay: 'wechat', amount: 10, expireSeconds: 600 });
  for (const call of ['close', 'query'])
    await service.sim('/sim/faults', { payWay: 'wechat', call, fault: '502', times: 1000 });
  await runUntilQuiet(service, DAY / 2, 3600);
  t.deepEqual(await openKinds(service, orderNo), [], 'not at once');
  await runUntilQuiet(service, DAY, 3600);
  t.is(await stateOf(service, orderNo), 'closing');
  t.deepEqual(await openKinds(service, orderNo), ['order_overdue']);
  const { data } = (await admin('GET', `/api/v1/exceptions?state=open&orderNo=${orderNo}`)).body;
  const resolve = (action: string) =>
    admin('POST', `/api/v1/exceptions/${data[0].id}/resolve`, { action, reason: 'asked the channel' });
  t.is((await resolve('acknowledge')).status, 400, 'it is still open');
  t.is((await resolve('close')).status, 200);
  t.is(await stateOf(service, orderNo), 'closed');
  t.deepEqual(await openKinds(service, orderNo), []);
});

test('an order that was listed as overdue and then ends is no longer listed', async (t) => {
  const { service, shop } = await stage(t);
  const orderNo = await placeOrder(shop, { payWay: 'alipay', amount: 10, expireSeconds: 600 });
  for (const call of ['close', 'query'])
    await service.sim('/sim/faults', { payWay: 'alipay', call, fault: '502', times: 1000 });
  await runUntilQuiet(service, 1.5 * DAY, 3600);
  t.deepEqual(await openKinds(service, orderNo), ['order_overdue']);
  await service.sim('/sim/reset-faults', {});
  await runUntilQuiet(service, 2 * 3600, 1800);
  t.is(await stateOf(service, orderNo), 'closed');
  t.deepEqual(await openKinds(service, orderNo), []);
});

test('a paid order that WeChat Pay does not find for a while is refunded once', async (t) => {
  const { service, shop } = await stage(t);
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  await service.sim('/sim/faults', { payWay: 'wechat', call: 'refund', fault: 'payment-not-found', orderNo, times: 3 });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  const { refundNo } = body.data;
  t.is((await refundOf(service, refundNo)).refusedAt, null, 'nothing was refused');
  await runUntilQuiet(service, 7200, 60);
  t.is((await refundOf(service, refundNo)).state, 'succeeded');
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, 400);
  t.deepEqual(await openKinds(service, orderNo), []);
  await assertLedgersMatch(t, service);
});
