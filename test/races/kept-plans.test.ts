import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { payOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';
import { addSkill, offerSkill, paySkill, redeemAt } from '../support/skillpay.ts';

/** Transaction control has no plan. */
const CONTROL = /^(?:start transaction|begin|commit|rollback|savepoint|release)\b/i;

/** Unnamed statements of this process, which PostgreSQL plans with every call. */
function watchPlans(t: ExecutionContext) {
  const { query } = pg.Client.prototype;
  const planned = new Set<string>();
  let named = 0;
  pg.Client.prototype.query = function (this: pg.Client, ...words: Parameters<typeof query>) {
    const [{ name, text }] = words as unknown as [{ name?: string; text: string }];
    if (name !== undefined) named += 1;
    else if (text !== undefined && !CONTROL.test(text)) planned.add(text.replaceAll(/\s+/g, ' '));
    return Reflect.apply(query, this, words);
  } as never;
  t.teardown(() => void Object.assign(pg.Client.prototype, { query }));
  return {
    forget() {
      planned.clear();
      named = 0;
    },
    planned: () => [...planned],
    named: () => named,
  };
}

test('common merchant calls are planned once per connection, not with every call', async (t) => {
  const service = await startService(t);
  if (service.app.database.pooler?.prepared === false) {
    t.log('Not run: the pooler of this run carries no names.');
    return t.pass();
  }
  const shop = await service.merchant({ scopes: ['payment:write', 'payment:read', 'skillpay:call'] });
  await addSkill(service);
  const paid = await payOrder(service, shop, { amount: 20 });
  const offer = await offerSkill(shop);
  await paySkill(service, offer);
  await redeemAt(service.url, shop, offer);
  const plans = watchPlans(t);
  const tea = { subject: 'Tea', amount: 5, payWay: 'alipay' };
  const scenes: [string, () => Promise<{ status: number }>][] = [
    ['pay', () => shop.call('POST', '/api/v2/payment/pay', tea)],
    ['pay of a user', () => shop.call('POST', '/api/v2/payment/pay', { ...tea, userId: 'u-1' })],
    ['query', () => shop.call('GET', `/api/v2/payment/query/${paid}`)],
    ['offer', () => shop.call('POST', '/api/v2/skillpay/resource', { resource: 'weather' })],
    ['redeem', () => redeemAt(service.url, shop, offer)],
  ];
  for (const [what, ask] of scenes) {
    plans.forget();
    t.true((await ask()).status < 403, what);
    t.deepEqual(plans.planned(), [], what);
    t.true(plans.named() > 0);
  }
  plans.forget();
  service.clock.advance(30);
  await service.app.sweep.once();
  t.true(plans.named() > 3, 'the query ran');
  t.deepEqual(plans.planned(), [], 'the query about an unpaid order');
});
