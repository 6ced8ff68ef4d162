import test from 'ava';
import pino from 'pino';
import { PAY_WAYS } from '../../server/payments/channel.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { openMarket } from '../support/market.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { coverRoutes, refused } from '../support/route-file.ts';
import { until } from '../support/service.ts';

const logged: { level: number; msg: string; event?: string; detail?: string; change?: string }[] = [];
const logger = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) });
const file = await serviceOfFile(import.meta.filename, { logger });
const { nobody, service, admin } = file;
coverRoutes(test, file);

/** The acknowledgement that each channel expects for an accepted notification. */
const ACCEPTED = { alipay: 'success', wechat: '{"code":"SUCCESS","message":"OK"}', paypal: 'ok' } as const;

/** The answer to a refused notification, so that the channel repeats it. */
const REFUSED = {
  alipay: [400, 'fail'],
  wechat: [400, '{"code":"FAIL","message":"not accepted"}'],
  paypal: [400, 'refused'],
};

/** The exact bytes of the channel's payment notification, which was not delivered. */
async function undelivered(
  payWay: string,
  orderNo: string,
): Promise<{ headers: Record<string, string>; body: Buffer }> {
  await service.sim('/sim/faults', { payWay, call: 'notice', fault: 'drop-notify', orderNo, times: 1 });
  await service.sim('/sim/pay', { orderNo });
  const sent = await until('the notification was sent', async () => {
    const deliveries = await service.deliveries(orderNo);
    return deliveries[0];
  });
  return { headers: sent.headers, body: Buffer.from(sent.bodyBase64, 'base64') };
}

for (const payWay of PAY_WAYS) {
  test.serial(
    `a genuine notification of ${payWay} makes the order paid and is acknowledged in the channel's format`,
    async (t) => {
      const { shop } = await openMarket(file);
      const orderNo = await placeOrder(shop, { payWay });
      const { headers, body } = await undelivered(payWay, orderNo);
      const answer = await fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', headers, body });
      t.is(answer.status, 200);
      t.is(await answer.text(), ACCEPTED[payWay]);
      t.is(await stateOf(service, orderNo), 'paid');
    },
  );

  test.serial(`the notification address of ${payWay} may end with a slash`, async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { payWay });
    const { headers, body } = await undelivered(payWay, orderNo);
    const send = (address: string) => fetch(`${service.url}${address}`, { method: 'POST', headers, body });
    t.is((await send(`/notify/${payWay}/default//`)).status, 404);
    const answer = await send(`/notify/${payWay}/default/`);
    t.deepEqual([answer.status, await answer.text()], [200, ACCEPTED[payWay]]);
    t.is(await stateOf(service, orderNo), 'paid');
  });

  test.serial(`a repeated notification of ${payWay} changes nothing and is acknowledged`, async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { payWay });
    const { headers, body } = await undelivered(payWay, orderNo);
    const send = () => fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', headers, body });
    const first = await send();
    const transitions = await service.app.store.read((tx) => tx.transitions.count({ orderNo }));
    t.is((await send()).status, first.status);
    t.is(await service.app.store.read((tx) => tx.transitions.count({ orderNo })), transitions);
  });

  test.serial(`a notification of ${payWay} with an invalid signature changes nothing`, async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { payWay });
    const { headers, body } = await undelivered(payWay, orderNo);
    body[body.length - 3] = (body[body.length - 3] ?? 0) ^ 1;
    const answer = await fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', headers, body });
    t.deepEqual([answer.status, await answer.text()], REFUSED[payWay]);
    t.is(await stateOf(service, orderNo), 'pending');
  });
}

test.serial(
  'an event of WeChat Pay about another subject is acknowledged, a forged one is not, and no order is changed',
  async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { payWay: 'wechat' });
    const resource = { mchid: '1900000109', out_bill_no: 'B1', state: 'SUCCESS' };
    await service.sim('/sim/faults', { payWay: 'wechat', call: 'notice', fault: 'drop-notify', orderNo, times: 1 });
    await service.sim('/sim/event', { orderNo, type: 'MCHTRANSFER.BILL.FINISHED', resource });
    const sent = await until('the event was sent', async () => (await service.deliveries(orderNo))[0]);
    const send = async (body: string) => {
      const url = `${service.url}/notify/wechat/default`;
      const answer = await fetch(url, { method: 'POST', headers: sent.headers, body });
      return [answer.status, await answer.text()];
    };
    const body = Buffer.from(sent.bodyBase64, 'base64').toString();
    t.deepEqual(await send(body.replace('FINISHED', 'FINISHEE')), REFUSED.wechat);
    t.deepEqual(await send(body), [200, ACCEPTED.wechat]);
    const told = logged.filter(({ event }) => event === 'MCHTRANSFER.BILL.FINISHED');
    t.deepEqual(
      told.map(({ level, msg }) => [level, msg]),
      [[30, 'a notification about something else was acknowledged']],
    );
    t.is(await stateOf(service, orderNo), 'pending');
  },
);

