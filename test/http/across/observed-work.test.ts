import test from 'ava';
import { createLogger } from '../../../server/http/logger.ts';
import { type Merchant, request, type Service, startService, until } from '../../support/service.ts';
import { type Call, firstAdmin } from '../../support/admin.ts';
import { placeOrder } from '../../support/orders.ts';

interface Line extends Record<string, unknown> {
  msg: string;
}

const lines: Line[] = [];
const ends: (() => unknown)[] = [];
const write = (line: string) => void lines.push(JSON.parse(line) as Line);
const logger = createLogger({ log: { level: 'debug' } }, { write });
const service: Service = await startService({ teardown: (end) => void ends.push(end) }, { logger });
const { call: admin }: { call: Call } = await firstAdmin(service);
const shop: Merchant = await service.merchant();
test.after.always('the service is stopped', async () => {
  for (const end of ends.toReversed()) await end();
});

const about = (members: object) =>
  lines.filter((line) => Object.entries(members).every(([name, value]) => line[name] === value));

test.serial('the log lines of a request carry its id, its application, its channel and its order', async (t) => {
  const body = { subject: 'Tea', amount: 10, payWay: 'wechat' };
  const answer = await shop.call('POST', '/api/v2/payment/pay', body);
  const requestId = answer.headers.get('x-request-id');
  const { orderNo } = answer.body.data;
  const { clientId } = shop;
  const same = { requestId, clientId, payWay: 'wechat', orderNo };
  t.like(about({ msg: 'request', requestId })[0], { ...same, route: '/api/v2/payment/pay', status: 201 });
  t.like(about({ msg: 'channel call', requestId })[0], { ...same, call: 'place', outcome: 'pending' });
  const query = await shop.call('GET', `/api/v2/payment/query/${orderNo}`);
  t.like(about({ msg: 'request', requestId: query.headers.get('x-request-id') })[0], { payWay: 'wechat', orderNo });

  const { body: timeline } = await admin('GET', `/api/v1/orders/${orderNo}/timeline`);
  const transitions = timeline.data.filter(({ kind }: { kind: string }) => kind === 'move');
  t.deepEqual(
    transitions.map(({ detail }: { detail: { toState: string; requestId: string } }) => [
      detail.toState,
      detail.requestId,
    ]),
    [
      ['created', requestId],
      ['pending', requestId],
    ],
    'the history names the request',
  );
});

test.serial("the log lines of a refund also carry its number, and so does an administrator's request", async (t) => {
  const orderNo = await placeOrder(shop, { payWay: 'alipay', amount: 0.01 });
  await until(
    'paid',
    async () => (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).body.data.status === 'paid',
  );
  const refund = await shop.call('POST', '/api/v2/payment/refund', { orderNo, refundAmount: 0.01 });
  const { refundNo } = refund.body.data;
  t.like(about({ msg: 'request', requestId: refund.headers.get('x-request-id') })[0], { orderNo, refundNo });
  const seen = await admin('GET', `/api/v1/refunds/${refundNo}`);
  t.like(about({ msg: 'request', requestId: seen.headers.get('x-request-id') })[0], { orderNo, refundNo });
  const notification = about({ msg: 'request', route: '/notify/{payWay}/{project}', orderNo });
  t.true(notification.length > 0, 'a notification is about its order');
});

test.serial(
  'the log lines of a job carry the object it works on, and a silent channel is one line without a stack',
  async (t) => {
    const orderNo = await placeOrder(shop, { payWay: 'wechat' });
    const impatient = await startService(t, {
      url: service.databaseUrl,
      simulator: service.simulator,
      now: service.clock.now,
      timeoutMs: 400,
      logger,
    });
    await service.sim('/sim/faults', { payWay: 'wechat', call: 'query', fault: 'timeout', times: 20 });
    await service.app.store.autocommit((tx) => tx.orders.update({ orderNo }, { nextCheckAt: service.clock.now() }));
    await impatient.app.sweep.once();
    await service.sim('/sim/reset-faults', {});
    const silent = about({ msg: 'channel call', orderNo, outcome: 'unknown_timeout' });
    t.like(silent[0], { level: 'warn', job: 'order', payWay: 'wechat', call: 'query', clientId: undefined });
    t.is(silent[0]?.['requestId'], undefined, 'nobody asked');
    t.is(silent[0]?.['err'], undefined);
    const stacks = lines.filter(({ err }) => (err as { stack?: string } | undefined)?.stack !== undefined);
    t.deepEqual(stacks, []);
  },
);

test.serial('work that a request only triggers is logged without the request id', async (t) => {
  const { clientId } = shop;
  await admin('PUT', `/api/v1/api-apps/${clientId}/webhook`, { url: 'https://shop.invalid/hook' });
  service.app.startJobs();
  const orderNo = await placeOrder(shop, { payWay: 'alipay', amount: 0.01, merchantOrderNo: 'with-webhook' });
  await until('an attempt', async () => {
    const deliveries = await service.app.store.read((tx) => tx.deliveries.list({ clientId }));
    return deliveries.some(({ attempts }) => attempts > 0);
  });
  const worked = lines.filter(({ job }) => job !== undefined);
  t.true(worked.length > 0);
  t.deepEqual(
    worked.filter(({ requestId }) => requestId !== undefined),
    [],
    orderNo,
  );
});

test.serial(
  'channels whose secrets cannot be decrypted are logged at the start, and are down for every caller',
  async (t) => {
    await service.app.reportUnusableChannels();
    t.deepEqual(about({ msg: 'a channel is down: its secrets cannot be decrypted' }), []);
    const told: Line[] = [];
    const other = await startService(t, {
      url: service.databaseUrl,
      simulator: service.simulator,
      logger: createLogger({ log: { level: 'error' } }, { write: (line) => void told.push(JSON.parse(line) as Line) }),
      env: { PAY_SECURITY_MASTER_KEY: Buffer.alloc(32, 9).toString('base64') },
    });
    await other.app.reportUnusableChannels();
    const keys = told.filter(({ msg }) => msg === 'stored secrets need master keys that are not configured');
    t.is(keys.length, 1);
    t.like(keys[0], { level: 'error', hint: 'Security.MasterKey', configured: ['8c0cc17a'], needed: ['4bb06f8e'] });
    t.deepEqual(
      told
        .filter(({ payWay }) => payWay !== undefined)
        .map(({ project, payWay, hint }) => ({ project, payWay, hint }))
        .toSorted((a, b) => (String(a.payWay) < String(b.payWay) ? -1 : 1)),
      ['alipay', 'paypal', 'wechat'].map((payWay) => ({ project: 'default', payWay, hint: 'Security.MasterKey' })),
    );
    const { body } = await request(other.url, 'GET', '/api/v1/payment/channels');
    t.deepEqual(new Set(body.data.map(({ status }: { status: string }) => status)), new Set(['down']));
  },
);

test.serial('a proxy that is not configured as trusted is logged once', async (t) => {
  const ask = (headers: Record<string, string>) => request(service.url, 'GET', '/health', undefined, headers);
  const told = () => about({ hint: 'Server.TrustedProxies' });
  await ask({});
  t.deepEqual(told(), []);
  for (let turn = 0; turn < 2; turn++) await ask({ 'x-forwarded-for': '203.0.113.7' });
  t.is(told().length, 1);
  t.like(told()[0], { level: 'warn' });
});
