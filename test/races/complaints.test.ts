import test, { type ExecutionContext } from 'ava';
import { createTransport } from '../../server/channels/transport.ts';
import { wechatKind } from '../../server/channels/wechat/kind.ts';
import type { SimulatedChannelConfig } from '../../server/simulator/channel-simulator.ts';
import type { Delivery } from '../../server/simulator/notification.ts';
import { type Admin, firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet } from '../support/merchant-ledger.ts';
import { count } from '../support/counts.ts';
import { dispute, disputed, disputeOf, toldOf } from '../support/disputes.ts';
import { freePort } from '../support/free-port.ts';
import { payOrder } from '../support/orders.ts';
import { startReplica } from '../support/replica.ts';
import { startService, until, type Service } from '../support/service.ts';

test.serial(
  'a complaint at WeChat Pay or Alipay is reported or found, answered and closed, and takes no money',
  async (t) => {
    const service = await startService(t);
    const admin = await firstAdmin(service);
    await complainAtWechat(t, service, admin);
    await complainAtAlipay(t, service, await admin.logIn());
  },
);

async function complainAtWechat(t: ExecutionContext, service: Service, { call }: Admin): Promise<void> {
  const shop = await service.merchant();
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
  await assertLedgersMatch(t, service);
}

/** Opens a complaint at Alipay; it is found with its due date. */
async function complainAtAlipay(t: ExecutionContext, service: Service, { call }: Admin): Promise<void> {
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await dispute(service, orderNo, 'open', { amount: 4, dueDays: 3 });
  t.is(await disputeOf(service, orderNo), undefined, 'Alipay sends no notification');
  await Promise.all([service.app.findDisputes(), service.app.findDisputes()]);
  const found = (await disputeOf(service, orderNo))!;
  t.like(found, { amount: 400n, state: 'needs_answer', reason: 'COMPLAINT' });
  t.deepEqual(await toldOf(service, found.disputeNo), ['dispute.opened']);
  const open = await service.app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
  t.deepEqual(
    open.map(({ kind, detail }) => [kind, (detail as { dueAt: string }).dueAt]),
    [['dispute', found.dueAt!.toISOString()]],
  );
  const path = `/api/v1/disputes/${found.disputeNo}`;
  const accepted = await call('POST', `${path}/accept`, { note: 'Sorry' });
  t.deepEqual([accepted.status, accepted.body.code], [422, 'channel_refused']);
  const back = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 4 });
  t.is(back.status, 200, JSON.stringify(back.body));
  const ended = await call('POST', `${path}/finish`, { result: 'refunded' });
  t.like(ended.body.data, { status: 'won', lostAmount: 0 }, JSON.stringify(ended.body));
  await service.app.findDisputes();
  await runUntilQuiet(service, 3600, 600);
  t.deepEqual(await toldOf(service, found.disputeNo), ['dispute.opened', 'dispute.closed']);
  const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
  t.is(order?.refunded, 400n, 'by the refund alone');
  t.is(await service.app.store.read((tx) => tx.exceptions.count({ orderNo, state: 'open' })), 0);
  await assertLedgersMatch(t, service);
}

test.serial('a complaint that two replicas receive and search for at once is one dispute with one event', async (t) => {
  const service = await startService(t);
  const shop = await service.merchant();
  const { environment, simulator } = service;
  const replica = await startReplica(t, {
    environment: { ...environment, PAY_SERVER_PUBLIC_URL: service.url },
    simulatorUrl: simulator.url,
    port: await freePort(),
  });
  const numbers: string[] = [];
  for (let n = 0; n < count(5, 3); n += 1)
    numbers.push(await payOrder(service, shop, { payWay: 'wechat', amount: 10 }));
  // Payments are reported: otherwise each would be known only after a quarter of a minute, by a query.
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  for (const orderNo of numbers) {
    await dispute(service, orderNo, 'open');
    const told = await complaintNotification(service, orderNo);
    const [first, second] = await Promise.all([
      tell(service.url, told),
      tell(replica.url, told),
      service.app.findDisputes(),
      service.app.findDisputes(),
    ]);
    t.deepEqual([first, second], [200, 200]);
    const disputes = await service.app.store.read((tx) => tx.disputes.list({ orderNo }));
    t.is(disputes.length, 1);
    t.deepEqual(await toldOf(service, disputes[0]!.disputeNo), ['dispute.opened']);
  }
});

