import type { Chance } from '../chance.ts';
import type { Client } from './clients.ts';
import { hot, type Market } from './market.ts';

/** A payer who occasionally pays one of the newest orders, rarely one that was closed in the meantime. */
export function payer(market: Market, client: Client, chance: Chance): () => Promise<void> {
  return async () => {
    const order = hot(chance, chance.pick(market.shops).orders);
    if (!order) return;
    const { orderNo } = order;
    const asked = { orderNo, ...(chance.happens(0.04) && order.payWay !== 'paypal' && { force: true }) };
    const sent = { url: market.simulatorUrl, method: 'POST', path: '/sim/pay', body: asked };
    await client.ask('pay', asked, sent, () => ({}));
  };
}
