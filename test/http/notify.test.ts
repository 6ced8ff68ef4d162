import test from 'ava';
import pino from 'pino';
import { PAY_WAYS } from '../../server/payments/channel.ts';
import { serviceOfFile } from '../support/file-service.ts';
import { openMarket } from '../support/market.ts';
import { placeOrder, stateOf } from '../support/orders.ts';
import { coverRoutes, refused } from '../support/route-file.ts';
import { until } from '../support/service.ts';

const logged: { level: number; msg: string; event?: string }[] = [];
const logger = pino({ level: 'info' }, { write: (line) => void logged.push(JSON.parse(line)) });
const file = await serviceOfFile(import.meta.filename, { logger });
const { nobody, service, admin } = file;
coverRoutes(test, file);

/** What each channel wants to hear about a notice that was taken. */
const ACCEPTED = { alipay: 'success', wechat: '{"code":"SUCCESS","message":"OK"}', paypal: 'ok' } as const;

/** The same about one that was not: it should come again. */
const REFUSED = {
  alipay: [400, 'fail'],
  wechat: [400, '{"code":"FAIL","message":"not accepted"}'],
  paypal: [400, 'refused'],
};

/** The exact bytes of the channel's notice of a payment, which did not arrive. */
async function undelivered(
  payWay: string,
  orderNo: string,
): Promise<{ headers: Record<string, string>; body: Buffer }> {
  await service.sim('/sim/faults', { payWay, call: 'notice', fault: 'drop-notify', orderNo, times: 1 });
  await service.sim('/sim/pay', { orderNo });
  const sent = await until('the notice was sent', async () => {
    const deliveries = await service.deliveries(orderNo);
    return deliveries[0];
  });
  return { headers: sent.headers, body: Buffer.from(sent.bodyBase64, 'base64') };
}

for (const payWay of PAY_WAYS) {
  test.serial(
    `a genuine notice of ${payWay} makes the order paid and is acknowledged in the channel's words`,
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

  test.serial(`an address of ${payWay} that ends with a slash is the same one`, async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { payWay });
    const { headers, body } = await undelivered(payWay, orderNo);
    const send = (address: string) => fetch(`${service.url}${address}`, { method: 'POST', headers, body });
    t.is((await send(`/notify/${payWay}/default//`)).status, 404);
    const answer = await send(`/notify/${payWay}/default/`);
    t.deepEqual([answer.status, await answer.text()], [200, ACCEPTED[payWay]]);
    t.is(await stateOf(service, orderNo), 'paid');
  });

  test.serial(`the same notice of ${payWay} again changes nothing and is acknowledged`, async (t) => {
    const { shop } = await openMarket(file);
    const orderNo = await placeOrder(shop, { payWay });
    const { headers, body } = await undelivered(payWay, orderNo);
    const send = () => fetch(`${service.url}/notify/${payWay}/default`, { method: 'POST', headers, body });
    const first = await send();
    const moves = await service.app.store.read((tx) => tx.moves.count({ orderNo }));
    t.is((await send()).status, first.status);
    t.is(await service.app.store.read((tx) => tx.moves.count({ orderNo })), moves);
  });

  test.serial(`a notice of ${payWay} whose signature does not hold changes nothing`, async (t) => {
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
  'an event of WeChat Pay about something else is acknowledged, a forged one is not, and no order hears of it',
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

test.serial('a channel that does not exist is 404', async (t) => {
  refused(t, await nobody('POST', '/notify/cash/default', {}), 404, 'not_found');
});

test.serial('a project that does not exist is 404', async (t) => {
  refused(t, await nobody('POST', '/notify/alipay/nothing', {}), 404, 'not_found');
  refused(t, await nobody('POST', '/notify/alipay/a%20b', {}), 404, 'not_found');
});

test.serial('a project without a configuration of the channel is 404', async (t) => {
  const project = await file.project();
  t.is((await admin('GET', `/api/v1/projects/${project}`)).status, 200);
  refused(t, await nobody('POST', `/notify/alipay/${project}`, {}), 404, 'not_found');
});

test.serial(
  'what nobody signed is refused with 400 in the words of its channel, never as a fault of ours',
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
