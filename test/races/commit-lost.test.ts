import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { createDatabase } from '../support/database.ts';
import { layCable } from '../support/in-between.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { request, startService } from '../support/service.ts';

/** A service whose COMMIT responses can be cut off. */
async function stage(t: ExecutionContext) {
  const database = await createDatabase();
  t.teardown(() => database.drop());
  const cable = await layCable(t, database.url);
  const service = await startService(t, { url: cable.url, env: { PAY_DATABASE_PREPARED: 'false' } });
  const shop = await service.merchant();
  return { service, shop, cable };
}

for (const when of ['after', 'before'] as const) {
  test(`a connection that breaks ${when} a payment's COMMIT is a 504 with its number, and the retry makes one order`, async (t) => {
    const { service, shop, cable } = await stage(t);
    for (const [headers, more] of [
      [{ 'idempotency-key': 'lost' }, {}],
      [{}, { merchantOrderNo: 'lost-1' }],
    ] as const) {
      const body = { subject: 'Lost', amount: 5, payWay: 'alipay', ...more };
      cable.cutCommit(when, 'insert into "orders"');
      const lost = await shop.call('POST', '/api/v2/payment/pay', body, headers);
      t.is(lost.status, 504, JSON.stringify(lost.body));
      t.is(lost.body.code, 'channel_outcome_unknown');
      t.regex(lost.body.orderNo, /^P/);
      t.notRegex(JSON.stringify(lost.body), /nothing was changed/i);
      const again = await shop.call('POST', '/api/v2/payment/pay', body, headers);
      t.is(again.status, 201, JSON.stringify(again.body));
      if (when === 'after') t.is(again.body.data.orderNo, lost.body.orderNo);
    }
    t.is(await service.app.store.read((tx) => tx.orders.count({})), 2);
    t.is(cable.strikes, 2);
  });

  test(`a connection that breaks ${when} a refund's COMMIT is a 504 with its number, and a retry without a key refunds once`, async (t) => {
    const { service, shop, cable } = await stage(t);
    const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
    cable.cutCommit(when, 'insert into "refunds"');
    const lost = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
    t.is(lost.status, 504, JSON.stringify(lost.body));
    t.is(lost.body.orderNo, orderNo);
    t.regex(lost.body.refundNo, /^R/);
    const again = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
    if (when === 'after') {
      t.is(again.status, 409, JSON.stringify(again.body));
      t.is(again.body.code, 'refund_in_progress');
      t.is(again.body.refundNo, lost.body.refundNo);
    } else t.is(again.status, 200, JSON.stringify(again.body));
    await runUntilQuiet(service, 3600, 60);
    t.is((await ledgerOf(service)).get(orderNo)?.refunded, 400);
    t.deepEqual(await unexplained(service), []);
    await assertLedgersMatch(t, service);
  });
}

test('a connection that breaks after the COMMIT of a close command is a 504, and the order is closed', async (t) => {
  const { service, shop, cable } = await stage(t);
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  cable.cutCommit('after', 'update "orders"');
  const lost = await shop.call('POST', `/api/v2/payment/close/${orderNo}`);
  t.is(lost.status, 504, JSON.stringify(lost.body));
  t.is(lost.body.orderNo, orderNo);
  t.is((await shop.call('POST', `/api/v2/payment/close/${orderNo}`)).status, 200);
  t.is(await stateOf(service, orderNo), 'closed');
});

test('a connection that breaks after any other COMMIT does not report that nothing was changed', async (t) => {
  const { service, cable } = await stage(t);
  const admin = await firstAdmin(service);
  const auth = { authorization: `Bearer ${admin.token}` };
  cable.cutCommit('after', 'insert into "projects"');
  const lost = await request(service.url, 'POST', '/api/v1/projects', { code: 'north', name: 'North' }, auth);
  t.is(lost.status, 504, JSON.stringify(lost.body));
  t.is(lost.body.code, 'change_unknown');
  t.false(lost.body.retryable);
  const there = await request(service.url, 'GET', '/api/v1/projects/north', undefined, auth);
  t.is(there.status, 200);
});
