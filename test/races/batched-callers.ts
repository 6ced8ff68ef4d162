import type { ExecutionContext } from 'ava';
import { requestOf } from './crowd.ts';
import { payOrder, placeOrder } from '../support/orders.ts';
import { bootstrapAdmin, request, startService, type Merchant, type Service } from '../support/service.ts';

/** One request of the matrix; `text` is made anew each time it is sent. */
export interface Ask {
  name: string;
  text: () => string;
}

export const admin = { username: 'alice', password: 'seven-quiet-otters-swim' };
const actor = { kind: 'system', name: 'test' } as const;
const LONG_AGO = 2 * 3600;

/** The rate limits of failed authentications never apply. */
export const env = { PAY_RATE_LIMIT_BAD_CREDENTIALS_PER_MINUTE: '1000000' };

/** Requests of callers of every kind; the clock stands still, so that each request gets the same response every time. */
export async function callersOfEveryKind(t: ExecutionContext): Promise<{ service: Service; asks: Ask[] }> {
  const service = await startService(t, { env });
  const { app, clock, url } = service;
  const { apiApps } = app.identity;
  await bootstrapAdmin(app, admin);
  const early = await service.merchant();
  clock.advance(LONG_AGO);
  const { token: session } = (await request(url, 'POST', '/api/v1/login', admin)).body.data;
  for (const code of ['books', 'games'])
    await request(url, 'POST', '/api/v1/projects', { code, name: code }, { authorization: `Bearer ${session}` });
  const lapsed = await service.merchant();
  const lapsedSecret = (await apiApps.rotateSecret(actor, lapsed.clientId, { graceSeconds: 1 })).secret;
  clock.advance(2);
  clock.stop();

  const shops: Merchant[] = [];
  for (const project of ['default', 'books', 'games']) shops.push(await service.merchant({ project }));
  const orders = await Promise.all(shops.map((shop, at) => ordersOf(service, shop, at)));
  const [one, two, three] = shops as [Merchant, Merchant, Merchant];

  const grace = await service.merchant();
  const graceSecret = (await apiApps.rotateSecret(actor, grace.clientId, { graceSeconds: 3600 })).secret;
  const [narrow, disabled, older, gone, reader, caller, lessened] = await Promise.all([
    service.merchant(),
    service.merchant(),
    service.merchant(),
    service.merchant(),
    service.merchant({ scopes: ['payment:read'] }),
    service.merchant({ scopes: ['skillpay:call'] }),
    service.merchant(),
  ]);
  const revoked = (await tokenRequest(url, one)).body.access_token as string;
  await request(url, 'POST', '/oauth/revoke', { token: revoked });
  await apiApps.update(actor, narrow.clientId, { allowedIps: ['192.0.2.1'] });
  await apiApps.update(actor, lessened.clientId, { scopes: ['payment:read'] });
  await apiApps.toggle(actor, disabled.clientId, false);
  await apiApps.revokeTokens(actor, older.clientId);
  await apiApps.remove(actor, gone.clientId);

  const tokens = {
    one: one.token,
    two: two.token,
    three: three.token,
    grace: grace.token,
    lessened: lessened.token,
    reader: reader.token,
    caller: caller.token,
    expired: early.token,
    revoked,
    older: older.token,
    narrow: narrow.token,
    disabled: disabled.token,
    gone: gone.token,
    lapsed: lapsed.token,
    forged: forged(one.token, two.clientId),
    garbage: 'not.a.token',
    none: undefined,
  };
  const asks: Ask[] = [];
  const add = (name: string, ...words: Parameters<typeof requestOf>) => {
    const text = requestOf(...words);
    asks.push({ name, text: () => text });
  };
  const owned = orders.flat();
  const numbers = [...owned, 'P20260101000000ABCDEFGHJK', 'x', '%00', 'a'.repeat(200)];
  for (const [who, token] of Object.entries(tokens)) {
    const isShop = ['one', 'two', 'three'].includes(who);
    for (const orderNo of isShop ? numbers : [owned[0]!, owned[5]!, ...numbers.slice(-4, -2)])
      add(`${who} queries ${orderNo}`, 'GET', `/api/v2/payment/query/${orderNo}`, { token });
    add(`${who} lists`, 'GET', '/api/v2/payment/orders?limit=2', { token });
    add(`${who} reads its limits`, 'GET', '/api/v2/limits', { token });
    for (const key of ['both', 'only-one'])
      add(`${who} pays again with ${key}`, 'POST', '/api/v2/payment/pay', { token, key, body: payment(0) });
    add(`${who} pays something else`, 'POST', '/api/v2/payment/pay', { token, key: 'both', body: payment(9) });
    const path = `/api/v2/payment/close/${owned[1]!}`;
    if (!['two', 'three'].includes(who))
      add(`${who} closes with a key of another route`, 'POST', path, { token, key: 'both' });
    const refund = { orderNo: 'P20260101000000ABCDEFGHJK', refundAmount: 1 };
    const anew = () =>
      requestOf('POST', '/api/v2/payment/refund', { token, key: `new-${(serial += 1)}`, body: refund });
    asks.push({ name: `${who} refunds with a new key`, text: anew });
  }
  for (const orderNo of owned.slice(0, 4))
    add(`an administrator queries ${orderNo}`, 'GET', `/api/v1/console/payment/query/${orderNo}`, { token: session });
  const secrets: [string, { clientId: string }, string][] = [
    ...[one, two, three, narrow, disabled, gone, reader].map((shop, at) => [`right ${at}`, shop, shop.secret] as never),
    ['wrong', one, two.secret],
    ['of nobody', { clientId: 'nobody' }, one.secret],
    ['previous', grace, grace.secret],
    ['new', grace, graceSecret],
    ['expired', lapsed, lapsed.secret],
    ['after the expired one', lapsed, lapsedSecret],
  ];
  for (const [which, { clientId }, secret] of secrets) {
    const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
    add(`a token for the secret ${which}`, 'POST', '/oauth/token', { body });
    add(`a token with a scope for the secret ${which}`, 'POST', '/oauth/token', {
      body: { ...body, scope: 'payment:write' },
    });
  }
  return { service, asks };
}