/** The configurations of the simulator's account. */
interface Configs {
  wechat: { fields: Record<string, string> };
}

/** A fault that changes a genuine notification on its way, and the reason shown to the operator. */
type Mishap = [name: string, why: string, befall: (message: { headers: Record<string, string>; body: string }) => void];

const HEADERS_LOST: Mishap = [
  'a proxy that drops a header of the signature',
  'unsigned',
  ({ headers }) => {
    delete headers['wechatpay-signature'];
    delete headers['paypal-transmission-sig'];
  },
];
const RESERIALISED: Mishap = [
  'a gateway that re-serialises the JSON',
  'signature_invalid',
  (message) => (message.body = JSON.stringify(JSON.parse(message.body), null, 1)),
];
const MISHAPS = {
  alipay: [
    ['a gateway that changes the form', 'signature_invalid', (message) => (message.body += '&added=1')],
    [
      'a gateway that drops a field',
      'unsigned',
      (message) => (message.body = message.body.replace(/&?sign=[^&]*/, '')),
    ],
  ],
  wechat: [
    RESERIALISED,
    HEADERS_LOST,
    ['an unknown serial', 'serial_unknown', ({ headers }) => (headers['wechatpay-serial'] = 'PUB_KEY_ID_0001')],
    ['a delay of minutes', 'clock_skew', ({ headers }) => (headers['wechatpay-timestamp'] = '1700000000')],
  ],
  paypal: [RESERIALISED, HEADERS_LOST],
} satisfies Record<(typeof PAY_WAYS)[number], Mishap[]>;

for (const payWay of PAY_WAYS)
  for (const [name, why, befall] of MISHAPS[payWay] as Mishap[])
    test.serial(
      `${payWay}, ${name}: the reason and the fix are shown in the log, on the channel and on the order`,
      async (t) => {
        const { shop } = await openMarket(file);
        const orderNo = await placeOrder(shop, { payWay });
        const sent = await undelivered(payWay, orderNo);
        const headers = Object.fromEntries(
          Object.entries(sent.headers).map(([key, value]) => [key.toLowerCase(), value]),
        );
        delete headers['content-length'];
        const message = { headers, body: sent.body.toString() };
        befall(message);
        const send = (one: { headers: Record<string, string>; body: string | Buffer }) =>
          fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', ...one });
        await service.app.store.transaction((tx) =>
          tx.channelStates.update({ project: 'default', payWay }, { refusedNotices: null }),
        );
        // Each reason is stored at most once in five seconds.
        service.clock.advance(6);
        t.is((await send(message)).status, 400);
        const line = logged.findLast(({ msg }) => msg === 'a notification was refused');
        t.like(line, { payWay, project: 'default', why });
        t.true((line?.detail?.length ?? 0) > 10 && (line?.change?.length ?? 0) > 40);
        const { detail, change } = line!;
        const config = async () => (await admin('GET', `/api/v1/payment/config/${payWay}`)).body.data;
        const shown = await until('the reason is kept', async () => {
          const { refusedNotices } = await config();
          return refusedNotices?.why === why && refusedNotices;
        });
        t.like(shown, { why, detail, change, isOpen: true });
        t.true(shown.count >= 1 && shown.since <= shown.at);
        const explained = async () =>
          (await admin('GET', `/api/v1/orders/${orderNo}/explain`)).body.data.refusedNotices;
        t.like(await explained(), { why, detail, change });
        const chinese = { 'accept-language': 'zh-CN' };
        const read = await admin('GET', `/api/v1/payment/config/${payWay}`, undefined, chinese);
        const inList = await admin('GET', '/api/v1/payment/config/list', undefined, chinese);
        for (const { headers, body } of [read, inList]) {
          t.is(headers.get('content-language'), 'zh-CN');
          const row = [body.data].flat().find((one) => one.payWay === payWay);
          t.regex(row.refusedNotices.change, /^\p{Script=Han}.*。$/u);
        }
      },
    );

