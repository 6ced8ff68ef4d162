import type { Chance } from '../chance.ts';
import type { Client } from './clients.ts';
import { hot, type Market } from './market.ts';

/** A payer who pays one of the newest orders now and then; seldom one that was closed meanwhile, whose money was on its way. */
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
