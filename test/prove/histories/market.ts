import type { Chance } from '../chance.ts';

/** An order as those who act know it. */
export interface KnownOrder {
  orderNo: string;
  shop: Shop;
  payWay: PayWay;
  /** Minor units. */
  amount: number;
}

export type PayWay = 'alipay' | 'wechat' | 'paypal';

/** A request that may be sent again as it was. */
export interface Repeatable {
  path: string;
  body: Record<string, string | number>;
  key?: string;
  /** Minor units. */
  amount: number;
  payWay?: PayWay;
}

/** A token by the name that stands in the history for it. */
export interface Token {
  name: string;
  text: string;
}

/** An application, and what its clients remember. */
export interface Shop {
  name: string;
  clientId: string;
  secret: string;
  tokens: Token[];
  /** Tokens of which somebody said that they are revoked. */
  revoked: Token[];
  orders: KnownOrder[];
  places: Repeatable[];
  refunds: Repeatable[];
}

/** Everything that clients know of each other. */
export interface Market {
  shops: readonly Shop[];
  /** Where the replicas are; some may be dead. */
  urls: readonly string[];
  simulatorUrl: string;
  adminToken: string;
  refundNos: string[];
  /** A name that nobody had. */
  name(of: string): string;
}

/** How many of the newest are acted on: few, so that clients meet. */
const HOT = 12;

/** One of the newest, most often one of the very newest. */
export function hot<T>(chance: Chance, all: readonly T[]): T | undefined {
  if (all.length === 0) return undefined;
  return all[all.length - 1 - Math.floor(chance.next() ** 2 * Math.min(HOT, all.length))];
}

/** An order as a history has it. Takes what the service answered. */
// oxlint-disable-next-line typescript/no-explicit-any -- the answer of the service as it came
export function orderFacts({ data }: any) {
  return {
    orderNo: data.orderNo as string,
    merchantOrderNo: data.merchantOrderNo as string | null,
    payWay: data.payWay as string,
    amount: data.amountMinor as number,
    status: data.status as string,
    refunded: minor(data.refundedAmount),
    refunds: data.refunds.map(refundFacts),
  };
}

interface WireRefund {
  refundNo: string;
  refundAmountMinor: number;
  status: string;
  origin: string;
  merchantRefundNo: string | null;
}

/** A refund as a history has it. */
export function refundFacts({ refundNo, refundAmountMinor, status, origin, merchantRefundNo }: WireRefund) {
  return { refundNo, amount: refundAmountMinor, status, origin, merchantRefundNo };
}

/** All amounts here have two decimals. */
export function minor(major: number): number {
  return Math.round(major * 100);
}