let serial = 0;

const payment = (more: number) => ({ subject: 'Tea', amount: 5 + more, payWay: 'alipay' });

function tokenRequest(url: string, { clientId, secret }: Merchant) {
  const body = { grant_type: 'client_credentials', client_id: clientId, client_secret: secret };
  return request(url, 'POST', '/oauth/token', body);
}

/** The orders of a shop: paid, partly refunded, open, closed. Two shops use one key, and the first a second one. */
async function ordersOf(service: Service, shop: Merchant, at: number): Promise<string[]> {
  const keys = at === 0 ? ['both', 'only-one'] : at === 1 ? ['both'] : [];
  for (const key of keys) await placeOrder(shop, payment(0), { 'idempotency-key': key });
  const paid = await payOrder(service, shop, { amount: 10 + at, userId: `payer-${at}`, orderType: `of shop ${at}` });
  const refunded = await payOrder(service, shop, { amount: 20 + at });
  const refund = { orderNo: refunded, refundAmount: 1 + at, merchantRefundNo: `refund-${at}` };
  const open = await placeOrder(shop, { amount: 30 + at });
  const closed = await placeOrder(shop, { amount: 40 + at });
  const answers = [
    await shop.call('POST', '/api/v2/payment/refund', refund),
    await shop.call('GET', `/api/v2/payment/query/${open}`),
    await shop.call('POST', `/api/v2/payment/close/${closed}`),
  ];
  const bad = answers.find(({ status }) => status !== 200);
  if (bad) throw new Error(`${bad.status} ${JSON.stringify(bad.body)}`);
  return [paid, refunded, open, closed];
}

/** The token of one application with the name of another, and the signature of the first. */
function forged(token: string, clientId: string): string {
  const [head, claims = '', signature] = token.split('.');
  const changed = { ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: clientId, client_id: clientId };
  return [head, Buffer.from(JSON.stringify(changed)).toString('base64url'), signature].join('.');
}

/** A response without the date and the request id, and with the claims of an issued token in place of the token. */
export function comparable(answer: string): string {
  return answer
    .replace(/\r\ndate: [^\r]*/i, '')
    .replace(/\r\nx-request-id: [^\r]*/i, '')
    .replace(/"requestId":"[^"]*"/, '')
    .replace(/"access_token":"[^".]*\.([^".]*)\.[^"]*"/, (_all, claims: string) => {
      const { jti: _jti, ...same } = JSON.parse(Buffer.from(claims, 'base64url').toString());
      return JSON.stringify(same);
    });
}

/** A query of an own order. */
export interface OwnQuery {
  orderNo: string;
  clientId: string;
  text: string;
}

/** Applications with open orders, whose queries neither call the channel nor change anything: the clock stands still. */
export async function openOrders(
  t: ExecutionContext,
  { shops: most = 10, orders = 32 } = {},
): Promise<{ service: Service; shops: Merchant[]; queries: OwnQuery[] }> {
  const service = await startService(t, { env });
  service.clock.stop();
  const shops: Merchant[] = [];
  for (let made = 0; made < most; made += 1) shops.push(await service.merchant());
  const queries = await Promise.all(
    Array.from({ length: orders }, async (_, at): Promise<OwnQuery> => {
      const { clientId, token, call } = shops[at % most]!;
      const orderNo = await placeOrder(shops[at % most]!, { amount: 1 + at });
      const path = `/api/v2/payment/query/${orderNo}`;
      if ((await call('GET', path)).status !== 200) throw new Error(`${orderNo} was not found`);
      return { orderNo, clientId, text: requestOf('GET', path, { token }) };
    }),
  );
  return { service, shops, queries };
}
