/**
 * The interface of a channel simulator, and the parts that all channel simulators share. To add a channel:
 *
 * 1. Write `server/simulator/<payWay>/simulator.ts`, which exports a `ChannelSimulator`, with the same files beside it
 *    as the other channels. Add it to CHANNEL_SIMULATORS in simulator.ts. `test/journeys/added-channel/simulator.ts` is
 *    a minimal example.
 * 2. `mount` registers the routes of the channel below `/<payWay>`, because the adapter's base URL is
 *    `<simulator>/<payWay>`. `hosts` are the real host names of the channel; requests to them have no prefix
 *    (`leadToChannel`). `rawBodyOf(ctx)` from requests.ts returns the raw body of a request.
 * 3. A route checks the request as strictly as the channel does and refuses an invalid request with `write(ctx, …)`. A
 *    valid request goes to `core.answer(ctx, { payWay, account, call, orderNo, act, sign })`. `act` changes trades
 *    through `core.trades` (each change is in the ledger before the call returns) and returns the unsigned response;
 *    `sign` signs it. `core.answer` chooses the fault and passes it to both. `act` applies the faults that change the
 *    effect (`query-lag`, `pending-refund`, `wrong-amount`, `capture-pending` …). `sign` applies the faults that change
 *    the signature (`wrong-key`, `no-signature`, `duplicate-key`, `clock-skew`, `unknown-serial`, `signtest`);
 *    `wrong-key` signs with `core.strangerKey`. `core.answer` itself applies `tampered`, `half-body`, `html`, all
 *    timeouts and delays.
 * 4. `trade.fixed` is the outcome that an exact amount fixes. For `declined`, a create request is refused before it
 *    creates a trade (`fixedOutcome()`). After `core.trades.create`, call `core.startFixed(trade)` once. For `silent`,
 *    the first create request returns `silent: true`. For `refunds-fail`, every refund is refused.
 * 5. `core.refund(trade, draft, fault)` makes a refund, applies all refund faults and schedules later states.
 * 6. `core.notifications.send(trade, { id, event, url, facts }, core.notificationDelay(trade))` sends a notification.
 *    `signNotification` signs it again for every delivery and must write the same facts each time.
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

/** The parts that the channel simulators share. */
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
  /** A key that belongs to no account. The fault `wrong-key` signs with it. */
  readonly strangerKey: KeyObject;
  readonly log: (message: string, about?: object) => void;
  channelSimulator(payWay: PayWay): ChannelSimulator;
  /** Runs an authenticated call, applies the fault that is set for the call, and sends the response. */
  answer(ctx: Context, exchange: Exchange): Promise<void>;
  /** Returns the address of the payer's page of a trade. */
  payUrl(trade: Trade): string;
  /**
   * For some exact amounts (such as 0.06), the simulator fixes what happens to the order; see `FixedOutcome`. This
   * function starts it. Call it once, after the trade is created.
   */
  startFixed(trade: Trade): void;
  /**
   * Creates a refund and applies `fault`. Throws SimulatorRefusal `refund_too_much` if the refunds would exceed the
   * payment.
   */
  refund(trade: Trade, draft: RefundDraft, fault?: FaultName): Refund;
  /** Returns how long the notifications of a trade are delayed (ms), before the time factor is applied. */
  notificationDelay(trade: Trade): number;
  close(): void;
}

/** An account as channel configuration: the shape of `ChannelInput` in payments/channel.ts. */
export interface SimulatedChannelConfig {
  fields: Record<string, string>;
  pems: Record<string, string[]>;
}

