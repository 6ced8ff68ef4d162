import test from 'ava';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { Method } from 'mppx';
import { Mppx } from 'mppx/client';
import { z } from 'zod/mini';
import { payBill, takeAgents, takeWeixinAgents } from '../../support/agents.ts';
import { assertLedgersMatch, runUntilQuiet } from '../../support/merchant-ledger.ts';
import { giveCoins } from '../../support/coins.ts';
import { count, inParallel } from '../../support/counts.ts';
import { openCutter } from '../../races/cutter.ts';
import { startService, until, type Merchant, type Service } from '../../support/service.ts';
import { addSkill } from '../../support/skillpay.ts';

const env = { PAY_OAUTH_TOKEN_TTL_SECONDS: '86400', PAY_RATE_LIMIT_UNPAID_OFFERS_PER_APP: '1000000' };
const PATH = '/api/v2/skillpay/resource';

/** A client's steps to get one content; `fetch` may lose any response, and the client then starts again as usual. */
type Client = (world: World, key: string) => Promise<unknown>;

interface World {
  service: Service;
  shop: Merchant;
  /** The service behind connections that break. */
  url: string;
  /** The payments that the WeChat agent was given. */
  paid: Set<string>;
}

/** A payer with a wallet at the simulator, who pays an order once under any number of requests. */
async function payOnce({ service, paid }: World, orderNo: string): Promise<void> {
  if (!paid.has(orderNo)) {
    paid.add(orderNo);
    await service.sim('/sim/pay', { orderNo });
  }
  await until(`${orderNo} paid`, async () => {
    const order = await service.app.store.read((tx) => tx.orders.find({ orderNo }));
    return order?.state === 'paid';
  });
}

const headersOf = ({ shop }: World, key: string) => ({
  authorization: `Bearer ${shop.token}`,
  'content-type': 'application/json',
  'idempotency-key': key,
});
const body = (more: object = {}) => JSON.stringify({ resource: 'weather', payWay: 'wechat', ...more });

async function contentOf(answer: Response): Promise<unknown> {
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  return ((await answer.json()) as { data: { content: unknown } }).data.content;
}

const x402: Client = async (world, key) => {
  const client = new x402Client();
  client.register('wechat:simulator', {
    scheme: 'exact',
    async createPaymentPayload(x402Version: number, { extra }: { extra?: Record<string, unknown> }) {
      const outTradeNo = String(extra?.['outTradeNo']);
      await payOnce(world, outTradeNo);
      return { x402Version, payload: { outTradeNo } };
    },
  });
  client.setSpendControls({ allowedAssets: true });
  const pay = wrapFetchWithPayment(fetch, client);
  return contentOf(await pay(world.url + PATH, { method: 'POST', headers: headersOf(world, key), body: body() }));
};

const wechat = Method.from({
  name: 'wechat',
  intent: 'charge',
  schema: {
    request: z.object({ amount: z.string(), currency: z.string(), externalId: z.string() }),
    credential: { payload: z.object({ outTradeNo: z.string() }) },
  },
});

const mpp: Client = async (world, key) => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payer = Method.toClient(wechat, {
    async createCredential({ challenge: { request, ...challenge } }) {
      const outTradeNo = request.externalId;
      await payOnce(world, outTradeNo);
      return `Payment ${encode({ challenge: { ...challenge, request: encode(request) }, payload: { outTradeNo } })}`;
    },
  });
  const client = Mppx.create({ methods: [payer], polyfill: false });
  const answer = await client.fetch(world.url + PATH, { method: 'POST', headers: headersOf(world, key), body: body() });
  return contentOf(answer);
};

/** The steps of plain HTTP: the number of the 402, the payment, the same call with the number. */
const byNumber: Client = async (world, key) => {
  const offer = await fetch(world.url + PATH, { method: 'POST', headers: headersOf(world, key), body: body() });
  if (offer.status === 200) return contentOf(offer);
  const number = offer.headers.get('x-out-trade-no');
  if (offer.status !== 402 || number === null) throw new Error(`${offer.status} ${await offer.text()}`);
  await offer.arrayBuffer();
  await payOnce(world, number);
  const headers = { authorization: `Bearer ${world.shop.token}`, 'x-out-trade-no': number };
  return contentOf(await fetch(world.url + PATH, { method: 'POST', headers }));
};

