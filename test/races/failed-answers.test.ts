import test, { type ExecutionContext } from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { sickStage } from './sick-stage.ts';
import { callSkill, offerSkill } from '../support/skillpay.ts';
import { request, type Answer } from '../support/service.ts';

const order = { subject: 'Told', amount: 10, payWay: 'alipay' };

/** A failure after a change: the response has the number and does not report that nothing changed. */
function assertLeadsTo(t: ExecutionContext, { status, body }: Answer, orderNo: string | undefined): void {
  t.is(status, 504, JSON.stringify(body));
  t.like(body, { code: 'channel_outcome_unknown', retryable: true, orderNo });
  t.notRegex(JSON.stringify(body), /nothing was changed/i);
}

test.serial(
  'a connection that breaks after an order was closed, before its response, is a 504 with the number',
  async (t) => {
    const { sick, calm, cable, shop } = await sickStage(t);
    const orderNo = await placeOrder(shop, order);
    cable.strikeNext(/^select .* from "order_exceptions"/s, 'cut-before');
    const lost = await shop.callAt(sick.url, 'POST', `/api/v2/payment/close/${orderNo}`);
    assertLeadsTo(t, lost, orderNo);
    t.not(await stateOf(calm, orderNo), 'pending');
  },
);

test.serial(
  'a connection that breaks after a repeated pay found its order paid is a 504 with the number',
  async (t) => {
    const { sick, calm, cable, shop } = await sickStage(t);
    const merchantOrderNo = 'told-1';
    const orderNo = await placeOrder(shop, { ...order, merchantOrderNo });
    await calm.sim('/sim/pay', { orderNo });
    await calm.app.payments.sync(shop.requester, orderNo);
    cable.strikeNext(/^select .* from "order_exceptions"/s, 'cut-before');
    assertLeadsTo(
      t,
      await shop.callAt(sick.url, 'POST', '/api/v2/payment/pay', { ...order, merchantOrderNo }),
      orderNo,
    );
  },
);

test.serial(
  'a connection that breaks after an offer was made, before its 402, is a 504 with the number, and the key finds it',
  async (t) => {
    const { sick, calm, cable, shop } = await sickStage(t);
    const call = (url: string) =>
      shop.callAt(url, 'POST', '/api/v2/skillpay/resource', { resource: 'weather' }, { 'idempotency-key': 'told-2' });
    cable.strikeNext(/^select .* from "agent_pays"/s, 'cut-before');
    const lost = await call(sick.url);
    const [made] = await calm.app.store.read((tx) => tx.skillOrders.list({}));
    assertLeadsTo(t, lost, made?.orderNo);
    const again = await call(sick.url);
    t.is(again.status, 402);
    t.is(again.body.data.outTradeNo, made?.orderNo);
  },
);

test.serial(
  'a black hole during the work of a paid call is a 504 with the number, and the repeat returns the content',
  async (t) => {
    const { sick, calm, cable, shop } = await sickStage(t, { databaseTimeouts: {} });
    const orderNo = await offerSkill(shop);
    await calm.sim('/sim/pay', { orderNo });
    await calm.app.payments.sync(shop.requester, orderNo);
    cable.strikeNext(/^update "skill_orders" set "fulfilment" = \$1, "content"/, 'black-hole');
    const lost = await shop.callAt(sick.url, 'POST', '/api/v2/skillpay/resource', undefined, {
      'x-out-trade-no': orderNo,
    });
    t.truthy(cable.struck);
    assertLeadsTo(t, lost, orderNo);
    calm.clock.advance(31);
    t.is((await callSkill(shop, undefined, orderNo)).status, 200);
  },
);

test.serial(
  'a connection that breaks after the first change of any other request does not report that nothing changed',
  async (t) => {
    const { sick, calm, cable, shop } = await sickStage(t);
    const admin = await firstAdmin(calm);
    const orderNo = await placeOrder(shop, order);
    await calm.sim('/sim/pay', { orderNo });
    cable.strikeNext(/^select .* from "order_exceptions"/s, 'cut-before');
    const headers = { authorization: `Bearer ${admin.token}` };
    const lost = await request(sick.url, 'POST', `/api/v1/orders/${orderNo}/sync`, undefined, headers);
    t.is(lost.status, 504, JSON.stringify(lost.body));
    t.is(lost.body.code, 'change_unknown');
    t.notRegex(JSON.stringify(lost.body), /nothing was changed/i);
    t.is(await stateOf(calm, orderNo), 'paid');
  },
);

test.serial('a connection that breaks during a read reports nothing about changes', async (t) => {
  const { sick, cable, shop } = await sickStage(t);
  const orderNo = await placeOrder(shop, order);
  cable.strikeNext(/^select .* from "orders"/s, 'cut-before');
  const lost = await shop.callAt(sick.url, 'GET', `/api/v2/payment/query/${orderNo}`);
  t.is(lost.status, 503);
  t.like(lost.body, { code: 'database_unavailable', retryable: true, detail: 'The database cannot be reached.' });
});

for (const fault of ['black-hole', 'cut-before', 'cut-after'] as const)
  test.serial(
    `${fault} in an optional part of a transaction is reported as an unavailable database, not as an internal error`,
    async (t) => {
      const { sick, calm, cable, shop } = await sickStage(t, { databaseTimeouts: {} });
      cable.strikeNext(/^update products set stock/, fault);
      const lost = await shop.callAt(sick.url, 'POST', '/api/v2/payment/pay', { ...order, product: 'tea' });
      t.truthy(cable.struck);
      t.is(lost.status, 503, JSON.stringify(lost.body));
      t.true(lost.body.retryable);
      t.is(await calm.app.store.read((tx) => tx.orders.count({})), 0);
    },
  );
