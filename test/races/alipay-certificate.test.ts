import test, { type ExecutionContext } from 'ava';
import { watchExpiry } from '../../server/credentials/status.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { startService, until, type Service } from '../support/service.ts';

const PROJECT = 'changing';
const DAY = 86_400;

/** A project in certificate mode with a paid order, whose Alipay has since changed its signing certificate. */
async function stage(t: ExecutionContext) {
  const service = await startService(t);
  const { logIn, call } = await firstAdmin(service);
  // The clock advances by days between calls, so sessions expire.
  const admin: typeof call = async (...request) => (await logIn()).call(...request);
  await service.sim('/sim/accounts', { payWay: 'alipay', name: PROJECT, signMode: 'certificate' });
  await admin('POST', '/api/v1/projects', { code: PROJECT, name: PROJECT });
  const shop = await service.merchant({ project: PROJECT });
  await service.sim('/sim/notices', { payWay: 'alipay', enabled: false });
  const orderNo = await placeOrder(shop, { payWay: 'alipay' });
  await service.sim('/sim/rotate', { payWay: 'alipay', account: PROJECT, what: 'alipay-key' });
  await service.sim('/sim/pay', { orderNo });
  return { service, admin, shop, orderNo };
}

function certs({ app }: Service) {
  const which = { project: PROJECT, payWay: 'alipay' as const, kind: 'alipay_public_cert' };
  return app.store.read((tx) => tx.certs.list(which, { orderBy: { createdAt: 'asc' } }));
}

/** Runs the jobs that query every open order. */
async function look(service: Service): Promise<void> {
  service.clock.advance(61);
  await service.app.sweep.once();
}

/** The certificate is stored after the response, so wait for it. */
function kept(service: Service) {
  return until('the new certificate is kept', async () => (await certs(service)).length === 2);
}

async function versionOf({ app }: Service) {
  const state = await app.store.read((tx) => tx.channelStates.find({ project: PROJECT, payWay: 'alipay' }));
  return state!.version;
}

function downloads({ app }: Service) {
  return app.store.read((tx) => tx.audit.list({ action: 'cert.download' }));
}

/** Delivers the notification of an order; resolves to the status of the response. */
async function deliver(service: Service, orderNo: string): Promise<number> {
  await service.sim('/sim/notify', { orderNo });
  const deliveries = await service.deliveries(orderNo);
  const { headers, bodyBase64 } = deliveries.at(-1)!;
  const body = new Uint8Array(Buffer.from(bodyBase64, 'base64'));
  return (await fetch(`${service.url}/notify/alipay/${PROJECT}`, { method: 'POST', headers, body })).status;
}

test('an Alipay certificate that changes is stored without an upload, for every replica, and audited', async (t) => {
  const { service, admin, shop, orderNo } = await stage(t);
  const [former] = await certs(service);
  const version = await versionOf(service);
  await look(service);
  t.is(await stateOf(service, orderNo), 'paid');
  await kept(service);

  const [, found, ...others] = await certs(service);
  t.deepEqual(others, []);
  t.like(found, { trustedBy: 'channel:alipay', createdBy: 'channel:alipay', isDefault: true });
  t.is((await certs(service))[0]?.id, former?.id, 'the former certificate still verifies');
  t.is(await versionOf(service), version + 1);
  const lines = await downloads(service);
  t.is(lines.length, 1);
  t.like(lines[0], { actorKind: 'system', actor: 'channel:alipay', target: `${PROJECT}/alipay/${found!.id}` });
  const { data } = (await admin('POST', '/api/v1/certs/list', { payWay: 'alipay' })).body;
  t.deepEqual(data, [], 'another project is unaffected');

  const soon = new Date(Date.now() + 10 * DAY * 1000);
  const ending = () => watchExpiry({ store: service.app.store, now: service.clock.now, log: () => undefined });
  const endSoon = (id: string) => service.app.store.transaction((tx) => tx.certs.update({ id }, { notAfter: soon }));
  await endSoon(former!.id);
  t.deepEqual(await ending(), [], 'the next certificate is the default');
  await endSoon(found!.id);
  t.is((await ending()).length, 2);

  const replica = await startService(t, { url: service.databaseUrl, simulator: service.simulator });
  await service.stop();
  const second = await placeOrder(
    { ...shop, call: (...asked) => shop.callAt(replica.url, ...asked) },
    { payWay: 'alipay' },
  );
  await service.sim('/sim/pay', { orderNo: second });
  await look(replica);
  t.is(await stateOf(replica, second), 'paid');
  t.is((await downloads(replica)).length, 1, 'a stored certificate is not downloaded again');
  await assertLedgersMatch(t, replica);
});

test('a notification signed by a new key counts only if the channel confirms it, until the key is a day old', async (t) => {
  const { service, shop, orderNo } = await stage(t);
  t.is(await deliver(service, orderNo), 400, 'before anything named the new certificate');
  await look(service);
  await kept(service);
  const unconfirmed = await placeOrder(shop, { payWay: 'alipay' });
  await service.sim('/sim/pay', { orderNo: unconfirmed });
  const silent = { payWay: 'alipay', call: 'query', fault: '502', orderNo: unconfirmed, times: 100 };
  await service.sim('/sim/faults', silent);
  t.is(await deliver(service, unconfirmed), 503);
  t.is(await stateOf(service, unconfirmed), 'pending');
  service.clock.advance(DAY + 60);
  t.is(await deliver(service, unconfirmed), 200);
  await service.sim('/sim/reset-faults', {});
  t.is(await stateOf(service, unconfirmed), 'paid');
});

test('a certificate that an administrator removed stays removed', async (t) => {
  const { service, admin, shop } = await stage(t);
  await look(service);
  await kept(service);
  const [, found] = await certs(service);
  const distrusted = await admin('POST', `/api/v1/certs/${found!.id}/distrust`);
  t.is(distrusted.status, 200, JSON.stringify(distrusted.body));
  const second = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Test', amount: 10, payWay: 'alipay' });
  t.like(second.body, { status: 502, cause: 'serial_unknown' });
  t.is((await certs(service)).length, 2);
  t.is((await downloads(service)).length, 1);
  t.is((await admin('POST', `/api/v1/certs/${found!.id}/trust`)).status, 200);
  const third = await shop.call('POST', '/api/v2/payment/pay', { subject: 'Test', amount: 10, payWay: 'alipay' });
  t.is(third.status, 201);
});