/** The steps of WeChat's agent: the payment code from body or header, then the payment. */
const weixin: Client = async (world, key) => {
  const offer = await fetch(world.url + PATH, { method: 'POST', headers: headersOf(world, key), body: body() });
  if (offer.status === 200) return contentOf(offer);
  const { WeixinPay, data } = (await offer.json()) as {
    WeixinPay: { 'WeixinPay-Required': string };
    data: { outTradeNo: string };
  };
  const { outTradeNo } = data;
  if (!world.paid.has(outTradeNo)) {
    world.paid.add(outTradeNo);
    await world.service.sim('/sim/agent/pay', { paymentCode: WeixinPay['WeixinPay-Required'] });
  }
  await payOnce(world, outTradeNo);
  const headers = { authorization: `Bearer ${world.shop.token}`, 'x-out-trade-no': outTradeNo };
  return contentOf(await fetch(world.url + PATH, { method: 'POST', headers }));
};

/** The steps of Alipay's agent: the bill from the 402, the payment at Alipay, the same call with the proof. */
const alipay: Client = async (world, key) => {
  const headers = headersOf(world, key);
  const asked = body({ payWay: 'alipay' });
  const offer = await fetch(world.url + PATH, { method: 'POST', headers, body: asked });
  if (offer.status === 200) return contentOf(offer);
  await offer.arrayBuffer();
  const proof = await payBill(world.service, offer);
  return contentOf(
    await fetch(world.url + PATH, { method: 'POST', headers: { ...headers, 'payment-proof': proof }, body: asked }),
  );
};

const coins: Client = async (world, key) => {
  const headers = headersOf(world, key);
  const asked = body({ resource: 'tides', userId: 'u1' });
  return contentOf(await fetch(world.url + PATH, { method: 'POST', headers, body: asked }));
};

const CLIENTS = { x402, mpp, byNumber, weixin, alipay, coins } satisfies Record<string, Client>;

test.serial('lost responses to every kind of client cause no double payment and lose no content', async (t) => {
  const service = await startService(t, { env });
  const shop = await service.merchant();
  await addSkill(service);
  await addSkill(service, { code: 'tides', coinPrice: { code: 'bean', amount: 1 } });
  await takeWeixinAgents(service, await takeAgents(service));
  const calls = count(10_000, 120);
  await giveCoins(service, 'bean', 'u1', calls);
  let salt = 11;
  const random = () => (salt = (salt * 1103515245 + 12345) % 2 ** 31) / 2 ** 31;
  const cutter = await openCutter(t, service.url, () => (random() < 0.5 ? Math.floor(random() * 4500) : undefined));
  const world: World = { service, shop, url: cutter.url, paid: new Set() };
  const names = Object.keys(CLIENTS) as (keyof typeof CLIENTS)[];
  await inParallel(calls, 6, async (index) => {
    const name = names[index % names.length]!;
    let lost = '';
    const content = await until(`content for ${name} (${lost})`, async () => {
      try {
        return await CLIENTS[name](world, `call-${index}`);
      } catch (error) {
        lost = String(error);
        return undefined;
      }
    });
    t.deepEqual(content, { sky: 'blue' }, name);
  });
  const withMoney = names.length - 1;
  const expected = Array.from({ length: calls }, (_, index) => index % names.length).filter(
    (at) => at < withMoney,
  ).length;
  const [paid, done, coinCalls, account] = await service.app.store.read(async (tx) => [
    await tx.orders.count({ state: 'paid' }),
    await tx.skillOrders.count({ fulfilment: 'done' }),
    await tx.coinCalls.count({}),
    await tx.coinAccounts.find({ coin: 'bean', userId: 'u1' }),
  ]);
  t.deepEqual([paid, done, coinCalls], [expected, expected, calls - expected]);
  t.is(account?.balance, BigInt(expected));
  await runUntilQuiet(service, 60);
  await assertLedgersMatch(t, service);
  t.true(cutter.cuts() > calls / 4);
  t.log(`${calls} calls of ${names.join(', ')}: ${cutter.cuts()} lost answers, 0 second charges, 0 contents lost`);
});
