import type { Core } from './half.ts';
import { SimulatorRefusal } from './refusal.ts';
import type { Trade } from './trade.ts';

/** The payer pays; a second payment of a paid order changes nothing: the caller wanted it paid, and it is. */
export function payOnce(core: Core, trade: Trade): void {
  if (trade.state !== 'paid' && trade.state !== 'approved') core.half(trade.payWay).pay(core, trade);
}

/**
 * One more trade under the number of this one, open, as when an order was made twice at the channel; PayPal has another order of
 * its own for it, with the same numbers of the merchant. Throws SimulatorRefusal where a channel has one trade only.
 */
export function anotherOf(core: Core, trade: Trade): Trade {
  const { payWay, account, orderNo, scene, subject, minor, currency, notifyUrl, returnUrl, cancelUrl } = trade;
  const names = { payWay, account, orderNo, scene, subject, minor, currency, notifyUrl, returnUrl, cancelUrl };
  const half = core.half(payWay);
  const details = half.detailsOfAnother?.(core, trade);
  const own = half.twinOf?.(core, trade) ?? (details && { details });
  if (!own) throw new SimulatorRefusal(400, 'one_trade_only', 'This channel has one trade for each number.');
  return core.trades.create({ ...names, ...own, state: 'open' });
}

/** The payer pays that one, too, and the channel has the money. */
export function payAgain(core: Core, trade: Trade): void {
  const half = core.half(trade.payWay);
  half.pay(core, trade);
  half.take?.(core, trade);
}

/** The payer refuses. */
export function decline(core: Core, trade: Trade): void {
  core.half(trade.payWay).decline(core, trade);
}
