import type { Chance } from '../chance.ts';
import type { Client, Sent } from './clients.ts';
import type { Facts } from './event.ts';
import { hot, type Market, orderFacts, type PayWay, type Repeatable, type Shop, type Token } from './market.ts';

const WAYS: Readonly<Record<PayWay, number>> = { alipay: 4, wechat: 4, paypal: 3 };

const placedRefund: Parameters<Client['ask']>[3] = ({ data }) => ({
  refundNo: data.refundNo,
  refundStatus: data.status,
});

const OPERATIONS = {
  place: 18,
  'place-again': 8,
  query: 34,
  close: 6,
  refund: 16,
  'refund-again': 7,
  capture: 5,
  revoke: 0.6,
  thief: 5,
} as const;

/** Creates a merchant that performs random actions one after the other. */
export function merchant(market: Market, shop: Shop, client: Client, chance: Chance): () => Promise<void> {
  const to = (token: Token, method: string, path: string, more: Partial<Sent> = {}): Sent => ({
    url: chance.pick(market.urls),
    method,
    path,
    ...more,
    headers: { authorization: `Bearer ${token.text}`, ...more.headers },
  });

  /** Calls with a token, which is dropped when it is refused. */
  const ask = async (f: string, asked: Facts, sent: Sent, read: Parameters<Client['ask']>[3], by: Token) => {
    const heard = await client.ask(f, { shop: shop.name, token: by.name, ...asked }, sent, read);
    if (heard.facts['http'] === 401) shop.tokens = shop.tokens.filter((one) => one !== by);
    return heard;
  };

  const token = async (): Promise<Token | undefined> => {
    const known = shop.tokens.at(-1);
    if (known) return known;
    const body = { grant_type: 'client_credentials', client_id: shop.clientId, client_secret: shop.secret };
    const name = market.name('t');
    let text = '';
    const sent = { url: chance.pick(market.urls), method: 'POST', path: '/oauth/token', body };
    const { end } = await client.ask('issue-token', { shop: shop.name, issued: name }, sent, (answer) => {
      text = answer.access_token;
      return {};
    });
    if (end !== 'ok') return undefined;
    const made = { name, text };
    shop.tokens.push(made);
    return made;
  };

  const send = async (f: 'place' | 'refund', request: Repeatable, by: Token): Promise<void> => {
    const { path, body, key, amount, payWay } = request;
    const { merchantOrderNo, merchantRefundNo } = body;
    const own = {
      ...(key && { key }),
      ...(merchantOrderNo && { merchantOrderNo }),
      ...(merchantRefundNo && { merchantRefundNo }),
    };
    const about = f === 'place' ? { payWay } : { orderNo: body['orderNo'] };
    const asked = { amount, ...about, ...own };
    const sent = to(by, 'POST', path, { body, ...(key && { headers: { 'idempotency-key': key } }) });
    if (f === 'place') {
      const { end, facts } = await ask(f, asked, sent, orderFacts, by);
      const orderNo = facts['orderNo'] as string | undefined;
      if (end !== 'fail' && orderNo && !shop.orders.some((one) => one.orderNo === orderNo))
        shop.orders.push({ orderNo, shop, payWay: payWay!, amount });
    } else {
      const { facts } = await ask(f, asked, sent, placedRefund, by);
      if (facts['refundNo']) market.refundNos.push(facts['refundNo'] as string);
    }
  };

  /** An Idempotency-Key, a number of the merchant's own, both or nothing. */
  const identify = (body: Record<string, string | number>, name: string): { key?: string } => {
    if (chance.happens(0.5)) body[name] = market.name(name === 'merchantOrderNo' ? 'M' : 'F');
    return chance.happens(0.5) ? { key: market.name('k') } : {};
  };

  const actions = {
    async place(by: Token) {
      const payWay = chance.weighted(WAYS);
      const amount = chance.whole(100, 9_000);
      const body: Repeatable['body'] = { subject: 'Witnessed', amount: amount / 100, payWay };
      if (chance.happens(0.1)) body['expireSeconds'] = 60;
      const request = { path: '/api/v2/payment/pay', body, amount, payWay, ...identify(body, 'merchantOrderNo') };
      if (request.key || body['merchantOrderNo']) shop.places.push(request);
      await send('place', request, by);
    },
    async 'place-again'(by: Token) {
      const request = hot(chance, shop.places);
      if (request) await send('place', request, by);
    },
    async query(by: Token) {
      const order = hot(chance, shop.orders);
      if (order) await act('query', order.orderNo, by);
    },
    async close(by: Token) {
      const order = hot(chance, shop.orders);
      if (order) await act('close', order.orderNo, by);
    },
    async capture(by: Token) {
      const order = hot(
        chance,
        shop.orders.slice(-40).filter(({ payWay }) => payWay === 'paypal'),
      );
      if (order) await act('capture', order.orderNo, by);
    },
    async refund(by: Token) {
      const order = hot(chance, shop.orders);
      if (!order) return;
      const amount = chance.happens(0.2) ? order.amount : chance.whole(1, Math.ceil(order.amount * 0.6));
      const body: Repeatable['body'] = { orderNo: order.orderNo, refundAmount: amount / 100 };
      const request = { path: '/api/v2/payment/refund', body, amount, ...identify(body, 'merchantRefundNo') };
      if (request.key || body['merchantRefundNo']) shop.refunds.push(request);
      await send('refund', request, by);
    },
    async 'refund-again'(by: Token) {
      const request = hot(chance, shop.refunds);
      if (request) await send('refund', request, by);
    },
    async revoke(by: Token) {
      shop.tokens = shop.tokens.filter((one) => one !== by);
      const sent = { url: chance.pick(market.urls), method: 'POST', path: '/oauth/revoke', body: { token: by.text } };
      const { end } = await client.ask('revoke-token', { shop: shop.name, tokens: [by.name] }, sent, () => ({}));
      if (end === 'ok') shop.revoked.push(by);
    },
    /** Tries a revoked token at any replica. */
    async thief() {
      const [order, stolen] = [hot(chance, shop.orders), hot(chance, shop.revoked)];
      if (order && stolen) await act(chance.pick(['query', 'close'] as const), order.orderNo, stolen);
    },
  };

  async function act(f: 'query' | 'close' | 'capture', orderNo: string, by: Token): Promise<void> {
    const sent = to(by, f === 'query' ? 'GET' : 'POST', `/api/v2/payment/${f}/${orderNo}`);
    await ask(f, { orderNo }, sent, orderFacts, by);
  }

  return async () => {
    const by = await token();
    if (by) await actions[chance.weighted(OPERATIONS)](by);
  };
}
