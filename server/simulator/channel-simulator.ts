/**
 * The interface of a channel simulator and the parts that all of them share. To add a channel:
 *
 * 1. write `server/simulator/<payWay>/simulator.ts` that exports a `ChannelSimulator`, with the same files beside it as the other
 *    channels, and add it to CHANNEL_SIMULATORS in simulator.ts; `test/journeys/added-channel/simulator.ts` is a minimal one;
 * 2. `hosts` are the host names under which the channel is served at the root (`leadToChannel`); `mount` registers its routes below
 *    `/<payWay>` (the adapter's base address is `<simulator>/<payWay>`); the raw body of a request is `rawBodyOf(ctx)` from requests.ts;
 * 3. a route checks the request as strictly as the channel does and answers a bad one with `write(ctx, …)`; a good one becomes
 *    `core.answer(ctx, { payWay, account, call, orderNo, act, sign })`: `act` changes trades through `core.trades` (each change
 *    is in the ledger before the call returns) and returns the unsigned answer, `sign` signs it. `core.answer` chooses and applies
 *    all faults; `act` checks `fault` for faults that change the effect (`query-lag`, `pending-refund`, `wrong-amount`,
 *    `capture-pending` …), `sign` for faults that change the signature (`wrong-key`, `no-signature`, `duplicate-key`, `clock-skew`,
 *    `unknown-serial`, `signtest`). `tampered`, `half-body`, `html`, all timeouts and delays need no code in a channel simulator.
 *    `wrong-key` signs with `core.strangerKey`;
 * 4. fixed outcomes: `trade.fixed`. A create answers `declined` with a definite refusal before it creates a trade
 *    (`fixedOutcome()`), calls `core.startFixed(trade)` once after `core.trades.create`, and returns `silent: true` for the first
 *    create of a `silent` one; a refund of `refunds-fail` is refused;
 * 5. a refund is made with `core.refund(trade, draft, fault)`, which applies all refund faults and schedules later states;
 * 6. a notification is `core.notifications.send(trade, { id, event, url, facts }, core.notificationDelay(trade))`; `signNotification`
 *    signs it anew for every delivery and must write the same facts each time.
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
  /** A key that no account has: `wrong-key` signs with it. */
  readonly strangerKey: KeyObject;
  readonly log: (message: string, about?: object) => void;
  channelSimulator(payWay: PayWay): ChannelSimulator;
  /** Answers an authenticated call and applies the fault that is set for the call. */
  answer(ctx: Context, exchange: Exchange): Promise<void>;
  /** Returns the address of the payer's page of a trade. */
  payUrl(trade: Trade): string;
  /**
   * Starts the outcome that is fixed for a new trade's exact amount (`FixedOutcome`); call it once, after creating the
   * trade.
   */
  startFixed(trade: Trade): void;
  /** Makes a refund and applies the fault. Throws SimulatorRefusal `refund_too_much`. */
  refund(trade: Trade, draft: RefundDraft, fault?: FaultName): Refund;
  /** The delay of a trade's notifications in ms, before it is multiplied by the time factor. */
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
  /** The channel's own host names in lower case; under these it is served at the root. */
  readonly hosts: readonly string[];
  readonly billRules: BillRules;
  /** Seconds between an unacknowledged delivery and the next one. */
  readonly notificationSchedule: readonly number[];
  /** Adds the routes of the channel, below `/<payWay>`, or at fixed paths that its clients cannot change. */
  mount(router: Router, core: Core): void;
  /** Creates the ids, keys and certificates of a new account. `options` come from the body of /sim/accounts. */
  newSecrets(core: Core, name: string, options: Readonly<Record<string, unknown>>): Promise<Record<string, string>>;
  /** Returns an account as ordinary channel configuration. */
  configFor(account: Account, core: Core): SimulatedChannelConfig;
  /** The payer pays (PayPal: approves); notifications follow. Throws SimulatorRefusal when the channel would refuse the payment. */
  pay(core: Core, trade: Trade): void;
  /**
   * Returns the details of a second trade under the same order number; absent = the channel has one trade per number.
   */
  detailsOfAnother?(core: Core, trade: Trade): Record<string, unknown>;
  /**
   * Returns the draft of a second order with the same merchant numbers, for a channel with ids of its own; absent = see
   * `detailsOfAnother`.
   */
  twinOf?(core: Core, trade: Trade): Pick<TradeDraft, 'id' | 'details'>;
  /** Captures a payment that the payer approved; absent = `pay` completes the payment. */
  take?(core: Core, trade: Trade): void;
  /** The merchant accepts or denies a pending capture; absent = the channel has no captures. */
  moveCapture?(core: Core, trade: Trade, state: 'completed' | 'declined'): void;
  /** Sends the merchant an event of any type; `isTest` = as from the dashboard. Absent = the channel has no such events. */
  sendEvent?(
    core: Core,
    trade: Trade,
    event: { type: string; resource: Record<string, unknown>; isTest: boolean },
  ): void;
  /** The payer declines. */
  decline(core: Core, trade: Trade): void;
  /** The payer opens a signed address without a trade (Alipay page, wap, app); undefined = another channel's address. */
  open?(core: Core, payUrl: string): Trade | undefined;
  /** Notifies the merchant of a refund made in its portal (origin `portal`, state succeeded) or of a refund's new state. */
  notifyRefund(core: Core, trade: Trade, refund: Refund): void;
  /** Notifies the merchant whether the payer's bank accepted a refund; absent = the channel does not report it. Throws SimulatorRefusal. */
  notifyBank?(core: Core, trade: Trade, refund: Refund): void;
  /** Applies an action of payer or channel to a dispute; absent = the channel simulates no disputes. */
  dispute?(core: Core, trade: Trade, action: DisputeAction): object;
  /** Returns a new channel number for a refund. */
  newRefundNumber(core: Core): string;
  /** Returns the bytes and headers of one delivery. `fault`: wrong-key, no-signature, clock-skew, unknown-serial, signtest, wrong-amount … */
  signNotification(
    core: Core,
    notification: NotificationRecord,
    fault: FaultName | undefined,
  ): SignedNotification | Promise<SignedNotification>;
  /** Whether the receiver's response ends the deliveries. */
  acknowledged(status: number, body: string): boolean;
  /**
   * Replaces a key, certificate or setting of an account in `account.secrets`. `to` is the new value of a setting that
   * merchants enter themselves. Throws SimulatorRefusal for an unknown `what`.
   */
  rotate(core: Core, account: Account, what: string, to?: string): Promise<void>;
}

