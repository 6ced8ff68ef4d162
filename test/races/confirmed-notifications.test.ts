import test, { type ExecutionContext } from 'ava';
import type { Delivery } from '../../server/simulator/notification.ts';
import { firstAdmin } from '../support/admin.ts';
import { assertLedgersMatch } from '../support/merchant-ledger.ts';
import { createForger } from './forge.ts';
import { WAYS } from './key-forgery.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { type Service, startService } from '../support/service.ts';
import { withOrder } from './wrong-notifications.ts';
import { ownSimulator } from '../support/simulator.ts';

const PAY_WAYS = ['alipay', 'wechat'] as const;
type PayWay = (typeof PAY_WAYS)[number];

async function stage(t: ExecutionContext, checkpoint: (name: string) => void = () => {}) {
  const simulator = await ownSimulator(t);
  const { dir } = simulator;
  const service = await startService(t, { simulator, checkpoint });
  for (const payWay of PAY_WAYS) await service.sim('/sim/notices', { payWay, enabled: false });
  return { service, dir, forger: createForger(dir), shop: await service.merchant() };
}

/** Has the simulator write a message about an order without delivering it. */
async function messageAbout(service: Service, orderNo: string): Promise<Delivery> {
  await service.sim('/sim/notify', { orderNo });
  const deliveries = await service.deliveries(orderNo);
  return deliveries.at(-1)!;
}

async function post(service: Service, payWay: PayWay, headers: Record<string, string>, body: Buffer): Promise<number> {
  const sent = { method: 'POST', headers, body: new Uint8Array(body) };
  return (await fetch(`${service.url}/notify/${payWay}/default`, sent)).status;
}

const deliver = (service: Service, payWay: PayWay, { headers, bodyBase64 }: Delivery) =>
  post(service, payWay, headers, Buffer.from(bodyBase64, 'base64'));

const orderOf = ({ app }: Service, orderNo: string) => app.store.read((tx) => tx.orders.find({ orderNo }));

for (const payWay of PAY_WAYS) {
  test(`${payWay}: a large payment counts only if the channel confirms it, and no request waits for the query`, async (t) => {
    const looks: Promise<unknown>[] = [];
    const on = await stage(t, (name) => {
      // A query within the settling transaction would lock the order here.
      if (name === 'notice.asked')
        looks.push(on.service.app.store.transaction((tx) => tx.orders.lock({ project: 'default' })));
    });
    const { service, shop } = on;
    const small = await placeOrder(shop, { payWay, amount: 1000 });
    await service.sim('/sim/pay', { orderNo: small });
    const ofSmall = await messageAbout(service, small);
    await service.sim('/sim/faults', { payWay, call: 'query', fault: '502', probability: 1 });
    t.is(await deliver(service, payWay, ofSmall), 200, 'up to the limit the channel is not queried');
    t.is(await stateOf(service, small), 'paid');

    const orderNo = await placeOrder(shop, { payWay, amount: 1000.01 });
    await service.sim('/sim/pay', { orderNo });
    const message = await messageAbout(service, orderNo);
    t.not(await deliver(service, payWay, message), 200, 'the query fails, so the channel must resend the message');
    t.is(await stateOf(service, orderNo), 'pending');
    const waiting = await orderOf(service, orderNo);
    t.true(waiting!.nextCheckAt! <= new Date(service.clock.now().getTime() + 15_000), 'and the order is due');
    const rows = await service.app.store.read((tx) => tx.notifications.count({ orderNo }));
    t.is(rows, 0, 'the same message counts when it is resent');

    await service.sim('/sim/reset-faults', {});
    const answers = await Promise.all(Array.from({ length: 5 }, () => deliver(service, payWay, message)));
    t.true(answers.includes(200));
    t.is(await stateOf(service, orderNo), 'paid');
    t.is(await deliver(service, payWay, message), 200, 'a copy is acknowledged');
    const transitions = await service.app.store.read((tx) => tx.transitions.list({ orderNo, toState: 'paid' }));
    t.is(transitions.length, 1);
    t.true(looks.length >= 2);
    await Promise.all(looks);
    await assertLedgersMatch(t, service);
  });
}

for (const payWay of PAY_WAYS)
  test(`${payWay}: a large second payment that a query does not show opens an exception and changes nothing`, async (t) => {
    const { service, shop, forger } = await stage(t);
    const orderNo = await placeOrder(shop, { payWay, amount: 1500 });
    await service.sim('/sim/pay', { orderNo });
    const message = await messageAbout(service, orderNo);
    t.is(await deliver(service, payWay, message), 200);
    const facts = { ...forger.factsOf(message), trade_no: '2030010122001400000000000001' };
    const other = payWay === 'wechat' ? { ...facts, transaction_id: '4200000000203001010000000001' } : facts;
    const { headers, body } = await forger.sign(payWay, 'default', other);
    t.is(await post(service, payWay, headers, body), 200);
    const listed = await service.app.store.read((tx) => tx.exceptions.list({ orderNo, state: 'open' }));
    t.deepEqual(
      listed.map(({ kind, receivedMinor }) => ({ kind, receivedMinor })),
      [{ kind: 'double_paid', receivedMinor: 150_000n }],
    );
    t.is((await orderOf(service, orderNo))?.paid, 150_000n);
  });

test('a key that was trusted by mistake confirms no payment for a day, and never more than the limit', async (t) => {
  const { service, dir, forger, shop } = await stage(t);
  const admin = await firstAdmin(service);
  const forgeries = WAYS.filter(({ account }) => Object.keys(account).length === 0).map(async (way) => {
    const { payWay, kind } = way;
    const attack = await way.attack(forger.secretsOf(payWay, 'default'), dir);
    const donor = await placeOrder(shop, { payWay, amount: 10 });
    await service.sim('/sim/pay', { orderNo: donor });
    const template = forger.factsOf(await messageAbout(service, donor));
    const upload = await admin.call('POST', '/api/v1/certs/upload', { payWay, kind, content: attack.pem });
    t.is(upload.body.data.trust, 'trusted');
    return async (amount: number): Promise<string | undefined> => {
      const orderNo = await placeOrder(shop, { payWay, amount });
      const facts = { ...withOrder(payWay, template, orderNo, ''), total_amount: amount.toFixed(2) };
      const { headers, body } = await forger.sign(payWay, 'default', facts, attack.envelope);
      const status = await post(service, payWay, headers, body);
      const state = await stateOf(service, orderNo);
      t.is(status === 200, state === 'paid', `${status} ${state}`);
      return state;
    };
  });
  for (const forge of await Promise.all(forgeries)) t.is(await forge(10), 'pending', 'the channel knows of no payment');
  // The service's clock dates Alipay requests, so the test ages the keys instead.
  await service.app.store.transaction(async (tx) => {
    await tx.sql`update certs set trusted_at = trusted_at - interval '24 hours' where trusted_at is not null`;
    await tx.sql`update channel_states set trust_revision = trust_revision + 1`;
  });
  for (const forge of await Promise.all(forgeries)) {
    t.is(await forge(10), 'paid', 'this is what trust means');
    t.is(await forge(5000), 'pending');
  }
});
