import test, { type ExecutionContext } from 'ava';
import type { OrderRow } from '../../server/db/entities/orders.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Service } from '../support/service.ts';
import { CAPTURE_ISSUES, REFUND_ISSUES } from '../unit/channels/paypal/issue-table.ts';

const payWay = 'paypal';

async function stage(t: ExecutionContext) {
  const service = await startService(t);
  const shop = await service.merchant();
  await service.sim('/sim/notices', { payWay, enabled: false });
  return { service, shop };
}
type Stage = Awaited<ReturnType<typeof stage>>;

async function rowOf({ app }: Service, orderNo: string): Promise<OrderRow> {
  return (await app.store.read((tx) => tx.orders.find({ orderNo })))!;
}

async function approved({ service, shop }: Stage, more: object = {}): Promise<string> {
  const orderNo = await placeOrder(shop, { payWay, amount: 10, ...more });
  await service.sim('/sim/approve', { orderNo });
  return orderNo;
}

const refuse = (service: Service, orderNo: string, word: string, call = 'capture') =>
  service.sim('/sim/faults', { payWay, call, fault: 'refused', word, orderNo, times: 1 });

/** The payer returns from PayPal; returns the page's redirect and text. */
async function comeBack(service: Service, orderNo: string) {
  const { channelOrderId } = await rowOf(service, orderNo);
  const answer = await fetch(`${service.url}/return/paypal/${orderNo}?token=${channelOrderId}`, { redirect: 'manual' });
  return { status: answer.status, location: answer.headers.get('location'), text: await answer.text() };
}

async function told({ app }: Service, orderNo: string): Promise<string[]> {
  const events = await app.store.read((tx) => tx.events.list({ objectNo: orderNo }));
  return events.map(({ type }) => type).toSorted();
}

async function look({ service }: Stage, times: number, seconds = 60): Promise<void> {
  for (let round = 0; round < times; round += 1) {
    service.clock.advance(seconds);
    await service.app.sweep.once();
  }
}

test('a payer whose card is declined is redirected to PayPal, and captured only after the next approval', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  const orderNo = await approved(on, { expireSeconds: 7200 });
  await refuse(service, orderNo, 'INSTRUMENT_DECLINED');
  const back = await comeBack(service, orderNo);
  t.deepEqual([back.status, back.location], [303, `/pay/${orderNo}?lang=en`]);
  const page = await (await fetch(`${service.url}/pay/${orderNo}`)).text();
  t.regex(page, /Choose another payment method/);
  t.true(page.includes(`href="${(await rowOf(service, orderNo)).credential?.url?.replaceAll('&', '&#38;')}"`));
  const waiting = { state: 'pending', captures: 1, approvalsAsked: 1, captureReason: 'INSTRUMENT_DECLINED' };
  t.like(await rowOf(service, orderNo), waiting);
  t.deepEqual(await told(service, orderNo), ['order.payer_action_required']);
  await look(on, 40);
  t.like(await rowOf(service, orderNo), waiting, 'the same card is not tried again');
  const queried = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  t.like(queried.body.data, { status: 'pending', captureReason: 'INSTRUMENT_DECLINED' });
  t.true(queried.body.data.payment.url.length > 0);
  await service.sim('/sim/approve', { orderNo });
  await comeBack(service, orderNo);
  t.like(await rowOf(service, orderNo), { state: 'paid', captures: 2, captureReason: null });
  t.is((await ledgerOf(service)).get(orderNo)?.payments, 1);
  await assertLedgersMatch(t, service);
});

test('another approval is also learned from its webhook, but not from the first one', async (t) => {
  const on = await stage(t);
  const { service } = on;
  const orderNo = await approved(on);
  await refuse(service, orderNo, 'PAYER_ACTION_REQUIRED');
  await comeBack(service, orderNo);
  await service.sim('/sim/notices', { payWay, enabled: true });
  await service.sim('/sim/notify', { orderNo, kind: 'CHECKOUT.ORDER.APPROVED' });
  t.like(await rowOf(service, orderNo), { state: 'pending', captures: 1 }, 'that approval was used up');
  await service.sim('/sim/approve', { orderNo });
  await until('paid', async () => (await stateOf(service, orderNo)) === 'paid');
  t.is((await rowOf(service, orderNo)).captures, 2);
});

test('the payer is asked at most three times; then the order closes with the reason', async (t) => {
  const on = await stage(t);
  const { service } = on;
  const orderNo = await approved(on);
  for (let round = 1; round <= 4; round += 1) {
    await refuse(service, orderNo, 'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING');
    await comeBack(service, orderNo);
    t.is((await rowOf(service, orderNo)).captures, round);
    await service.sim('/sim/approve', { orderNo });
  }
  t.like(await rowOf(service, orderNo), {
    state: 'closed',
    failureCode: 'REDIRECT_PAYER_FOR_ALTERNATE_FUNDING',
    paid: 0n,
  });
  t.deepEqual(await told(service, orderNo), [
    'order.closed',
    ...Array.from({ length: 3 }, () => 'order.payer_action_required'),
  ]);
  await runUntilQuiet(service, 2 * 86_400, 3600);
  t.is((await ledgerOf(service)).get(orderNo)?.paid, 0);
  await assertLedgersMatch(t, service);
});