test.serial('a wrong APIv3 key is reported until the configuration is changed', async (t) => {
  const { shop } = await openMarket(file);
  const orderNo = await placeOrder(shop, { payWay: 'wechat' });
  const { headers, body } = await undelivered('wechat', orderNo);
  const path = '/api/v1/payment/config/wechat';
  const accounts = (await service.sim('/sim/config?account=default')) as unknown as Configs;
  const right = accounts.wechat.fields['apiV3Key'];
  t.is((await admin('POST', path, { apiV3Key: 'x'.repeat(32) })).status, 200);
  const send = async () =>
    (await fetch(`${service.url}/notify/wechat/default`, { method: 'POST', headers, body })).status;
  t.is(await send(), 400);
  const shown = await until('the reason is kept', async () => (await admin('GET', path)).body.data.refusedNotices);
  t.like(shown, { why: 'misconfigured', count: 1, isOpen: true });
  t.regex(shown.change, /APIv3 key/);
  t.is((await admin('POST', path, { apiV3Key: right })).status, 200);
  t.is((await admin('GET', path)).body.data.refusedNotices, null);
  t.is(await send(), 200);
  t.is(await stateOf(service, orderNo), 'paid');
});

test.serial('an unsigned notification is an open finding until a genuine notification arrives', async (t) => {
  const { shop } = await openMarket(file);
  const forge = () => fetch(`${service.url}/notify/alipay/default`, { method: 'POST', body: 'a=1' });
  const refused = async () => (await admin('GET', '/api/v1/payment/config/alipay')).body.data;
  service.clock.advance(6);
  t.is((await forge()).status, 400);
  const kept = await until('it is kept', async () => (await refused()).refusedNotices);
  t.like(kept, { why: 'unsigned', isOpen: true });
  const orderNo = await placeOrder(shop, { payWay: 'alipay' });
  const { headers, body } = await undelivered('alipay', orderNo);
  await service.app.store.transaction((tx) =>
    tx.channelStates.update({ project: 'default', payWay: 'alipay' }, { lastNoticeAt: null }),
  );
  t.is((await fetch(`${service.url}/notify/alipay/default`, { method: 'POST', headers, body })).status, 200);
  await until('the finding is closed', async () => (await refused()).refusedNotices?.isOpen === false);
});

test.serial('a channel that does not exist is 404', async (t) => {
  refused(t, await nobody('POST', '/notify/cash/default', {}), 404, 'not_found');
});

test.serial('a project that does not exist is 404', async (t) => {
  refused(t, await nobody('POST', '/notify/alipay/nothing', {}), 404, 'not_found');
  refused(t, await nobody('POST', '/notify/alipay/a%20b', {}), 404, 'not_found');
});

test.serial('nothing is stored about projects invented by a caller', async (t) => {
  const { ports } = service.app;
  const { onNotification: noticed } = ports;
  const kept: unknown[] = [];
  ports.onNotification = (...note) => void kept.push(note);
  t.teardown(() => (ports.onNotification = noticed));
  for (const project of ['made-up-1', 'made-up-2']) await nobody('POST', `/notify/alipay/${project}`, {});
  t.deepEqual(kept, []);
  t.is((await nobody('POST', '/notify/alipay/default', {})).status, 400);
  t.is(kept.length, 1);
});

test.serial('a project without a configuration of the channel is 404', async (t) => {
  const project = await file.project();
  t.is((await admin('GET', `/api/v1/projects/${project}`)).status, 200);
  refused(t, await nobody('POST', `/notify/alipay/${project}`, {}), 404, 'not_found');
});

test.serial(
  'an unsigned notification is refused with 400 in the format of its channel, never as a server fault',
  async (t) => {
    const { shop } = await openMarket(file);
    for (const payWay of ['alipay', 'wechat', 'paypal'] as const) {
      await placeOrder(shop, { payWay });
      for (const body of ['', '{}', 'a=1', '{"id":"1","resource":{}}']) {
        const headers = {
          'content-type': payWay === 'alipay' ? 'application/x-www-form-urlencoded' : 'application/json',
        };
        const answer = await fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', headers, body });
        t.deepEqual([answer.status, await answer.text()], REFUSED[payWay], body);
      }
    }
  },
);
