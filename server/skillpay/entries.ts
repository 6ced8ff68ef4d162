import type { OfferEntry } from '../db/entities/skillpay.ts';
import type { SkillPair } from './pair.ts';

/** Where the payer goes to pay an entry; another entry than the order's own is chosen there, with an order of its own. */
export function payUrlOf(publicUrl: string, { order }: SkillPair, { payWay }: OfferEntry): string {
  const own = `${publicUrl}/pay/${order.orderNo}`;
  return payWay === order.payWay ? own : `${own}?payWay=${payWay}`;
}
