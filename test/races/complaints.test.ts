import test from 'ava';
import { firstAdmin } from '../support/admin.ts';
import { assertBooksBalance, runUntilQuiet } from '../support/books.ts';
import { dispute, disputed, disputeOf, toldOf } from '../support/disputes.ts';
import { payOrder } from '../support/orders.ts';
import { startService } from '../support/service.ts';

test.beforeEach((t) => t.timeout(600_000));

test.serial('a complaint at WeChat Pay is told, answered and over, and takes no money', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { call } = await firstAdmin(service);
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  const disputeNo = await disputed(service, orderNo, 'open', 'needs_answer', { amount: 4 });
  t.like(await disputeOf(service, orderNo), { amount: 400n, currency: 'CNY', reason: 'REFUND' });
  const answered = await call('POST', `/api/v1/disputes/${disputeNo}/answer`, { text: 'It is on its way' });
  t.like(answered.body.data, { status: 'under_review' }, JSON.stringify(answered.body));
  await disputed(service, orderNo, 'ask', 'needs_answer');
  const accepted = await call('POST', `/api/v1/disputes/${disputeNo}/accept`, { note: 'Sorry' });
  t.deepEqual([accepted.status, accepted.body.code], [422, 'channel_refused']);
  const back = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  t.is(back.status, 200, JSON.stringify(back.body));
  await disputed(service, orderNo, 'win', 'won');
  await runUntilQuiet(service, 3600, 600);
  const types = ['dispute.opened', 'dispute.updated', 'dispute.updated', 'dispute.closed'];
  t.deepEqual(await toldOf(service, disputeNo), types);
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.is(order?.refunded, 400n, 'by the refund alone');
  t.is(await service.app.store.read((tx) => tx.exceptions.count({ orderNo, state: 'open' })), 0);
  await assertBooksBalance(t, service);
});

test.serial('a complaint whose notifications never came is found and followed', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await dispute(service, orderNo, 'open');
  await service.app.findDisputes();
  t.is((await disputeOf(service, orderNo))?.state, 'needs_answer');
  await dispute(service, orderNo, 'win');
  await runUntilQuiet(service, 3600, 600);
  t.is((await disputeOf(service, orderNo))?.state, 'won');
});
