import type { AppLimits, LatePayment } from '../db/entities/identity.ts';
import type { OrderRow } from '../db/entities/orders.ts';
import type { Tx } from '../db/store.ts';
import type { ChannelOptions } from './channel-options.ts';
import type { PayWay, Scene } from './channel.ts';
import type { ActiveChannel, Asker } from './ports.ts';
import type { KeyClaim } from './idempotency.ts';

/** A pay request after its schema: amounts in major units, times in seconds. */
export interface PayRequest {
  subject: string;
  /** Major units; may be left out when the product has the price. */
  amount?: number | string | undefined;
  payWay: PayWay;
  currency?: string | undefined;
  scene?: Scene | undefined;
  orderType?: string | undefined;
  userId?: string | undefined;
  extra?: string | undefined;
  merchantOrderNo?: string | undefined;
  openId?: string | undefined;
  appId?: string | undefined;
  /** The code that the payer showed (scene `code`). */
  payCode?: string | undefined;
  channelOptions?: ChannelOptions | undefined;
  clientIp?: string | undefined;
  returnUrl?: string | undefined;
  notifyUrl?: string | undefined;
  expireSeconds?: number | undefined;
  product?: string | undefined;
}

/** Who places, for which project, with which promises about late money. */
export interface Payee {
  clientId: string;
  project: string;
  latePayment: LatePayment;
  /** Of the application; null = it has none. */
  limits: AppLimits | null;
  actor: string;
  /** The administrator who places it from the console. */
  person?: Asker['person'];
}

/** What an order is of beyond an ordinary payment. */
export interface PlaceOptions {
  claim?: KeyClaim | undefined;
  kind?: OrderRow['kind'];
  /** The channel as the caller has just found it; left out = it is looked up. */
  active?: ActiveChannel;
  orderNo?: string;
  /** Written in the same transaction as the order. */
  also?: (tx: Tx, order: OrderRow) => Promise<void>;
}
