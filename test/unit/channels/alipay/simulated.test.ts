import { createPublicKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { alipayKind } from '../../../../server/channels/alipay/kind.ts';
import { type ChannelInput, ChannelMisconfigured } from '../../../../server/payments/channel.ts';
import { alipaySimulator } from '../../../../server/simulator/alipay/simulator.ts';
import { startSimulator, type RunningSimulator } from '../../../../server/simulator/simulator.ts';
import { issuedBy } from '../../../races/key-forgery.ts';
import { simulatorDriver, type Driver } from '../promises/driver.ts';
import { connect, newOrder, newRefund, paid, placed, until, type Subject } from '../promises/subject.ts';
import { fixture, keyMode } from './fixture.ts';
import { shownCode } from './shown-code.ts';

type World = Pick<Subject, 'kind' | 'input' | 'channel' | 'driver'>;
type Configs = { alipay: Pick<ChannelInput, 'fields' | 'pems'> };

let simulator: RunningSimulator;
let folder: string;
let driver: Driver;
const worlds: Record<string, World> = {};

test.before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'alipay-'));
  const listen = { host: '127.0.0.1', port: 0 };
  simulator = await startSimulator({ dir: folder, listen, timeFactor: 0.01, channelSimulators: [alipaySimulator] });
  driver = simulatorDriver(simulator.url, 'alipay');
  for (const signMode of ['key', 'certificate']) {
    const config = (await control('POST', '/accounts', { payWay: 'alipay', name: signMode, signMode })) as Configs;
    const input = { mode: 'simulator', simulatorUrl: simulator.url, ...config.alipay } as const;
    worlds[signMode] = { kind: alipayKind, input, channel: connect(alipayKind, input), driver };
  }
});
test.after.always(async () => {
  await simulator?.close();
  await rm(folder, { recursive: true, force: true });
});

