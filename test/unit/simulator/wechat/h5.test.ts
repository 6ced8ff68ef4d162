import test from 'ava';
import type { PlaceOrder } from '../../../../server/payments/channel.ts';
import type { SimulatedChannelConfig } from '../../../../server/simulator/channel-simulator.ts';
import type { World } from '../world.ts';
import { call, channelOf, configOf, nativeOrder, newNo, startWechat } from './merchant.ts';

let world: World;
let config: SimulatedChannelConfig;
test.before(async () => {
  world = await startWechat();
  config = await configOf(world);
});
test.after.always(() => world.close());

const SCENE = { scene_info: { payer_client_ip: '192.0.2.7', h5_info: { type: 'Wap' } } };
const minutes = (count: number) => world.post('/sim/clock', { advanceSeconds: count * 60 });

/** Creates the same order at each call and returns the URL that opens WeChat. */
async function orderOf(from = config, changes: object = {}): Promise<() => Promise<string>> {
  const { now } = await world.get<{ now: string }>('/sim/clock');
  const expire = `${new Date(Date.parse(now) + 8 * 3_600_000 + 7_200_000).toISOString().slice(0, 19)}+08:00`;
  const body = nativeOrder(from, { time_expire: expire, ...SCENE, ...changes });
  return async () => {
    const answer = await call(world, from, 'POST', '/v3/pay/transactions/h5', body);
    return (JSON.parse(answer.body) as { h5_url: string }).h5_url;
  };
}

/** Follows a link with this referer; returns the payment page URL or the refusal text. */
async function open(url: string, referer?: string): Promise<string> {
  const answer = await fetch(url, { redirect: 'manual', headers: referer === undefined ? {} : { referer } });
  return answer.headers.get('location') ?? /<p>(.*?)<\/p>/.exec(await answer.text())?.[1] ?? String(answer.status);
}

const LET_IN = /\/pay\/wechat\//;
const FROM_NOWHERE = /商家参数格式有误/;
const NOT_REGISTERED = /商家存在未配置的参数/;
const TOO_OLD = /支付请求已失效/;

test.serial('a payer from a registered domain is accepted', async (t) => {
  const url = await (await orderOf())();
  t.regex(await open(url, 'http://localhost:8080/'), LET_IN);
  t.regex(await open(url, 'http://127.0.0.1:8080/pay/P1'), LET_IN);
});

test.serial('a payer without a referer or from an unregistered domain is refused', async (t) => {
  const url = await (await orderOf())();
  t.regex(await open(url), FROM_NOWHERE);
  t.regex(await open(url, 'https://shop.example/'), NOT_REGISTERED);
  t.regex(await open(url, 'no address'), NOT_REGISTERED);
});

test.serial('the return URL needs a registered domain too', async (t) => {
  const url = await (await orderOf())();
  const back = (to: string) => `${url}&redirect_url=${encodeURIComponent(to)}`;
  t.regex(await open(back('http://localhost:8080/return/wechat/P1'), 'http://localhost:8080/'), LET_IN);
  t.regex(await open(back('https://shop.example/done'), 'http://localhost:8080/'), NOT_REGISTERED);
});

test.serial('the domains of an account can be set, and include their subdomains', async (t) => {
  const own = await configOf(world, 'h5-domains');
  const rotate = { payWay: 'wechat', account: 'h5-domains', what: 'h5-domains', to: 'shop.example,pay.example' };
  t.deepEqual((await world.post<Record<string, SimulatedChannelConfig>>('/sim/rotate', rotate)).wechat, own);
  const url = await (await orderOf(own))();
  t.regex(await open(url, 'https://pay.example/'), LET_IN);
  t.regex(await open(url, 'https://m.shop.example/cart'), LET_IN);
  t.regex(await open(url, 'https://myshop.example/'), NOT_REGISTERED);
  t.regex(await open(url, 'http://localhost/'), NOT_REGISTERED);
});

test.serial('an H5 URL expires after five minutes, and the same create returns a new one', async (t) => {
  const create = await orderOf();
  const first = await create();
  await minutes(4.9);
  t.regex(await open(first, 'http://localhost/'), LET_IN);
  await minutes(0.2);
  t.regex(await open(first, 'http://localhost/'), TOO_OLD);
  const second = await create();
  t.not(second, first);
  t.regex(await open(second, 'http://localhost/'), LET_IN);
  t.regex(await open(`${first.split('?')[0]}?prepay_id=wx1&package=1`, 'http://localhost/'), TOO_OLD);
});

test.serial('the same create is accepted until the order expires', async (t) => {
  const create = await orderOf();
  await create();
  await minutes(119.5);
  t.is(typeof (await create()), 'string');
  await minutes(1);
  t.is(await create(), undefined as never);
});

test.serial('the adapter reports the validity of its URL and gets a new one with the same order', async (t) => {
  const channel = channelOf(world, config);
  const order: PlaceOrder = {
    orderNo: newNo(),
    subject: 'A cup of tea',
    amount: { minor: 1234n, currency: 'CNY' },
    scene: 'h5',
    expiresAt: new Date(Date.parse((await world.get<{ now: string }>('/sim/clock')).now) + 7_200_000),
    sentAt: new Date(),
    notifyUrl: 'http://127.0.0.1:9/notify',
    returnUrl: 'http://localhost:8080/return/wechat/P1',
    cancelUrl: '',
    clientIp: '192.0.2.7',
    openId: null,
    payCode: null,
    options: {},
  };
  const urls: string[] = [];
  for (let round = 0; round < 2; round += 1) {
    const outcome = await channel.place(order);
    if (outcome.kind !== 'pending') return t.fail(JSON.stringify(outcome));
    t.is(outcome.paySeconds, 240);
    urls.push(outcome.pay?.url ?? '');
    await minutes(6);
  }
  t.not(urls[0], urls[1]);
  t.is((await world.ledger(order.orderNo)).orders[0]?.created, 1);
});
