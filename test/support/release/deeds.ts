import { until } from '../service.ts';
import { applicationAt, logInAt, type OldAnswer, type Send } from './client.ts';

/** What is known of the fixture, beside what is in its database. */
export interface Facts {
  /** When it was made: services and simulators of tests go back to this moment. */
  madeAt: string;
  /** Where the service of the fixture listened. */
  url: string;
  admin: { username: string; password: string };
  shop: { clientId: string; secret: string };
  /** What the service said of each order last, by what became of it. */
  orders: Record<string, { orderNo: string; payWay: string; status: string; amountMinor: number }>;
  /** Refunds by what became of them. */
  refunds: Record<string, { refundNo: string; orderNo: string; status: string }>;
  /** Pay-per-call orders by what became of them. */
  skills: Record<string, string>;
  /** A request that was made with an Idempotency-Key, and its answer. */
  kept: { key: string; request: object; answer: OldAnswer['body'] };
  /** Rows of the audit log and of the event log. */
  auditLines: number;
  events: number;
  /** Open exceptions. */
  exceptions: string[];
}

/** The administrator of the fixture. */
export const ADMIN = { username: 'alice', password: 'seven-quiet-otters-swim' };
const WAYS = ['alipay', 'wechat', 'paypal'] as const;

/** Does at a service, through its API, whatever leaves rows of every kind; `sim` speaks to its simulator. */
export async function liveThere(
  url: string,
  hookUrl: string,
  sim: (path: string, body?: unknown) => Promise<unknown>,
): Promise<Omit<Facts, 'madeAt' | 'url'>> {
  const admin = await logInAt(url, ADMIN);
  const { shop, credentials } = await openShop(admin, url, hookUrl);
  const orders: Facts['orders'] = {};
  const note = async (name: string, orderNo: string) => {
    const { body } = await admin('GET', `/api/v1/orders/${orderNo}`);
    const { payWay, status, amountMinor } = body.data;
    orders[name] = { orderNo, payWay, status, amountMinor };
  };
  const place = async (payWay: string, more: object = {}): Promise<string> => {
    const { body } = await shop('POST', '/api/v2/payment/pay', {
      subject: 'Two coffees',
      amount: 12.5,
      payWay,
      ...more,
    });
    return body.data?.orderNo ?? body.orderNo;
  };
  const pay = async (orderNo: string): Promise<string> => {
    await sim('/sim/pay', { orderNo });
    await until(
      `${orderNo} is paid`,
      async () => (await shop('GET', `/api/v2/payment/query/${orderNo}`)).body.data.status === 'paid',
    );
    return orderNo;
  };
  const names = new Map<string, string>();
  for (const payWay of WAYS) {
    names.set(`pending ${payWay}`, await place(payWay));
    names.set(`paid ${payWay}`, await pay(await place(payWay)));
  }
  await sim('/sim/faults', { payWay: 'wechat', call: 'create', fault: 'commit-then-timeout', delayMs: 100 });
  names.set('created', await place('wechat'));
  names.set('failed', await place('wechat', { amount: 0.02 }));
  for (const [name, payWay] of [
    ['closing', 'alipay'],
    ['closed', 'wechat'],
  ] as const) {
    names.set(name, await place(payWay));
    await shop('POST', `/api/v2/payment/close/${names.get(name)}`);
  }
  const refunds = await refundThere({ shop, sim, place, pay }, names);
  names.set('paid twice', await pay(await place('wechat')));
  await sim('/sim/pay', { orderNo: names.get('paid twice'), again: true });
  names.set('refunded elsewhere', await pay(await place('alipay')));
  await sim('/sim/refund-elsewhere', { orderNo: names.get('refunded elsewhere'), amount: 1 });
  await shop('GET', `/api/v2/payment/query/${names.get('refunded elsewhere')}`);
  const skills = await callSkillsThere(shop, sim);
  names.set('coins', await buyCoins(admin, shop, pay));
  const request = { subject: 'Once', amount: 1, payWay: 'wechat', merchantOrderNo: 'once' };
  const kept = await shop('POST', '/api/v2/payment/pay', request, { 'idempotency-key': 'order-1' });
  await admin('POST', '/api/v1/projects', { code: 'branch', name: 'Branch' });
  await until(
    'events are told',
    async () =>
      (await admin('GET', `/api/v1/api-apps/${credentials.clientId}/webhook/deliveries?state=delivered`)).body.data
        ?.length > 5,
  );
  for (const [name, orderNo] of names) await note(name, orderNo);
  const count = async (path: string) => (await admin('GET', path)).body.data as { kind?: string }[];
  const exceptions = (await count('/api/v1/exceptions?state=open&limit=100')).map(({ kind }) => kind ?? '').toSorted();
  return {
    admin: ADMIN,
    shop: credentials,
    orders,
    refunds,
    skills,
    kept: { key: 'order-1', request, answer: kept.body },
    auditLines: (await count('/api/v1/audit-log?limit=200')).length,
    events: (await count('/api/v1/events?limit=200')).length,
    exceptions,
  };
}

