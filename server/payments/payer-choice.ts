import type { PayWay } from './channel.ts';

/** Orders whose payer may take another channel. */
export interface PayerChoice {
  /** The other channels of an order, while it can be paid; mostly none. */
  others(orderNo: string): Promise<PayWay[]>;
  /** The order in the place of one that ended unpaid. */
  successor(orderNo: string): Promise<string | undefined>;
  /** Takes the channel; gives the number with which the payer goes on: the same one when it could not be. */
  choose(orderNo: string, payWay: PayWay): Promise<string>;
}