/** One channel inside the simulator; `simulator.ts` has the list of them. */
export interface ChannelSimulator {
  readonly payWay: PayWay;
  /** The real host names of the channel in lower case. Requests to these hosts have no `/<payWay>` prefix. */
  readonly hosts: readonly string[];
  readonly billRules: BillRules;
  /** Seconds between an unacknowledged delivery and the next one. */
  readonly notificationSchedule: readonly number[];
  /** Adds the routes of the channel: below `/<payWay>`, or at fixed paths that the channel's clients cannot change. */
  mount(router: Router, core: Core): void;
  /** Creates the ids, keys and certificates of a new account. `options` come from the body of /sim/accounts. */
  newSecrets(core: Core, name: string, options: Readonly<Record<string, unknown>>): Promise<Record<string, string>>;
  /** Returns an account as ordinary channel configuration. */
  configFor(account: Account, core: Core): SimulatedChannelConfig;
  /**
   * Pays a trade as the payer would (at PayPal: approves it) and notifies the merchant. Throws SimulatorRefusal if the
   * channel would refuse the payment.
   */
  pay(core: Core, trade: Trade): void;
  /**
   * Returns the `details` of a second trade under the same order number. Absent = the channel allows only one trade for
   * each number, or implements `twinOf`.
   */
  detailsOfAnother?(core: Core, trade: Trade): Record<string, unknown>;
  /**
   * Returns id and `details` of a second order with the same merchant numbers, for a channel that assigns its own order
   * ids (PayPal). Absent = `detailsOfAnother` is used.
   */
  twinOf?(core: Core, trade: Trade): Pick<TradeDraft, 'id' | 'details'>;
  /** Captures a payment that the payer approved. Absent = `pay` already completes the payment. */
  take?(core: Core, trade: Trade): void;
  /**
   * Completes or declines a pending capture, as the merchant does in its account. Absent = the channel has no captures.
   */
  moveCapture?(core: Core, trade: Trade, state: 'completed' | 'declined'): void;
  /**
   * Sends the merchant an event of any type. `isTest` = the event is signed like a test event from the channel's
   * dashboard. Absent = the channel has no such events.
   */
  sendEvent?(
    core: Core,
    trade: Trade,
    event: { type: string; resource: Record<string, unknown>; isTest: boolean },
  ): void;
  /** Declines a trade as the payer would. */
  decline(core: Core, trade: Trade): void;
  /**
   * Opens a signed payment URL as the payer's browser would, and creates its trade (Alipay page, wap, app). Returns
   * undefined for a URL of another channel.
   */
  open?(core: Core, payUrl: string): Trade | undefined;
  /**
   * Notifies the merchant of a refund that was made in its portal (origin `portal`, state succeeded), or of the new
   * state of a refund.
   */
  notifyRefund(core: Core, trade: Trade, refund: Refund): void;
  /**
   * Notifies the merchant whether the payer's bank accepted a refund. Throws SimulatorRefusal if the merchant did not
   * request it. Absent = the channel does not report it.
   */
  notifyBank?(core: Core, trade: Trade, refund: Refund): void;
  /** Applies an action of the payer or the channel to a dispute. Absent = the channel simulates no disputes. */
  dispute?(core: Core, trade: Trade, action: DisputeAction): object;
  /** Returns a new refund number of the channel. */
  newRefundNumber(core: Core): string;
  /**
   * Builds the bytes and headers of one delivery of a notification. `fault` names a deliberate error in this delivery,
   * such as `wrong-key` (wrong signing key) or `wrong-amount`.
   */
  signNotification(
    core: Core,
    notification: NotificationRecord,
    fault: FaultName | undefined,
  ): SignedNotification | Promise<SignedNotification>;
  /** Whether the merchant's response acknowledges the notification, so that no further delivery follows. */
  acknowledged(status: number, body: string): boolean;
  /**
   * Replaces a key, certificate or setting in `account.secrets`. `what` names it; `to` is the new value of a setting
   * that merchants enter themselves. Throws SimulatorRefusal if `what` is unknown.
   */
  rotate(core: Core, account: Account, what: string, to?: string): Promise<void>;
}

/** The channel of each request that arrived at an address of one channel (`roots` of `startSimulator`). */
const owned = new WeakMap<IncomingMessage, PayWay>();

/**
 * Wraps a listener for an address that serves only one channel. Requests to this address have no `/<payWay>` prefix.
 */
export function listenFor(payWay: PayWay, listener: RequestListener): RequestListener {
  return (request, response) => {
    owned.set(request, payWay);
    listener(request, response);
  };
}

/**
 * Returns the channel's base URL as the client called it, without a slash at the end. The links in the channel's
 * responses start with it. A client with a fixed host replaces the host in the download URL of a bill and keeps the
 * path.
 */
export function baseOf(ctx: Context, core: Core, payWay: PayWay): string {
  if (owned.has(ctx.req)) return `http://${ctx.host}`;
  const host = ctx.hostname.toLowerCase();
  return core.channelSimulator(payWay).hosts.includes(host) ? `https://${host}` : `${core.url}/${payWay}`;
}

/**
 * Adds the channel's path prefix to requests that come without it: at an address of one channel, or under a real host
 * name of the channel. Clients with a fixed host request the channel's real paths. They cannot be redirected, because
 * WeChat Pay's clients sign the path.
 */
export function leadToChannel(
  channelSimulators: readonly ChannelSimulator[],
): (ctx: Context, next: Next) => Promise<void> {
  const byHost = new Map(
    channelSimulators.flatMap(({ payWay, hosts }) => hosts.map((host) => [host, payWay] as const)),
  );
  return async (ctx, next) => {
    const payWay = owned.get(ctx.req) ?? byHost.get(ctx.hostname.toLowerCase());
    // `ctx.originalUrl` keeps the path that the client requested and signed.
    if (payWay !== undefined) ctx.path = `/${payWay}${ctx.path}`;
    await next();
  };
}
