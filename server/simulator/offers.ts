import type { PayWay } from '../payments/channel.ts';
import { SimulatorRefusal } from './refusal.ts';
import { NO_OFFERS, type Offers, paymentOf, type Trade } from './trade.ts';

const WHERE: Readonly<Record<keyof Offers, readonly PayWay[]>> = {
  merchant: ['alipay', 'wechat'],
  channel: ['alipay', 'wechat'],
  share: ['alipay'],
};

/** Says who will bear what of an order that is not paid yet. Throws SimulatorRefusal. */
export function offer(trade: Trade, offers: Offers): void {
  if (trade.state === 'paid')
    throw new SimulatorRefusal(409, 'already_paid', `Order ${trade.orderNo} is paid already.`);
  for (const [name, where] of Object.entries(WHERE))
    if (offers[name as keyof Offers] > 0 && !where.includes(trade.payWay))
      throw new SimulatorRefusal(400, 'offer_unknown_here', `The bills of ${trade.payWay} have no ${name}.`);
  if (offers.merchant + offers.channel > trade.minor || offers.share > trade.minor - offers.merchant)
    throw new SimulatorRefusal(400, 'offer_too_much', `Order ${trade.orderNo} is over less than that.`);
  trade.offers = offers;
}

/** Who bears what of a refund: the same part of each as of the amount, and with the last one all that is left. */
export function offersBack({ offers = NO_OFFERS, ...trade }: Trade, minor: number): Offers {
  const paid = paymentOf(trade)?.minor ?? 0;
  const before = trade.refunds.filter(({ state }) => state !== 'failed');
  const isLast = minor + before.reduce((sum, refund) => sum + refund.minor, 0) >= paid;
  const back = (name: keyof Offers): number => {
    const left = before.reduce((rest, refund) => rest - (refund.offers?.[name] ?? 0), offers[name]);
    return isLast ? left : Math.min(left, Math.floor((offers[name] * minor) / paid));
  };
  return { merchant: back('merchant'), channel: back('channel'), share: back('share') };
}
