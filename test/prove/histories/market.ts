import type { Chance } from '../chance.ts';

/** An order as known to the clients. */
export interface KnownOrder {
  orderNo: string;
  shop: Shop;
  payWay: PayWay;
  /** Minor units. */
  amount: number;
}

export type PayWay = 'alipay' | 'wechat' | 'paypal';

/** A request that can be repeated unchanged. */
export interface Repeatable {
  path: string;
  body: Record<string, string | number>;
  key?: string;
  /** Minor units. */
  amount: number;
  payWay?: PayWay;
}

/** A token under its name in the history. */
export interface Token {
  name: string;
  text: string;
}

/** An application and the memory of its clients. */
export interface Shop {
  name: string;
  clientId: string;
  secret: string;
  tokens: Token[];
  /** Tokens that were reported as revoked. */
  revoked: Token[];
  orders: KnownOrder[];
  places: Repeatable[];
  refunds: Repeatable[];
}

/** The shared memory of all clients. */
export interface Market {
  shops: readonly Shop[];
  /** The addresses of the replicas; some may be down. */
  urls: readonly string[];
  simulatorUrl: string;
  adminToken: string;
  refundNos: string[];
  /** A new unique name. */
  name(of: string): string;
}

/** How many of the newest items are used: few, so that clients collide. */
const HOT = 12;

/** One of the newest items, most often the very newest. */
export function hot<T>(chance: Chance, all: readonly T[]): T | undefined {
  if (all.length === 0) return undefined;
  return all[all.length - 1 - Math.floor(chance.next() ** 2 * Math.min(HOT, all.length))];
}

/** Converts the service's response to an order as a history records it. */
// oxlint-disable-next-line typescript/no-explicit-any -- the unchecked response of the service
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

/** A refund as a history records it. */
export function refundFacts({ refundNo, refundAmountMinor, status, origin, merchantRefundNo }: WireRefund) {
  return { refundNo, amount: refundAmountMinor, status, origin, merchantRefundNo };
}

/** All amounts here have two decimals. */
export function minor(major: number): number {
  return Math.round(major * 100);
}
