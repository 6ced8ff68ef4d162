import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, ledgerOf, runUntilQuiet } from '../support/merchant-ledger.ts';
import { accept, configureAs, type Shop } from './changed-identity.ts';
import { disputed, disputeOf } from '../support/disputes.ts';
import { scenesOf } from '../support/order-scenes.ts';
import { payOrder, placeOrder, stateOf } from '../support/orders.ts';
import { startService, type Merchant, type Service } from '../support/service.ts';

/** Placed for the partner's own app, though the sub-merchant has one. */
const BY_PARTNER = 'jsapi';

/** A code payment is not notified: the order is queried while the payer waits. */
async function payAtTill(service: Service, shop: Merchant, request: Record<string, unknown>): Promise<string> {
  const orderNo = await placeOrder(shop, request);
  await service.sim('/sim/pay', { orderNo });
  service.clock.advance(6);
  const { body } = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  if (body.data.status !== 'paid') throw new Error(JSON.stringify(body));
  return orderNo;
}

for (const mode of ['certificate', 'public-key'] as const) {
  test(`a partner's orders are paid, closed, disputed by complaint and refunded in every scene (${mode})`, async (t) => {
    const service = await startService(t);
    const { logIn } = await firstAdmin(service);
    const shop = await service.merchant();
    const on: Shop = { service, shop, logIn, payWay: 'wechat' };
    await service.sim('/sim/accounts', { payWay: 'wechat', name: 'partner', mode, partner: true });
    await configureAs(on, 'partner', 'sub-app-id');
    const admin = await logIn();
    const { fields } = (await admin.call('GET', '/api/v1/payment/config/wechat')).body.data;
    t.truthy(fields.subMchId);
    const probe = await admin.call('POST', '/api/v1/payment/config/wechat/test');
    t.like(probe.body.data, { ok: true }, JSON.stringify(probe.body));

    const orders: string[] = [];
    for (const { scene, members } of scenesOf('wechat')) {
      const bySp = scene === BY_PARTNER;
      const request = { payWay: 'wechat', scene, ...members(), ...(bySp && { appId: fields.appId }) };
      const orderNo =
        scene === 'code' ? await payAtTill(service, shop, request) : await payOrder(service, shop, request);
      orders.push(orderNo);
      const { details } = (await service.sim(`/sim/trades/${orderNo}`)) as unknown as { details: object };
      const names = { mchid: fields.mchid, subMchid: fields.subMchId, appid: fields.appId };
      t.like(details, bySp ? names : { ...names, subAppid: fields.subAppId }, scene);
      t.is('subAppid' in details && details.subAppid !== undefined, !bySp, scene);
      const { openId } = request;
      if (openId) t.like(details, bySp ? { openid: openId } : { subOpenid: openId }, scene);
      const open = await placeOrder(shop, { ...request, ...members() });
      t.is((await shop.call('POST', `/api/v2/payment/close/${open}`)).body.data.status, 'closed', scene);
    }

    // From here on the account is another sub-merchant's; earlier payments stay with the former.
    await configureAs(on, 'partner', 'sub-merchant');
    const [complained = ''] = orders;
    await disputed(service, complained, 'open', 'needs_answer');
    await disputed(service, complained, 'win', 'won');
    t.is((await disputeOf(service, complained))?.state, 'won');
    for (const orderNo of orders) await accept(t, on, orderNo);
    await runUntilQuiet(service, 3600, 60);
    const ledger = await ledgerOf(service);
    for (const orderNo of orders) {
      t.is(ledger.get(orderNo)?.refunded, 1000, orderNo);
      t.is(await stateOf(service, orderNo), 'paid');
    }
    await assertLedgersMatch(t, service);

    const foreign = { mode: 'simulator', subMchId: '1900000999', subAppId: null };
    await admin.call('POST', '/api/v1/payment/config/wechat', foreign);
    const wrong = await admin.call('POST', '/api/v1/payment/config/wechat/test');
    t.like(wrong.body.data, { ok: false, field: 'subMchId', code: 'NO_AUTH' }, JSON.stringify(wrong.body));
    const self = await admin.call('POST', '/api/v1/payment/config/wechat', { ...foreign, subMchId: fields.mchid });
    t.is(self.status, 400, JSON.stringify(self.body));
    t.regex(JSON.stringify(self.body), /subMchId/);
  });
}
