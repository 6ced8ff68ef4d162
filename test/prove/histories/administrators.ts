import type { Chance } from '../chance.ts';
import type { Client, Heard } from './clients.ts';
import type { Facts } from './event.ts';
import { hot, type Market, orderFacts } from './market.ts';

const OPERATIONS = { sync: 6, 'sync-refund': 4, retry: 3, revoke: 0.6 } as const;

/** An administrator with access to every order. */
export interface Administrator {
  /** Performs one random action. */
  act(): Promise<void>;
  /** Queries the channel about an order and its refunds. */
  sync(orderNo: string): Promise<Heard>;
  syncRefund(refundNo: string): Promise<Heard>;
  /** The service's response about an order. */
  query(orderNo: string): Promise<Heard>;
}

/** An administrator who calls random replicas. */
export function administrator(market: Market, client: Client, chance: Chance): Administrator {
  const shopOf = new Map(market.shops.map(({ clientId, name }) => [clientId, name]));
  const ask = (f: string, asked: Facts, method: string, path: string, read: Parameters<Client['ask']>[3]) => {
    const headers = { authorization: `Bearer ${market.adminToken}` };
    return client.ask(f, asked, { url: chance.pick(market.urls), method, path, headers }, read);
  };
  const withShop: typeof orderFacts = (answer) => ({ ...orderFacts(answer), shop: shopOf.get(answer.data.clientId) });
  const sync = (orderNo: string) => ask('sync', { orderNo }, 'POST', `/api/v1/orders/${orderNo}/sync`, withShop);
  const refund = (f: string) => (refundNo: string) =>
    ask(f, { refundNo }, 'POST', `/api/v1/refunds/${refundNo}/${f === 'retry' ? f : 'sync'}`, ({ data }) => ({
      orderNo: data.orderNo,
      refundStatus: data.status,
    }));
  const syncRefund = refund('sync-refund');
  const retry = refund('retry');
  const actions = {
    async sync() {
      const order = hot(chance, chance.pick(market.shops).orders);
      if (order) await sync(order.orderNo);
    },
    async 'sync-refund'() {
      const refundNo = hot(chance, market.refundNos);
      if (refundNo) await syncRefund(refundNo);
    },
    async retry() {
      const refundNo = hot(chance, market.refundNos);
      if (refundNo) await retry(refundNo);
    },
    async revoke() {
      const shop = chance.pick(market.shops);
      const tokens = shop.tokens;
      shop.tokens = [];
      const asked = { shop: shop.name, tokens: tokens.map(({ name }) => name) };
      const path = `/api/v1/api-apps/${shop.clientId}/revoke-tokens`;
      const { end } = await ask('revoke-token', asked, 'POST', path, () => ({}));
      if (end === 'ok') shop.revoked.push(...tokens);
    },
  };
  return {
    act: () => actions[chance.weighted(OPERATIONS)](),
    sync,
    syncRefund,
    query: (orderNo) => ask('query', { orderNo }, 'GET', `/api/v1/console/payment/query/${orderNo}`, withShop),
  };
}
