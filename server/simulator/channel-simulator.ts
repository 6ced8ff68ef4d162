/**
 * The port of the simulator: what the halves share, what one half is, and at which address it is asked. To plug a channel in:
 *
 * 1. write `server/simulator/<payWay>/half.ts` that exports a `ChannelSimulator`, with the files beside it that the other channels have, and add
 *    it to HALVES in simulator.ts; `test/journeys/added-channel/simulator.ts` is one that is as small as can be;
 * 2. `hosts` are the names under which the channel is at the root (`leadToChannel`); `mount` registers the channel's routes below
 *    `/<payWay>` (the adapter's base address is `<simulator>/<payWay>`); the raw body of a request is `rawBodyOf(ctx)` from requests.ts;
 * 3. a route checks the request as strictly as the channel does and answers bad ones with `write(ctx, …)`; a good one becomes
 *    `core.answer(ctx, { payWay, account, call, orderNo, act, seal })`: `act` changes trades through `core.trades` (each change
 *    is in the ledger before the call returns) and gives the unsigned answer, `encrypt` signs it. All faults are drawn and applied
 *    by `core.answer`; `act` looks at `fault` for the faults of the effect (`query-lag`, `pending-refund`, `wrong-amount`,
 *    `capture-pending` …), `encrypt` for those of the signature (`wrong-key`, `no-signature`, `duplicate-key`, `clock-skew`,
 *    `unknown-serial`, `signtest`). `tampered`, `channelSimulator-body`, `html`, all time-outs and delays need nothing from a half.
 *    `wrong-key` signs with `core.strangerKey`;
 * 4. fixed outcomes: `trade.fixed`. A create answers `declined` with a definite refusal before it makes a trade
 *    (`fixedOutcome()`), calls `core.startFixed(trade)` once after `core.trades.create`, and returns `silent: true` for the first
 *    create of a `silent` one; a refund of `refunds-fail` is refused;
 * 5. a refund goes through `core.refund(trade, draft, fault)`, which knows all refund faults and ends what must end later;
 * 6. a notice is `core.notifications.send(trade, { id, event, url, facts }, core.notificationDelay(trade))`; it is signed anew for every
 *    delivery by `signNotification`, which must write the same facts each time.
 */
import type Router from '@koa/router';
import type { Context, Next } from 'koa';
import type { KeyObject } from 'node:crypto';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { PayWay } from '../payments/channel.ts';
import type { Account, Accounts } from './accounts.ts';
import type { Bills } from './bills/book.ts';
import type { BillRules } from './bills/rows.ts';
import type { Authority } from './certificates.ts';
import type { Clock } from './clock.ts';
import type { Exchange } from './exchange.ts';
import type { FaultName, Faults } from './faults.ts';
import type { Ledger } from './ledger.ts';
import type { NotificationRecord, Notifications, SignedNotification } from './notification.ts';
import type { DisputeAction, Refund, RefundDraft, Trade, TradeDraft } from './trade.ts';
import type { Trades } from './trades.ts';

/** What the halves share. */
export interface Core {
  /** Base address of the simulator, without a slash at the end. */
  url: string;
  readonly channelSimulators: readonly ChannelSimulator[];
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly trades: Trades;
  readonly accounts: Accounts;
  readonly authority: Authority;
  readonly faults: Faults;
  readonly notifications: Notifications;
  readonly bills: Bills;
  /** A key that belongs to nobody: `wrong-key` signs with it. */
  readonly strangerKey: KeyObject;
  readonly log: (message: string, about?: object) => void;
  channelSimulator(payWay: PayWay): ChannelSimulator;
  /** Answers an authenticated call, with whatever fault is set for it. */
  answer(ctx: Context, exchange: Exchange): Promise<void>;
  /** Where the payer's page of a trade is. */
  payUrl(trade: Trade): string;
  /** Starts what the amount of a new trade asks for; call it once, after creating. */
  startFixed(trade: Trade): void;
  /** Makes a refund, with what the fault asks for. Throws SimulatorRefusal `refund_too_much`. */
  refund(trade: Trade, draft: RefundDraft, fault?: FaultName): Refund;
  /** Scaled milliseconds by which the notices of a trade are late. */
  notificationDelay(trade: Trade): number;
  close(): void;
}

/** What a merchant would type into the configuration of the channel: the shape of `ChannelInput` in payments/channel.ts. */
export interface SimulatedChannelConfig {
  fields: Record<string, string>;
  pems: Record<string, string[]>;
}