async function control(method: string, path: string, body: object): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${simulator.url}/sim${path}`, { method, headers, body: JSON.stringify(body) });
  return response.json();
}

function world(signMode: 'key' | 'certificate' = 'key'): Subject {
  const found = worlds[signMode];
  if (!found) throw new Error('The simulator is not up');
  return { ...found, impatient: found.channel, unknownWord: async () => ({ kind: 'pending' }) };
}

for (const scene of ['page', 'wap', 'app'] as const) {
  test(`${scene}: the channel accepts the signed request, and the payment is found`, async (t) => {
    const subject = world('certificate');
    const order = { ...newOrder(alipayKind), scene };
    const outcome = await subject.channel.place(order);
    const pay = outcome.kind === 'pending' ? outcome.pay : undefined;
    t.is((await subject.channel.query(order)).kind, 'absent');
    const payUrl = pay?.url ?? `${simulator.url}/alipay/gateway.do?${pay?.params?.orderString}`;
    await control('POST', '/pay', { payWay: 'alipay', orderNo: order.orderNo, payUrl });
    t.like(await subject.channel.query(order), { kind: 'paid', amount: order.amount });
  });
}

test('the channel accepts the merchant options in every scene', async (t) => {
  const alipay = {
    storeId: 'S1',
    sysServiceProviderId: '2088000000000007',
    passbackParams: 'a=1&b=2',
    disablePayChannels: ['pcredit', 'credit_group'],
    goods: [{ id: 'G1', name: 'tea', quantity: 2, price: 617 }],
  };
  for (const scene of ['qr', 'page', 'wap', 'app'] as const) {
    const subject = world();
    const order = { ...newOrder(alipayKind), scene, options: { alipay } };
    const outcome = await subject.channel.place(order);
    const pay = outcome.kind === 'pending' ? outcome.pay : undefined;
    const payUrl = pay?.url ?? (pay?.params && `${simulator.url}/alipay/gateway.do?${pay.params.orderString}`);
    const trade = (await control('POST', '/pay', { payWay: 'alipay', orderNo: order.orderNo, payUrl })) as {
      details: { options: object };
    };
    t.like(trade.details.options, {
      store_id: 'S1',
      extend_params: { sys_service_provider_id: '2088000000000007' },
      disable_pay_channels: 'pcredit,credit_group',
      goods_detail: [{ goods_id: 'G1', price: '6.17' }],
      passback_params: scene === 'qr' ? 'a=1&b=2' : 'a%3D1%26b%3D2',
    });
    t.is((await subject.channel.query(order)).kind, 'paid', scene);
  }
});

test('a code payment cancelled after payment is refunded once, and the close reports the refund', async (t) => {
  const { channel } = world('certificate');
  const order = { ...newOrder(alipayKind), scene: 'code' as const, payCode: shownCode('cancelled') };
  t.like(await channel.place(order), { kind: 'paid', amount: order.amount });
  const first = await channel.close(order);
  t.is(first.kind === 'closed' ? typeof first.returned?.channelNo : '', 'string');
  t.deepEqual(await channel.close(order), { kind: 'closed' });
  t.like(await channel.query(order), { kind: 'paid', refundedTotal: order.amount.minor });
  t.like(await driver.ledger(order.orderNo), { paid: 1234, refunded: 1234, refunds: 1 });
});

test('before the scan a query and a close report the trade absent, and after it the close succeeds', async (t) => {
  const { channel } = world();
  const order = await placed(world(), newOrder(alipayKind));
  t.deepEqual(await channel.query(order), { kind: 'absent' });
  t.deepEqual(await channel.close(order), { kind: 'absent' });
  await control('POST', '/scan', { payWay: 'alipay', orderNo: order.orderNo });
  t.is((await channel.query(order)).kind, 'pending');
});

test('a full refund leaves a paid trade', async (t) => {
  const subject = world();
  const order = await paid(subject);
  const refund = { ...newRefund(order), refundAmount: order.amount };
  t.like(await subject.channel.refund(refund), { kind: 'succeeded', amount: order.amount });
  t.like(await subject.channel.query(order), { kind: 'paid', refundsHint: true, amount: order.amount });
});

test('each of several refunds has its own amount, although the channel reports only the sum', async (t) => {
  const subject = world();
  const order = await paid(subject);
  for (let n = 0; n < 3; n += 1) {
    const refund = newRefund(order);
    t.like(await subject.channel.refund(refund), { kind: 'succeeded', amount: refund.refundAmount });
  }
  t.like(await driver.ledger(order.orderNo), { refunds: 3, refunded: 702 });
});

test('an accepted refund has no effect until the channel completes it, then a query finds it', async (t) => {
  const subject = world();
  const refund = newRefund(await paid(subject));
  await driver.fault('refund', 'pending-refund', refund.orderNo);
  t.like(await subject.channel.refund(refund), { kind: 'unknown', cause: 'in_progress' });
  t.is(
    (
      await until(
        () => subject.channel.queryRefund(refund),
        ({ kind }) => kind === 'succeeded',
      )
    ).kind,
    'succeeded',
  );
});

test('a GBK refusal by the channel keeps its reason', async (t) => {
  const subject = world('certificate');
  const unwanted = newOrder(alipayKind);
  await driver.fault('create', 'refused-in-gbk', unwanted.orderNo, 'BUYER_BALANCE_NOT_ENOUGH');
  const reason = '交易失败：余额不足，请充值。';
  t.like(await subject.channel.place(unwanted), {
    kind: 'declined',
    code: 'ACQ.BUYER_BALANCE_NOT_ENOUGH',
    reason,
    definite: true,
  });
  const refund = newRefund(await paid(subject));
  await driver.fault('refund', 'refused-in-gbk', refund.orderNo, 'SELLER_BALANCE_NOT_ENOUGH');
  t.deepEqual(await subject.channel.refund(refund), { kind: 'refused', code: 'ACQ.SELLER_BALANCE_NOT_ENOUGH', reason });
});

test('a refund lost by the channel is absent, and a repeat with the same number makes it', async (t) => {
  const subject = world();
  const refund = newRefund(await paid(subject));
  await driver.fault('refund', 'lost-refund', refund.orderNo);
  t.like(await subject.channel.refund(refund), { kind: 'unknown', cause: 'in_progress' });
  t.deepEqual(await subject.channel.queryRefund(refund), { kind: 'absent' });
  t.like(await subject.channel.refund(refund), { kind: 'succeeded', amount: refund.refundAmount });
  t.like(await driver.ledger(refund.orderNo), { refunds: 1, refunded: 234 });
});

test('a refund number reused with another amount is unknown', async (t) => {
  const subject = world();
  const refund = newRefund(await paid(subject));
  await subject.channel.refund(refund);
  const other = { ...refund, refundAmount: { minor: 1n, currency: 'CNY' } };
  t.like(await subject.channel.refund(other), { kind: 'unknown', cause: 'mismatch' });
  t.like(await driver.ledger(refund.orderNo), { refunds: 1 });
});

test('a refund above the remaining amount is refused', async (t) => {
  const subject = world();
  const order = await paid(subject);
  const refund = newRefund(order);
  await subject.channel.refund({ ...refund, refundAmount: { minor: 1000n, currency: 'CNY' } });
  const second = { ...newRefund(order), refundAmount: { minor: 1000n, currency: 'CNY' } };
  t.like(await subject.channel.refund(second), { kind: 'refused', code: 'ACQ.REFUND_AMT_NOT_EQUAL_TOTAL' });
});

test('a portal refund is notified by number and left to a query', async (t) => {
  const subject = world();
  const order = await paid(subject);
  await control('POST', '/refund-elsewhere', { payWay: 'alipay', orderNo: order.orderNo, amount: '1.00' });
  const notifications = await until(
    () => driver.notifications(order.orderNo),
    (all) => all.some(({ event }) => event === 'refund'),
  );
  const told = notifications.find(({ event }) => event === 'refund');
  const notification = await subject.channel.readNotification(told?.headers ?? {}, told?.body ?? Buffer.alloc(0));
  t.regex(notification.refundNo ?? '', /^portal/);
  t.like(notification.outcome, { kind: 'paid', refundsHint: true });
  const found = await subject.channel.queryRefund({ ...newRefund(order), refundNo: notification.refundNo ?? '' });
  t.like(found, { kind: 'succeeded', amount: { minor: 100n, currency: 'CNY' } });
});

test('a notification with another amount keeps that amount', async (t) => {
  const subject = world();
  const order = await placed(subject, newOrder(alipayKind));
  await driver.fault('notice', 'wrong-amount', order.orderNo);
  await driver.pay(order.orderNo);
  const [first] = await until(
    () => driver.notifications(order.orderNo),
    (all) => all.length > 0,
  );
  const notification = await subject.channel.readNotification(first?.headers ?? {}, first?.body ?? Buffer.alloc(0));
  t.like(notification.outcome, { kind: 'paid', amount: { minor: 1235n, currency: 'CNY' } });
});

test('a timestamp that the channel rejects is clock_skew and has no effect', async (t) => {
  const subject = world();
  const order = await paid(subject);
  for (const call of ['query', 'close', 'refund', 'refund-query'])
    await driver.fault(call, 'clock-skew', order.orderNo);
  const refund = newRefund(order);
  const { channel } = subject;
  const outcomes = [channel.query(order), channel.close(order), channel.refund(refund), channel.queryRefund(refund)];
  for (const outcome of await Promise.all(outcomes)) t.like(outcome, { kind: 'unknown', cause: 'clock_skew' });
});

test('a refused code (0.02) is definitely refused, and an unlisted refusal is not definite', async (t) => {
  const { channel } = world();
  const order = { ...newOrder(alipayKind), amount: { minor: 2n, currency: 'CNY' } };
  t.like(await channel.place(order), { kind: 'declined', code: 'ACQ.ACCESS_FORBIDDEN', definite: true });
  const known = await paid(world());
  t.like(await channel.place(known), { kind: 'declined', code: 'ACQ.TRADE_HAS_SUCCESS', definite: false });
});

test("the channel's next certificate is downloaded once by its serial, and a new key without a certificate is not", async (t) => {
  for (const signMode of ['certificate', 'key'] as const) {
    const account = `next-${signMode}`;
    const { alipay } = (await control('POST', '/accounts', { payWay: 'alipay', name: account, signMode })) as Configs;
    const kept: string[] = [];
    const keep = (kind: string) => void kept.push(kind);
    const channel = connect(alipayKind, { mode: 'simulator', simulatorUrl: simulator.url, ...alipay, keep });
    const subject = { ...world(signMode), channel };
    const order = await placed(subject, newOrder(alipayKind));
    await control('POST', '/rotate', { payWay: 'alipay', account, what: 'alipay-key' });
    await driver.pay(order.orderNo);
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => channel.query(order)));
    const expected = signMode === 'certificate' ? { kind: 'paid' } : { kind: 'unknown', cause: 'signature_invalid' };
    for (const outcome of outcomes) t.like(outcome, expected, signMode);
    t.deepEqual(kept, signMode === 'certificate' ? ['alipay_public_cert'] : []);
  }
});

const wrong: [string, 'key' | 'certificate', (input: Subject['input']) => Partial<Subject['input']>, string][] = [
  ['app key', 'key', ({ pems }) => ({ pems: { ...pems, alipay_app_key: [fixture('app.key')] } }), 'alipay_app_key'],
  [
    "Alipay's key",
    'key',
    ({ pems }) => ({ pems: { ...pems, alipay_public_key: keyMode.alipay_public_key } }),
    'alipay_public_key',
  ],
  ['app id', 'key', () => ({ fields: { appId: '2021999999999999' } }), 'appId'],
  [
    "Alipay's certificate",
    'certificate',
    ({ pems }) => ({
      pems: { ...pems, alipay_public_cert: [issuedBy(folder, createPublicKey(fixture('alipay.key')))] },
    }),
    'alipay_public_cert',
  ],
  [
    'root file',
    'certificate',
    ({ pems }) => ({ pems: { ...pems, alipay_root_cert: [`${pems['alipay_root_cert']?.[0]}${fixture('root.crt')}`] } }),
    'alipay_root_cert',
  ],
  [
    'app pair',
    'certificate',
    ({ pems }) => ({ pems: { ...pems, alipay_app_key: [fixture('app.key')], alipay_app_cert: [fixture('app.crt')] } }),
    'alipay_app_cert',
  ],
];
for (const [name, signMode, change, field] of wrong) {
  test(`the probe reports a wrong ${name}`, async (t) => {
    const { input } = world(signMode);
    t.like(await connect(alipayKind, { ...input, ...change(input) }).probe(), { ok: false, field });
  });
}

test("Alipay's certificate and the root file are refused unless the root issued the certificate", (t) => {
  const { input } = world('certificate');
  const other = { alipay_public_cert: [fixture('alipay.crt')], alipay_root_cert: [fixture('root.crt')] };
  for (const kind of ['alipay_public_cert', 'alipay_root_cert'] as const) {
    const pems = { ...input.pems, [kind]: other[kind] };
    const error = t.throws(() => connect(alipayKind, { ...input, pems }), { instanceOf: ChannelMisconfigured });
    t.is(error?.field, 'alipay_public_cert');
  }
  t.notThrows(() => connect(alipayKind, { ...input, pems: { ...input.pems, ...other } }), 'each other');
});

test('a merchant with only the other QR product gets that reason, and codes work once it is configured', async (t) => {
  const account = { payWay: 'alipay', name: 'offline', products: ['QR_CODE_OFFLINE'] };
  const { alipay } = (await control('POST', '/accounts', account)) as Configs;
  const input = { mode: 'simulator', simulatorUrl: simulator.url, ...alipay } as const;
  const order = newOrder(alipayKind);
  const before = connect(alipayKind, input);
  const refused = await before.place(order);
  t.like(refused, { kind: 'declined', code: 'ACQ.ACCESS_FORBIDDEN', definite: true });
  t.regex(refused.kind === 'declined' ? refused.reason : '', /test the configuration/);
  const told = await before.probe();
  t.like(told, { ok: true, note: { field: 'qrProductCode', code: 'ACQ.ACCESS_FORBIDDEN' } });
  const after = connect(alipayKind, { ...input, fields: { ...alipay.fields, qrProductCode: 'QR_CODE_OFFLINE' } });
  t.like(await after.probe(), { ok: true, note: undefined });
  t.is((await after.place(order)).kind, 'pending');
});

test('the probe reports an unreachable channel', async (t) => {
  const channel = connect(alipayKind, { ...world().input, simulatorUrl: 'http://127.0.0.1:1' });
  t.like(await channel.probe(), { ok: false, field: null, code: 'network' });
});