/** Requests that arrived at a channel's own address, with that channel. */
const owned = new WeakMap<IncomingMessage, PayWay>();

/** Wraps a listener for the address of one channel, which is served at the root there. */
export function listenFor(payWay: PayWay, listener: RequestListener): RequestListener {
  return (request, response) => {
    owned.set(request, payWay);
    listener(request, response);
  };
}

/**
 * Returns the channel's base address as the client called it, without a slash at the end; the channel's own links start with it.
 * A client with a fixed host replaces the host of a bill's address and requests the rest.
 */
export function baseOf(ctx: Context, core: Core, payWay: PayWay): string {
  if (owned.has(ctx.req)) return `http://${ctx.host}`;
  const host = ctx.hostname.toLowerCase();
  return core.channelSimulator(payWay).hosts.includes(host) ? `https://${host}` : `${core.url}/${payWay}`;
}

/**
 * Rewrites requests at a root to the channel's path: at the channel's own address, and under its host names. Clients with a fixed
 * host request the paths of that host; WeChat Pay's clients sign the path, so they cannot be redirected.
 */
export function leadToChannel(
  channelSimulators: readonly ChannelSimulator[],
): (ctx: Context, next: Next) => Promise<void> {
  const byHost = new Map(
    channelSimulators.flatMap(({ payWay, hosts }) => hosts.map((host) => [host, payWay] as const)),
  );
  return async (ctx, next) => {
    const payWay = owned.get(ctx.req) ?? byHost.get(ctx.hostname.toLowerCase());
    // The requested and signed path stays in ctx.originalUrl.
    if (payWay !== undefined) ctx.path = `/${payWay}${ctx.path}`;
    await next();
  };
}
