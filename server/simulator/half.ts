import type Router from '@koa/router';
import type { PayWay } from '../payments/channel.ts';
import type { Account } from './accounts.ts';
import type { Core } from './core.ts';
import type { FaultName } from './faults.ts';
import type { NoticeRecord, SignedNotice } from './notice.ts';
import type { Refund, Trade } from './trade.ts';

/** What a merchant would type into the configuration of the channel: the shape of `ChannelInput` in payments/channel.ts. */
export interface HalfConfig {
  fields: Record<string, string>;
  pems: Record<string, string[]>;
}

/** One channel inside the simulator. See `halves.ts` for how to plug one in. */
export interface Half {
  readonly payWay: PayWay;
  /** Seconds between a delivery that was not acknowledged and the next one. */
  readonly noticeSchedule: readonly number[];
  /** Adds the routes of the channel, all of them below `/<payWay>`. */
  mount(router: Router, core: Core): void;
  /** Makes the ids, keys and certificates of a new account. `options` is what the caller of /sim/accounts added. */
  newSecrets(core: Core, name: string, options: Readonly<Record<string, unknown>>): Promise<Record<string, string>>;
  /** Hands an account over as ordinary channel configuration. */
  configFor(account: Account, core: Core): HalfConfig;
  /** The payer pays (PayPal: agrees); notices follow. Throws SimulatorRefusal when the channel would not let him. */
  pay(core: Core, trade: Trade): void;
  /** The payer refuses. */
  decline(core: Core, trade: Trade): void;
  /** The payer opens a signed address that the channel has not seen (Alipay page, wap, app); undefined = not one of mine. */
  open?(core: Core, payUrl: string): Trade | undefined;
  /** A refund made in the merchant's portal (origin `portal`, state succeeded) or one that has moved; tell the merchant. */
  tellRefund(core: Core, trade: Trade, refund: Refund): void;
  /** A new channel number for a refund. */
  newRefundNumber(core: Core): string;
  /** The bytes and headers of one delivery. `fault`: wrong-key, no-signature, clock-skew, unknown-serial, signtest, wrong-amount … */
  signNotice(core: Core, notice: NoticeRecord, fault: FaultName | undefined): SignedNotice | Promise<SignedNotice>;
  /** Whether the receiver's answer ends the deliveries. */
  acknowledged(status: number, body: string): boolean;
  /** Replaces a key or certificate of an account; changes `account.secrets`. Throws SimulatorRefusal for an unknown `what`. */
  rotate(core: Core, account: Account, what: string): Promise<void>;
}