test.serial(
  "a complaint about another system's order is acknowledged without effect; a forged one is refused",
  async (t) => {
    const service = await startService(t);
    await payOrder(service, await service.merchant(), { payWay: 'wechat', amount: 10 });
    await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
    const { wechat } = (await service.sim('/sim/config')) as unknown as { wechat: SimulatedChannelConfig };
    const send = createTransport({ timeoutMs: 20_000 });
    const input = { mode: 'simulator', simulatorUrl: service.simulator.url, send, now: () => new Date() } as const;
    const orderNo = 'OTHERSYSTEM0001';
    const rest = {
      scene: 'qr',
      sentAt: new Date(),
      returnUrl: '',
      cancelUrl: '',
      clientIp: null,
      options: {},
    } as const;
    await wechatKind.create({ ...input, ...wechat }).place({
      ...rest,
      orderNo,
      subject: 'Tea',
      amount: { minor: 1000n, currency: 'CNY' },
      expiresAt: new Date(Date.now() + 3_600_000),
      notifyUrl: `${service.url}/notify/wechat/default`,
      openId: null,
      payCode: null,
    });
    await service.sim('/sim/pay', { orderNo });
    await dispute(service, orderNo, 'open');
    const told = await complaintNotification(service, orderNo);
    t.is(await tell(service.url, told), 200);
    const forged = Buffer.from(told.bodyBase64, 'base64').toString().replace('COMPLAINT.CREATE', 'COMPLAINT.OTHERS');
    t.is(await tell(service.url, { ...told, bodyBase64: Buffer.from(forged).toString('base64') }), 400);
    await service.app.findDisputes();
    t.is(await service.app.store.read((tx) => tx.disputes.count({})), 0);
    t.is(await service.app.store.read((tx) => tx.exceptions.count({ kind: 'unmatched_notice' })), 0);
  },
);

async function complaintNotification(service: Service, orderNo: string): Promise<Delivery> {
  const read = async () => {
    const deliveries = await service.deliveries(orderNo);
    return deliveries.find(({ event }) => event.startsWith('COMPLAINT.'));
  };
  await until('the notification of the complaint is made', async () => (await read()) !== undefined);
  return (await read())!;
}

async function tell(url: string, { headers, bodyBase64 }: Delivery): Promise<number> {
  const body = Buffer.from(bodyBase64, 'base64');
  return (await fetch(`${url}/notify/wechat/default`, { method: 'POST', headers, body })).status;
}

test.serial(
  'complaints whose notifications were lost are found and followed, and a search reads only entries that its list marks as new',
  async (t) => {
    const service = await startService(t);
    await followUntold(t, service);
    await readOnlyNew(t, service);
  },
);

async function followUntold(t: ExecutionContext, service: Service): Promise<void> {
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'wechat', amount: 10 });
  await service.sim('/sim/notices', { payWay: 'wechat', enabled: false });
  await dispute(service, orderNo, 'open');
  await service.app.findDisputes();
  t.is((await disputeOf(service, orderNo))?.state, 'needs_answer');
  await dispute(service, orderNo, 'win');
  await runUntilQuiet(service, 3600, 600);
  t.is((await disputeOf(service, orderNo))?.state, 'won');
}

async function readOnlyNew(t: ExecutionContext, service: Service): Promise<void> {
  const shop = await service.merchant();
  const orderNo = await payOrder(service, shop, { payWay: 'alipay', amount: 10 });
  await dispute(service, orderNo, 'open');
  await service.app.findDisputes();
  await service.app.findDisputes();
  t.like(await disputeOf(service, orderNo), { state: 'needs_answer', checks: 0 }, 'read once');
  await dispute(service, orderNo, 'cancel');
  await service.app.findDisputes();
  t.like(await disputeOf(service, orderNo), { state: 'won', changes: 2 });
  await dispute(service, orderNo, 'open');
  service.clock.advance(86_400 + 60);
  const { checks } = (await disputeOf(service, orderNo))!;
  await service.app.findDisputes();
  const all = await service.app.store.read((tx) => tx.disputes.list({ orderNo }, { orderBy: { createdAt: 'asc' } }));
  t.deepEqual(
    all.map((one) => one.state),
    ['won', 'needs_answer'],
  );
  t.is(all[0]!.checks, checks + 1, 'everything is read again after a day');
}
