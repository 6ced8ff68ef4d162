import type { Core } from './half.ts';
import type { Trade } from './trade.ts';

/** The payer pays; a second payment of a paid order changes nothing: the caller wanted it paid, and it is. */
export function payOnce(core: Core, trade: Trade): void {
  if (trade.state !== 'paid' && trade.state !== 'approved') core.half(trade.payWay).pay(core, trade);
}

/** The payer refuses. */
export function decline(core: Core, trade: Trade): void {
  core.half(trade.payWay).decline(core, trade);
}
