import { request } from 'node:http';
import test from 'ava';
import { startWorld, type World } from './world.ts';
import { clientFor } from './alipay/client.ts';
import { call, nativeOrder, type Raw } from './wechat/merchant.ts';

const own = { host: '127.0.0.1', port: 0 };
let world: World;
test.before(async () => {
  world = await startWorld({ roots: { alipay: own, wechat: own, paypal: own } });
});
test.after.always(() => world?.close());

/** Sends a request with the paths and Host of a client with a fixed host. */
function ask(url: string, how: { host?: string; method?: string; headers?: object; body?: string } = {}): Promise<Raw> {
  const { host, method = 'GET', body = '' } = how;
  return new Promise((resolve, reject) => {
    const headers = { ...how.headers, ...(host === undefined ? {} : { host }) };
    const sent = request(url, { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, names: [], body: text, code: '' });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const rootOf = (payWay: string) => world.simulator.roots[payWay as 'wechat'] ?? '';

// The hosts of wechatpay-java@1dab7be (core/http/Constant.java, HostName.java) and of the vendor's pages (api2).
for (const host of [
  'api.mch.weixin.qq.com',
  'api2.mch.weixin.qq.com',
  'api.wechatpay.cn',
  'API.mch.weixin.qq.com:443',
]) {
  test(`a request signed for /v3/… of ${host} is served under that Host`, async (t) => {
    const { wechat } = await world.config();
    const order = nativeOrder(wechat!);
    const created = await call(world, wechat!, 'POST', '/v3/pay/transactions/native', order, {
      root: world.url,
      headers: { host },
    });
    t.is(created.status, 200, created.body);
    t.truthy(created.headers['wechatpay-signature']);
    t.truthy(created.headers['request-id']);
    const path = `/v3/pay/transactions/out-trade-no/${String(order['out_trade_no'])}?mchid=${wechat!.fields['mchid']}`;
    const found = await call(world, wechat!, 'GET', path, undefined, { root: world.url, headers: { host } });
    t.is((JSON.parse(found.body) as { trade_state: string }).trade_state, 'NOTPAY');
  });
}

test('WeChat Pay is at the root of its own address under any Host', async (t) => {
  const { wechat } = await world.config();
  const body = nativeOrder(wechat!);
  const created = await call(world, wechat!, 'POST', '/v3/pay/transactions/native', body, { root: rootOf('wechat') });
  t.is(created.status, 200, created.body);
  t.truthy(created.headers['wechatpay-signature']);
  t.is((await call(world, wechat!, 'POST', '/v3/pay/transactions/native', body, { root: world.url })).status, 404);
});

for (const host of ['openapi.alipay.com', 'openapi-sandbox.dl.alipaydev.com', 'openapi.alipaydev.com', undefined]) {
  test(`Alipay's gateway is at the root ${host === undefined ? 'of its own address' : `under the Host ${host}`}`, async (t) => {
    const client = await clientFor(world);
    const query = new URLSearchParams(await client.sign('alipay.trade.query', { out_trade_no: 'ROOT' }));
    const root = host === undefined ? rootOf('alipay') : world.url;
    const { body } = await ask(`${root}/gateway.do?${query}`, { host: host ?? 'anything.example' });
    t.regex(body, /ACQ\.TRADE_NOT_EXIST.*"sign":"/);
  });
}

for (const host of [
  'api-m.paypal.com',
  'api-m.sandbox.paypal.com',
  'api.paypal.com',
  'api.sandbox.paypal.com',
  undefined,
]) {
  test(`PayPal's API is at the root ${host === undefined ? 'of its own address' : `under the Host ${host}`}`, async (t) => {
    const { fields } = (await world.config())['paypal']!;
    const basic = Buffer.from(`${fields['clientId']}:${fields['clientSecret']}`).toString('base64');
    const { status, body, headers } = await ask(
      `${host === undefined ? rootOf('paypal') : world.url}/v1/oauth2/token`,
      {
        host: host ?? 'anything.example',
        method: 'POST',
        headers: { authorization: `Basic ${basic}`, 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials',
      },
    );
    t.is(status, 200);
    t.truthy((JSON.parse(body) as { access_token?: string }).access_token);
    t.truthy(headers['paypal-debug-id']);
  });
}

// wechatpayv3 for Python and wechatpay-node-v3 strip their known host from the bill URL and sign the rest.
test('a bill URL is at the root if the bill was requested there', async (t) => {
  const { wechat } = await world.config();
  const order = nativeOrder(wechat!);
  await call(world, wechat!, 'POST', '/v3/pay/transactions/native', order);
  await world.post('/sim/pay', { payWay: 'wechat', orderNo: order['out_trade_no'] });
  const day = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 10);
  const host = 'api.mch.weixin.qq.com';
  for (const [how, base] of [
    [{ root: world.url, headers: { host } }, `https://${host}`],
    [{ root: rootOf('wechat') }, rootOf('wechat')],
    [{}, `${world.url}/wechat`],
  ] as const) {
    const asked = await call(world, wechat!, 'GET', `/v3/bill/tradebill?bill_date=${day}`, undefined, how);
    const { download_url: url } = JSON.parse(asked.body) as { download_url: string };
    t.true(url.startsWith(`${base}/v3/billdownload/file?token=`), url);
    const file = await call(world, wechat!, 'GET', url.slice(base.length), undefined, how);
    t.is(file.status, 200);
    t.true(file.body.includes(String(order['out_trade_no'])));
  }
});

test('under a channel Host only the channel is served, without the control API and pages', async (t) => {
  for (const path of ['/sim/config', '/', '/wechat/v3/certificates']) {
    for (const host of ['api.mch.weixin.qq.com', 'openapi.alipay.com', 'api-m.paypal.com'])
      t.is((await ask(`${world.url}${path}`, { host })).status, 404, `${host}${path}`);
    t.is((await ask(`${rootOf('wechat')}${path}`)).status, 404, path);
  }
  t.is((await ask(`${world.url}/sim/config`)).status, 200);
});

test('every own address is free again after the simulator ended or failed to start', async (t) => {
  const first = await startWorld({ roots: { wechat: own } });
  const port = Number(new URL(first.simulator.roots.wechat!).port);
  const taken = { host: '127.0.0.1', port };
  const dir = first.dir;
  await t.throwsAsync(startWorld({ roots: { paypal: own, wechat: taken } }), { code: 'EADDRINUSE' });
  await first.close();
  const again = await startWorld({ dir, roots: { wechat: taken } });
  t.is(again.simulator.roots.wechat, `http://127.0.0.1:${port}`);
  await again.close();
});