test('a refused capture is not retried after the expiry, whether or not the payer approves again', async (t) => {
  const on = await stage(t);
  const { service } = on;
  const orderNo = await approved(on, { expireSeconds: 120 });
  await refuse(service, orderNo, 'INSTRUMENT_DECLINED');
  await comeBack(service, orderNo);
  service.clock.advance(121);
  await service.sim('/sim/approve', { orderNo });
  await comeBack(service, orderNo);
  t.is((await rowOf(service, orderNo)).captures, 1);
  await look(on, 5);
  t.like(await rowOf(service, orderNo), { state: 'closed', closeReason: 'expired', captures: 1 });
  await assertLedgersMatch(t, service);
});

test('an order whose capture is finally refused closes at once with the reason in every response', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  const admin = await firstAdmin(service);
  for (const issue of CAPTURE_ISSUES.nobody) {
    const orderNo = await approved(on);
    await refuse(service, orderNo, issue);
    t.regex((await comeBack(service, orderNo)).text, /Payment declined/, issue);
    const { data } = (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body;
    t.like(data, { status: 'closed', closeReason: 'channel', failure: { code: issue } });
    const [event] = await service.app.store.read((tx) => tx.events.list({ objectNo: orderNo, type: 'order.closed' }));
    t.true(JSON.stringify(event?.payload).includes(issue), 'the event has the reason');
    const explained = (await admin.call('GET', `/api/v1/orders/${orderNo}/explain`)).body.data;
    t.true(explained.reason.includes(issue), explained.reason);
  }
  await look(on, 3, 400);
  for (const { state, captures } of await service.app.store.read((tx) => tx.orders.list({})))
    t.deepEqual([state, captures], ['closed', 1]);
  await assertLedgersMatch(t, service);
});

test('a payment that waits for the merchant is listed with its reason, and ends when the merchant accepts it', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  const admin = await firstAdmin(service);
  const reason = 'RECEIVING_PREFERENCE_MANDATES_MANUAL_ACTION';
  const listed = async () => (await admin.call('GET', '/api/v1/exceptions?kind=capture_held&state=open')).body.data;
  const [kept, given] = [await approved(on), await approved(on)];
  for (const orderNo of [kept, given]) {
    await service.sim('/sim/faults', { payWay, call: 'capture', fault: 'capture-pending', word: reason, orderNo });
    await comeBack(service, orderNo);
    t.like((await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data, {
      exception: 'capture_held',
      captureReason: reason,
    });
    const explained = (await admin.call('GET', `/api/v1/orders/${orderNo}/explain`)).body.data;
    t.is(explained.situation, 'capture_held');
    t.regex(explained.reason, /accepted or denied in the merchant's account.*RECEIVING_PREFERENCE/);
  }
  await look(on, 3, 300);
  t.is((await listed()).length, 2);
  const { id } = (await listed()).find((row: { orderNo: string }) => row.orderNo === given);
  const resolve = { action: 'close', reason: 'Denied in the account' };
  t.is((await admin.call('POST', `/api/v1/exceptions/${id}/resolve`, resolve)).status, 200);
  t.is(await stateOf(service, given), 'closed');
  await service.sim('/sim/capture-state', { orderNo: given, state: 'declined' });
  await service.sim('/sim/capture-state', { orderNo: kept, state: 'completed' });
  await admin.call('POST', `/api/v1/orders/${kept}/sync`, {});
  t.is(await stateOf(service, kept), 'paid');
  t.deepEqual(await listed(), []);
  await assertLedgersMatch(t, service);
});

test('a finally refused refund fails at once and frees its amount', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  const orderNo = await approved(on);
  await comeBack(service, orderNo);
  for (const issue of REFUND_ISSUES.final) {
    await refuse(service, orderNo, issue, 'refund');
    const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
    t.like(body.data, { status: 'failed', failure: { code: issue }, refundableAmount: 10 }, issue);
  }
  const events = await service.app.store.read((tx) => tx.events.list({ type: 'refund.failed' }));
  t.is(events.length, REFUND_ISSUES.final.length);
  await assertLedgersMatch(t, service);
});

test('a refund of an order that PayPal no longer stores is confirmed by repeating the call', async (t) => {
  const on = await stage(t);
  const { service, shop } = on;
  const orderNo = await approved(on);
  await comeBack(service, orderNo);
  await service.sim('/sim/faults', { payWay, call: 'refund', fault: '500-after-commit', orderNo, times: 1 });
  const { body } = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  t.is(body.data?.status ?? 'processing', 'processing');
  await refuse(service, orderNo, 'INVALID_RESOURCE_ID', 'query');
  await look(on, 3, 120);
  const [refund] = await service.app.store.read((tx) => tx.refunds.list({ orderNo }));
  t.like(refund, { state: 'succeeded', attempt: 1 });
  t.like((await ledgerOf(service)).get(orderNo), { refunds: 1, refunded: 400 });
  await assertLedgersMatch(t, service);
});