/** One channel inside the simulator; `simulator.ts` has the list of them. */
export interface ChannelSimulator {
  readonly payWay: PayWay;
  /** Names of the channel's own hosts, in small letters: under these it is at the root. */
  readonly hosts: readonly string[];
  readonly billRules: BillRules;
  /** Seconds between a delivery that was not acknowledged and the next one. */
  readonly notificationSchedule: readonly number[];
  /** Adds the routes of the channel, below `/<payWay>`, or at the paths of another host that its clients cannot be led away from. */
  mount(router: Router, core: Core): void;
  /** Makes the ids, keys and certificates of a new account. `options` is what the caller of /sim/accounts added. */
  newSecrets(core: Core, name: string, options: Readonly<Record<string, unknown>>): Promise<Record<string, string>>;
  /** Hands an account over as ordinary channel configuration. */
  configFor(account: Account, core: Core): SimulatedChannelConfig;
  /** The payer pays (PayPal: agrees); notices follow. Throws SimulatorRefusal when the channel would not let him. */
  pay(core: Core, trade: Trade): void;
  /** The details of one more trade under the same number; absent = the channel has one trade for each number. */
  detailsOfAnother?(core: Core, trade: Trade): Record<string, unknown>;
  /** A second order with the numbers of this one, where a channel has another id for each; absent = see `detailsOfAnother`. */
  twinOf?(core: Core, trade: Trade): Pick<TradeDraft, 'id' | 'details'>;
  /** Takes the money that a payer agreed to; absent = `pay` does. */
  take?(core: Core, trade: Trade): void;
  /** The merchant accepts or denies a pending capture in its account; absent = the channel makes no captures. */
  moveCapture?(core: Core, trade: Trade, state: 'completed' | 'declined'): void;
  /** Tells the merchant of an order about anything at all; `isTest` = as from the dashboard. Absent = the channel tells of nothing else. */
  sendEvent?(
    core: Core,
    trade: Trade,
    event: { type: string; resource: Record<string, unknown>; isTest: boolean },
  ): void;
  /** The payer refuses. */
  decline(core: Core, trade: Trade): void;
  /** The payer opens a signed address that the channel has not seen (Alipay page, wap, app); undefined = not one of mine. */
  open?(core: Core, payUrl: string): Trade | undefined;
  /** A refund made in the merchant's portal (origin `portal`, state succeeded) or one that has moved; tell the merchant. */
  notifyRefund(core: Core, trade: Trade, refund: Refund): void;
  /** The payer's bank takes a refund, or does not; absent = the channel does not tell of that. Throws SimulatorRefusal. */
  notifyBank?(core: Core, trade: Trade, refund: Refund): void;
  /** What payer and channel do about a dispute; absent = this channel has none here. */
  dispute?(core: Core, trade: Trade, action: DisputeAction): object;
  /** A new channel number for a refund. */
  newRefundNumber(core: Core): string;
  /** The bytes and headers of one delivery. `fault`: wrong-key, no-signature, clock-skew, unknown-serial, signtest, wrong-amount … */
  signNotification(
    core: Core,
    notification: NotificationRecord,
    fault: FaultName | undefined,
  ): SignedNotification | Promise<SignedNotification>;
  /** Whether the receiver's answer ends the deliveries. */
  acknowledged(status: number, body: string): boolean;
  /**
   * Replaces a key, certificate or setting of an account; changes `account.secrets`. `to` is the new value of what a merchant
   * sets by hand. Throws SimulatorRefusal for an unknown `what`.
   */
  rotate(core: Core, account: Account, what: string, to?: string): Promise<void>;
}

/** Requests that came to the own address of a channel. */
const owned = new WeakMap<IncomingMessage, PayWay>();

/** Listens for one channel alone, which is at the root here. */
export function listenFor(payWay: PayWay, listener: RequestListener): RequestListener {
  return (request, response) => {
    owned.set(request, payWay);
    listener(request, response);
  };
}

/**
 * Where the channel was asked, without a slash at the end: what it tells of its own addresses begins so. A client with a fixed host
 * takes that host off an address of a bill, and asks for what is left.
 */
export function baseOf(ctx: Context, core: Core, payWay: PayWay): string {
  if (owned.has(ctx.req)) return `http://${ctx.host}`;
  const host = ctx.hostname.toLowerCase();
  return core.channelSimulator(payWay).hosts.includes(host) ? `https://${host}` : `${core.url}/${payWay}`;
}

/**
 * Leads to its channel what was asked for at a root: at the channel's own address, and under the names of its hosts. Clients with a
 * fixed host ask for the paths of that host, and those of WeChat Pay sign them, so they could be led elsewhere only by signing anew.
 */
export function leadToChannel(
  channelSimulators: readonly ChannelSimulator[],
): (ctx: Context, next: Next) => Promise<void> {
  const byHost = new Map(
    channelSimulators.flatMap(({ payWay, hosts }) => hosts.map((host) => [host, payWay] as const)),
  );
  return async (ctx, next) => {
    const payWay = owned.get(ctx.req) ?? byHost.get(ctx.hostname.toLowerCase());
    // The address as it was asked for, which is what was signed, stays in ctx.originalUrl.
    if (payWay !== undefined) ctx.path = `/${payWay}${ctx.path}`;
    await next();
  };
}