async function openShop(admin: Send, url: string, hookUrl: string) {
  const scopes = [
    'payment:write',
    'payment:read',
    'skillpay:call',
    'user:write',
    'user:read',
    'coin:write',
    'coin:read',
  ];
  const { body } = await admin('POST', '/api/v1/api-apps', { name: 'shop', scopes });
  if (!body.data) throw new Error(`the application: ${JSON.stringify(body)}`);
  const { client_id: clientId, client_secret: secret } = body.data;
  await admin('PUT', `/api/v1/api-apps/${clientId}/webhook`, { url: hookUrl });
  await admin('POST', `/api/v1/api-apps/${clientId}/webhook/rotate-secret`);
  return { shop: await applicationAt(url, clientId, secret), credentials: { clientId, secret } };
}

interface Hands {
  shop: Send;
  sim: (path: string, body?: unknown) => Promise<unknown>;
  place(payWay: string, more?: object): Promise<string>;
  pay(orderNo: string): Promise<string>;
}

/** Refunds that are done, in part and whole, under way, refused and impossible. */
async function refundThere({ shop, sim, place, pay }: Hands, names: Map<string, string>): Promise<Facts['refunds']> {
  const made: Facts['refunds'] = {};
  const refund = async (name: string, payWay: string, amount: number, { price = 12.5, fault = '' } = {}) => {
    const orderNo = await pay(await place(payWay, { amount: price }));
    if (fault) await sim('/sim/faults', { payWay, call: 'refund', fault });
    const answer = await shop('POST', '/api/v2/payment/refund', { orderNo, refundAmount: amount, reason: 'Cold' });
    const refundNo = answer.body.data?.refundNo ?? answer.body.refundNo;
    names.set(name, orderNo);
    made[name] = { refundNo, orderNo, status: answer.body.data?.status ?? `refused ${answer.body.code}` };
  };
  await refund('partially refunded', 'wechat', 2.5);
  await refund('refunded', 'alipay', 12.5);
  await refund('refund under way', 'wechat', 2, { fault: 'pending-refund' });
  await refund('refund abnormal', 'wechat', 3, { fault: 'abnormal-refund' });
  await refund('refund failed', 'alipay', 0.05, { price: 0.05 });
  await refund('refunded by paypal', 'paypal', 4);
  for (const one of Object.values(made)) {
    const { body } = await shop('GET', `/api/v2/payment/refunds/${one.refundNo}`);
    one.status = body.data?.status ?? one.status;
  }
  return made;
}

/** Calls that were offered, paid, answered and given back. */
async function callSkillsThere(shop: Send, sim: Hands['sim']): Promise<Facts['skills']> {
  const offer = async (): Promise<string> =>
    (await shop('POST', '/api/v2/skillpay/resource', { resource: 'demo' })).body.data.outTradeNo;
  const paid = async (): Promise<string> => {
    const outTradeNo = await offer();
    await sim('/sim/pay', { orderNo: outTradeNo });
    await until(
      'the call is paid',
      async () => (await shop('GET', `/api/v2/skillpay/query/${outTradeNo}`)).body.data.status === 'paid',
    );
    return outTradeNo;
  };
  const redeem = (outTradeNo: string) =>
    shop('POST', '/api/v2/skillpay/resource', { resource: 'demo' }, { 'x-out-trade-no': outTradeNo });
  const skills = { offered: await offer(), paid: await paid(), answered: await paid(), returned: await paid() };
  await redeem(skills.answered);
  await redeem(skills.returned);
  await shop('POST', '/api/v2/skillpay/refund', { outTradeNo: skills.returned });
  return skills;
}

/** A payer who buys coins and spends some. */
async function buyCoins(admin: Send, shop: Send, pay: Hands['pay']): Promise<string> {
  await admin('POST', '/api/v1/coins', { code: 'gold', name: 'Gold' });
  const product = {
    code: 'gold-100',
    name: '100 gold',
    kind: 'coin_package',
    price: 9.9,
    currency: 'CNY',
    payWays: ['wechat'],
    coin: { code: 'gold', amount: 100, bonus: 10 },
  };
  await admin('POST', '/api/v1/products', product);
  await shop('POST', '/api/v2/users', { userId: 'mei', nickname: 'Mei' });
  const { body } = await shop('POST', '/api/v2/payment/pay', {
    subject: '100 gold',
    payWay: 'wechat',
    userId: 'mei',
    product: 'gold-100',
  });
  if (!body.data) throw new Error(`the coins: ${JSON.stringify(body)}`);
  const orderNo = await pay(body.data.orderNo);
  await until(
    'the coins are there',
    async () => (await shop('GET', '/api/v2/coins/gold/balance?userId=mei')).body.data?.available > 0,
  );
  await shop('POST', '/api/v2/coins/gold/debit', { userId: 'mei', amount: 7, bizNo: 'spent-1' });
  return orderNo;
}
