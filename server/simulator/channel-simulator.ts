/**
 * The interface of a channel simulator, and the parts that all channel simulators share. To add a channel:
 *
 * 1. Write `server/simulator/<payWay>/simulator.ts`, which exports a `ChannelSimulator`. Add it to CHANNEL_SIMULATORS
 *    in simulator.ts. `test/journeys/added-channel/simulator.ts` is a minimal example.
 * 2. `mount` registers the routes of the channel below `/<payWay>`, because the adapter's base URL is
 *    `<simulator>/<payWay>`. `hosts` are the real host names of the channel. Requests to these hosts have no prefix;
 *    `leadToChannel` adds it. `rawBodyOf(ctx)` from requests.ts returns the raw body of a request.
 * 3. A route checks the request as strictly as the channel does. It refuses an invalid request with `write(ctx, …)`. It
 *    passes a valid request to `core.answer(ctx, { payWay, account, call, orderNo, act, sign })`. `act` changes trades
 *    through `core.trades`, which writes each change to the ledger. `act` returns the unsigned response, and `sign`
 *    signs it. `core.answer` finds the fault (a deliberate error) that is set for the call, and passes it to `act` and
 *    `sign`. `act` applies the faults that change the effect of the call (`query-lag`, `pending-refund`,
 *    `wrong-amount`, `capture-pending` …). `sign` applies the faults that change the signature (`wrong-key`,
 *    `no-signature`, `duplicate-key`, `clock-skew`, `unknown-serial`, `signtest`). For `wrong-key` it signs with
 *    `core.strangerKey`. `core.answer` itself applies all faults of the connection: timeouts, delays, `tampered`,
 *    `half-body`, `html` …
 * 4. For some exact amounts, such as 0.06, the simulator decides what happens to the order (`trade.fixed`). For
 *    `declined`, refuse the create request before it creates a trade (`fixedOutcome()`). Call `core.startFixed(trade)`
 *    once after `core.trades.create`. For `silent`, return `silent: true` for the first create request. For
 *    `refunds-fail`, refuse every refund.
 * 5. `core.refund(trade, draft, fault)` makes a refund, applies all refund faults and schedules later states.
 * 6. `core.notifications.send(trade, { id, event, url, facts }, core.notificationDelay(trade))` sends a notification.
 *    `signNotification` signs the notification again for every delivery. It must write the same `facts` each time.
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
  /** Performs a call of an authenticated caller, with the fault (a deliberate error) that is set for the call. */
  answer(ctx: Context, exchange: Exchange): Promise<void>;
  payUrl(trade: Trade): string;
  /** Some exact amounts (e.g. 0.06) have a fixed outcome. Starts this outcome; called once after the creation. */
  startFixed(trade: Trade): void;
  /** Creates a refund. Throws SimulatorRefusal `refund_too_much` if the refunds would exceed the payment. */
  refund(trade: Trade, draft: RefundDraft, fault?: FaultName): Refund;
  /** How long the first delivery is delayed (ms), not yet multiplied by the time factor. */
  notificationDelay(trade: Trade): number;
  close(): void;
}

/** The configuration with which the service uses a simulated account; fields as in `ChannelInput`. */
export interface SimulatedChannelConfig {
  fields: Record<string, string>;
  pems: Record<string, string[]>;
}

export interface ChannelSimulator {
  readonly payWay: PayWay;
  /** The real host names of the channel in lower case. Requests to these hosts have no `/<payWay>` prefix. */
  readonly hosts: readonly string[];
  readonly billRules: BillRules;
  /** The waiting times (seconds) between the deliveries of a notification that the merchant does not acknowledge. */
  readonly notificationSchedule: readonly number[];
  /** Adds the routes of the channel: below `/<payWay>`, or at fixed paths that the channel's clients cannot change. */
  mount(router: Router, core: Core): void;
  /** `options` come from the body of /sim/accounts. */
  newSecrets(core: Core, name: string, options: Readonly<Record<string, unknown>>): Promise<Record<string, string>>;
  configFor(account: Account, core: Core): SimulatedChannelConfig;
  /** Pays as the payer would (at PayPal, only approves) and notifies the merchant. May throw SimulatorRefusal. */
  pay(core: Core, trade: Trade): void;
  /** Returns the `details` for a second trade with the order number of `trade`, if the channel allows one. */
  detailsOfAnother?(core: Core, trade: Trade): Record<string, unknown>;
  /**
   * Returns the id and the `details` for a second order that has the same invoice_id or custom_id as `trade`. Only
   * PayPal has this function, because PayPal assigns its own order ids. Absent = `detailsOfAnother` is used.
   */
  twinOf?(core: Core, trade: Trade): Pick<TradeDraft, 'id' | 'details'>;
  /** Captures a payment that the payer approved. Absent = `pay` already completes the payment. */
  take?(core: Core, trade: Trade): void;
  /**
   * Completes or declines a pending capture, as the merchant does in its account. Absent = the channel has no captures.
   */
  moveCapture?(core: Core, trade: Trade, state: 'completed' | 'declined'): void;
  /**
   * Sends the merchant an event of any type. With `isTest`, the event is signed like a test event from the channel's
   * dashboard. Absent = the channel cannot send events of any type.
   */
  sendEvent?(
    core: Core,
    trade: Trade,
    event: { type: string; resource: Record<string, unknown>; isTest: boolean },
  ): void;
  decline(core: Core, trade: Trade): void;
  /**
   * Opens a signed payment URL as the payer's browser would, and creates its trade (Alipay page, wap, app). Returns
   * undefined for a URL of another channel.
   */
  open?(core: Core, payUrl: string): Trade | undefined;
  /** Notifies the merchant of a refund that was made in the portal, or whose state changed. */
  notifyRefund(core: Core, trade: Trade, refund: Refund): void;
  /**
   * Notifies the merchant whether the payer's bank accepted a refund. Throws SimulatorRefusal if the merchant did not
   * request this notification. Absent = the channel has no notification of this type.
   */
  notifyBank?(core: Core, trade: Trade, refund: Refund): void;
  /** Applies an action of the payer or the channel to a dispute. Absent = the channel simulates no disputes. */
  dispute?(core: Core, trade: Trade, action: DisputeAction): object;
  newRefundNumber(core: Core): string;
  /** Builds one delivery of a notification; `fault` names a deliberate error in it, such as `wrong-key`. */
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

/** The channel of each request that arrived at an address with only one channel (`roots` of `startSimulator`). */
const owned = new WeakMap<IncomingMessage, PayWay>();

/** Wraps a listener for an address of only one channel, whose requests have no `/<payWay>` prefix. */
export function listenFor(payWay: PayWay, listener: RequestListener): RequestListener {
  return (request, response) => {
    owned.set(request, payWay);
    listener(request, response);
  };
}

/**
 * Returns the channel's base URL under which the client sent the request, without a slash at the end. The links in the
 * channel's responses start with this URL. Some clients always use the channel's real host; they replace the host in
 * the download URL of a bill and keep the path.
 */
export function baseOf(ctx: Context, core: Core, payWay: PayWay): string {
  if (owned.has(ctx.req)) return `http://${ctx.host}`;
  const host = ctx.hostname.toLowerCase();
  return core.channelSimulator(payWay).hosts.includes(host) ? `https://${host}` : `${core.url}/${payWay}`;
}

/**
 * Adds the prefix `/<payWay>` to the path of a request that was sent to a real host name of the channel, or to an
 * address with only one channel. Such requests have no prefix. A redirect to the path with the prefix would fail,
 * because WeChat Pay's clients sign the path.
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
