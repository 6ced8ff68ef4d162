import test, { type ExecutionContext } from 'ava';
import { firstAdmin, type Admin } from '../support/admin.ts';
import { assertLedgersMatch, runUntilQuiet, unexplained } from '../support/merchant-ledger.ts';
import { createDatabase } from '../support/database.ts';
import { layCable, type Cable } from '../support/in-between.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { startPostgres } from '../support/postgres.ts';
import { startService, until, type Merchant, type Service } from '../support/service.ts';

/** Every request is answered long before this, on any machine and in any state of the database. */
const PATIENCE_MS = 60_000;

interface Asked {
  name: string;
  status: number;
  type: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- responses of every shape are read
  body: any;
}

/** One request of every kind that needs the database. */
function callEverything({ url }: Service, shop: Merchant, admin: Admin, orderNo: string): Promise<Asked[]> {
  const asApp = { authorization: `Bearer ${shop.token}` };
  const asAdmin = { authorization: `Bearer ${admin.token}` };
  const credentials = { grant_type: 'client_credentials', client_id: shop.clientId, client_secret: shop.secret };
  const pay = { subject: 'Down', amount: 5, payWay: 'alipay' };
  const requests: [string, string, Record<string, string>, unknown?][] = [
    ['GET', `/api/v2/payment/query/${orderNo}`, asApp],
    ['GET', '/api/v2/payment/orders', asApp],
    ['POST', '/api/v2/payment/pay', asApp, pay],
    ['POST', '/api/v2/payment/pay', { ...asApp, 'idempotency-key': 'down-1' }, pay],
    ['POST', `/api/v2/payment/close/${orderNo}`, asApp],
    ['POST', '/api/v2/payment/refund', asApp, { orderNo, refundAmount: 1 }],
    ['POST', '/oauth/token', {}, credentials],
    ['GET', '/api/v1/orders', asAdmin],
    ['GET', '/api/v1/payment/channels', {}],
    ['GET', '/health/db', {}],
  ];
  return Promise.all(
    requests.map(async ([method, path, headers, body]) => {
      const answer = await fetch(url + path, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      const type = answer.headers.get('content-type') ?? '';
      return { name: `${method} ${path}`, status: answer.status, type, body: await answer.json() };
    }),
  );
}

function assertUnavailable(t: ExecutionContext, answers: readonly Asked[], when: string): void {
  for (const { name, status, type, body } of answers) {
    const which = `${when}: ${name}: ${status} ${JSON.stringify(body)}`;
    t.is(status, 503, which);
    t.regex(type, /json/, which);
    if (name.includes('/oauth/')) continue;
    if (name.includes('/health/')) continue;
    t.true(['database_unavailable', 'database_busy'].includes(body.code), which);
    t.true(body.retryable, which);
  }
}

async function backInService(service: Service, shop: Merchant, orderNo: string): Promise<void> {
  await until('back in service', async () => (await fetch(`${service.url}/health/db`)).status === 200);
  await until(
    'the order is there',
    async () => (await shop.call('GET', `/api/v2/payment/query/${orderNo}`)).status === 200,
  );
}

test('G11: a database that is gone, unresponsive or stopped is a 503 until it is back', async (t) => {
  const postgres = await startPostgres();
  t.teardown(() => postgres.stop());
  const cable = await layCable(t, postgres.url);
  const service = await startService(t, { url: cable.url, databaseTimeouts: {} });
  const admin = await firstAdmin(service);
  const shop = await service.merchant();
  const orderNo = await placeOrder(shop, {});
  for (const [how, trouble] of [
    ['gone', () => cable.cut()],
    ['swallows everything', () => cable.swallow()],
  ] as const) {
    trouble();
    // Twice: the first round uses existing connections, the second must open new ones.
    for (let round = 0; round < 2; round += 1)
      assertUnavailable(t, await callEverything(service, shop, admin, orderNo), how);
    t.is((await fetch(`${service.url}/health`)).status, 200, 'the process itself is alive');
    cable.mend();
    await backInService(service, shop, orderNo);
    t.is(
      (await shop.call('POST', '/api/v2/payment/pay', { subject: 'Back', amount: 5, payWay: 'alipay' })).status,
      201,
    );
  }
  const count = await service.app.store.read((tx) => tx.orders.count({}));
  t.is(count, 3, 'a 503 before any channel call changed nothing');
  await postgres.stop();
  assertUnavailable(t, await callEverything(service, shop, admin, orderNo), 'stopped');
  t.is((await fetch(`${service.url}/health`)).status, 200);
});

for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
  test(`G11 ${payWay}: a death between the channel's answer and its settlement returns the orderNo, and nothing is lost`, async (t) => {
    const database = await createDatabase();
    t.teardown(() => database.drop());
    const cable: Cable = await layCable(t, database.url);
    let dieAt = '';
    const service = await startService(t, {
      databaseTimeouts: {},
      url: cable.url,
      checkpoint: (name) => {
        if (name === dieAt) cable.cut();
      },
    });
    const shop = await service.merchant();
    const open = await placeOrder(shop, { payWay, amount: 20 });
    const paid = await payOrder(service, shop, { payWay, amount: 20 });
    const scenes = {
      'place.asked': () =>
        shop.call('POST', '/api/v2/payment/pay', { subject: 'x', amount: 20, payWay }, { 'idempotency-key': 'k1' }),
      'close.asked': () => shop.call('POST', `/api/v2/payment/close/${open}`),
      'refund.asked': () =>
        shop.call('POST', '/api/v2/payment/refund', { orderNo: paid, refundAmount: 5, merchantRefundNo: 'r1' }),
    };
    const numbers: string[] = [];
    for (const [checkpoint, act] of Object.entries(scenes)) {
      dieAt = checkpoint;
      const { status, body } = await act();
      t.true([503, 504].includes(status), `${checkpoint}: ${status} ${JSON.stringify(body)}`);
      t.truthy(body.orderNo, `${checkpoint}: ${JSON.stringify(body)}`);
      t.true(body.retryable);
      numbers.push(body.orderNo);
      dieAt = '';
      cable.mend();
      await backInService(service, shop, body.orderNo);
    }
    service.clock.advance(61);
    const placed = await scenes['place.asked']();
    t.is(placed.status, 201, JSON.stringify(placed.body));
    t.is(placed.body.data.orderNo, numbers[0], 'the retry continues the same order');
    const again = await scenes['refund.asked']();
    t.is(again.status, 200, JSON.stringify(again.body));
    await runUntilQuiet(service, 10 * 3600, 1800);
    t.deepEqual(await unexplained(service), []);
    const refunds = await service.app.store.read((tx) => tx.refunds.list({ orderNo: paid }));
    t.deepEqual(
      refunds.map(({ state }) => state),
      ['succeeded'],
    );
    await assertLedgersMatch(t, service);
  });
}
