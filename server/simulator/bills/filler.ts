import { createHash } from 'node:crypto';
import type { PayWay } from '../../payments/channel.ts';
import { NO_OFFERS } from '../trade.ts';
import { feeOf } from './fees.ts';
import type { Span } from './days.ts';
import type { BillRow } from './row.ts';

const CURRENCY: Readonly<Record<PayWay, string>> = { alipay: 'CNY', wechat: 'CNY', paypal: 'USD' };

/** Payments of another system, spread over a span: nothing keeps them, and the same ones come each time. */
export interface Filler extends Span {
  payWay: PayWay;
  count: number;
}

/** The filler's payment of this index. */
export function fillerRow({ payWay, from, to, count }: Filler, index: number): BillRow {
  const at = timeOfFiller({ from, to, count }, index);
  return foreignRow(payWay, at, `${from}-${index}`, 100 + ((index * 37) % 99_900));
}

/** When the payment of this index happens. */
export function timeOfFiller({ from, to, count }: Pick<Filler, 'from' | 'to' | 'count'>, index: number): number {
  return from + Math.floor((index * (to - from)) / count);
}

/** The first index whose payment is at this time or later. */
export function firstOfFiller(filler: Pick<Filler, 'from' | 'to' | 'count'>, at: number): number {
  const { from, to, count } = filler;
  let index = Math.min(count, Math.max(0, Math.floor(((at - from) * count) / (to - from)) - 1));
  while (index < count && timeOfFiller(filler, index) < at) index += 1;
  return index;
}

/** A payment that another system of the same merchant made. */
export function foreignRow(payWay: PayWay, at: number, seed: string, minor: number): BillRow {
  const digest = createHash('md5').update(seed).digest('hex');
  const number = numberOf(payWay, digest);
  return {
    kind: 'payment',
    number,
    tradeNo: number,
    orderNo: `SHOP2_${digest.slice(0, 20)}`,
    refundNo: null,
    state: 'done',
    minor,
    offers: NO_OFFERS,
    fromAvailable: false,
    currency: CURRENCY[payWay],
    fee: feeOf(payWay, minor),
    at,
    createdAt: at - 30_000,
    subject: 'Another shop',
    trade: null,
  };
}

/** A number of the channel's form that these hexadecimal digits decide. */
function numberOf(payWay: PayWay, digest: string): string {
  if (payWay === 'paypal') return digest.slice(0, 17).toUpperCase();
  const digits = BigInt(`0x${digest}`).toString().padStart(39, '0').slice(-24);
  return payWay === 'wechat' ? `4200${digits}` : `20200101${digits.slice(0, 20)}`;
}
