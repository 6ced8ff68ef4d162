import type { Channel, ChannelKind, Mode, Notification, PayWay } from './channel.ts';
import type { OrderRow } from '../db/entities/orders.ts';

import type { RefundRow } from '../db/entities/refunds.ts';
import type { ShownOrder } from '../db/queries/orders.ts';
import type { Store, Tx } from '../db/store.ts';
import type { AppError } from '../errors.ts';
import type { Audit } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { NotificationRefusal } from './notification-refusal.ts';

/** The orders that a caller may see: an application sees its own orders, the console sees all (`any`). */
export type Owner = { clientId: string } | 'any';

export interface ActiveChannel {
  channel: Channel;
  kind: ChannelKind;
  mode: Mode;
  account: string;
  configVersion: number;
}

/** An account from which a notification may have been sent, with the channel configuration of this account. */
export interface NotificationChannel {
  channel: Channel;
  mode: Mode;
  account: string;
  /**
   * The configuration versions with the same account, app and merchant as `channel`. The notification may be about an
   * order of any of these versions.
   */
  versions: ReadonlySet<number>;
  /** The configuration versions with the same payee (merchant) as `channel`. The app may differ. */
  payeeVersions: ReadonlySet<number>;
}

export interface Channels {
  /** The channel for a new order. Throws channel_disabled or channel_not_configured (422). */
  forNew(project: string, payWay: PayWay): Promise<ActiveChannel>;
  /** For a channel that accepts no orders, the result contains the error. */
  forNewAmong(project: string, payWays: readonly PayWay[]): Promise<(ActiveChannel | AppError)[]>;
  /**
   * The channel of an existing order. It uses the account, app and merchant that the order stores, and the newest keys
   * of the account.
   */
  forOrder(order: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode' | 'configVersion'>): Promise<Channel>;
  /**
   * One entry for each account identity that may still send notifications for this project, newest first. An account
   * has several identities if its app or merchant changed.
   */
  forNotifications(project: string, payWay: PayWay): Promise<NotificationChannel[]>;
  kindOf(payWay: PayWay): ChannelKind;
}

export interface NewEvent {
  type: string;
  clientId: string;
  project: string;
  objectNo: string;
  dedupe: string;
  /** Creation time of the order. The search for a duplicate of the event ignores all earlier events. */
  since: Date;
  object: Record<string, unknown>;
  notifyUrl?: string | null;
}

export interface RequestedPrice {
  amount?: number | string | undefined;
  currency?: string | undefined;
}

/**
 * The side effects of a state change of an order or refund, for example on stock, coins and pay-per-call. If a side
 * effect fails, the channel's outcome is stored nevertheless. Only `admit`, `hold` and `refundReserved` may reject a
 * request. `refundReserved` may do so only if its parameter `forced` is false.
 */
export interface Effects {
  /** The kind of orders that these side effects apply to; absent = all kinds. */
  readonly only?: OrderRow['kind'];
  /** Called before an order is stored: rejects blocked payers and wrong prices. May change fields of `draft`. */
  admit(tx: Tx, draft: OrderRow, requested: RequestedPrice): Promise<void>;
  /** Called in a new order's transaction, after its insert: reserves stock or throws. Returns the changed fields. */
  hold(tx: Tx, order: OrderRow, requested: RequestedPrice): Promise<Partial<OrderRow> | undefined>;
  /** Called if a payment arrives after the order ended: reserves stock again. Returns false if no stock is left. */
  readmit(tx: Tx, order: OrderRow): Promise<boolean>;
  paid(tx: Tx, order: OrderRow): Promise<void>;
  /** Called when an order is closed or failed: releases its stock. */
  ended(tx: Tx, order: OrderRow): Promise<void>;
  /**
   * Called in a new refund's transaction. `forced`: the channel or the service must make the refund; the function must
   * not reject it then.
   */
  refundReserved(tx: Tx, order: OrderRow, refund: RefundRow, forced: boolean): Promise<void>;
  refundSucceeded(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void>;
  refundFailed(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void>;
}

interface ReceivedMessage {
  orderNo: string;
  refundNo: string | null;
  payWay: PayWay;
  call: string;
  status: number;
  request: string;
  answer: string;
  /** The result of handling the message. */
  note: string;
  /** The account whose key verified the message. */
  verifiedBy: string;
}

export interface Ports {
  store: Store;
  /** Reads lists, exports and statistics from a database replica that may lag. Decisions about money never use it. */
  reports: Pick<Store, 'read'>;
  /** Reads an order with its related rows from `store`, in one statement with the orders that other requests read. */
  readShown: (orderNo: string) => Promise<ShownOrder | undefined>;
  channels: Channels;
  now: () => Date;
  recordEvent: (tx: Tx, event: NewEvent) => Promise<void>;
  /** Appends an entry to the audit log. The call must be the last statement of its transaction. */
  audit: Audit;
  effects: Effects;
  publicUrl: string;
  /** Returns the reason why the service would never call the notifyUrl of an order, or undefined. */
  urlFault: UrlRule;
  /** A notification of a payment above this amount (major units) is accepted only after a query confirms it. */
  confirmAbove: number;
  /** If the refunds of an order exceed this sum (major units), a second administrator must approve; 0 = no limit. */
  refundAbove: number;
  patience: Patience;
  log: (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
  /** Called at a named point between two awaits. Tests can kill the process at this point. */
  checkpoint: (name: string) => void;
  /** Queues a message for the timeline. The message may be lost, and no operation waits until it is stored. */
  onReceived: (message: ReceivedMessage) => void;
  onChannelCall?: ((call: { payWay: PayWay; isUnknown: boolean; ms: number }) => void) | undefined;
  /** Called for each notification. `refusal`: the reason of the rejection; null = the notification was verified. */
  onNotification?: ((of: { project: string; payWay: PayWay }, refusal: NotificationRefusal | null) => void) | undefined;
  count: (name: 'notification' | 'notification_refused' | 'order_exception', labels?: Record<string, string>) => void;
}

export interface Requester {
  owner: Owner;
  actor: string;
  /** The administrator who made the call, for the audit log. */
  person?: Actor | undefined;
  /** Throws 403 unless the administrator has just confirmed with password and second factor. */
  confirmed?: (() => void) | undefined;
}

/**
 * The maximum waiting times, in milliseconds. When the time is over, the work continues in the background and its
 * result is stored.
 */
export interface Patience {
  query: number;
  /** How long the page of a returning payer waits for the channel. */
  page: number;
  /** How long a 402 response waits for the code of WeChat Pay with which an AI agent pays. */
  agentCode: number;
  /** How long a paid pay-per-call request waits for the content that the payer bought. */
  work: number;
}

export const PATIENCE: Patience = { query: 2_000, page: 3_000, agentCode: 2_000, work: 8_000 };

/** Returns the result of `work`, or undefined if it takes longer than `ms` milliseconds. A later error is ignored. */
export async function within<T>(ms: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, patience]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a notification may belong to an order: project, channel, account, mode and payee must be equal. */
export function speaksFor(
  {
    project,
    payWay,
    from,
    notification,
  }: Omit<Arrived, 'notification'> & { notification: Pick<Notification, 'account' | 'appIds'> },
  order: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode' | 'configVersion' | 'appId'>,
): boolean {
  const isHere = order.project === project && order.payWay === payWay;
  // If both the order and the notification name an app, the app must be the same, because a new configuration does not
  // change the app of an order. The payee must be the same too, because one app may serve several merchants of a
  // partner.
  const isIts =
    order.appId !== null && notification.appIds !== undefined
      ? notification.appIds.includes(order.appId) && from.payeeVersions.has(order.configVersion)
      : from.versions.has(order.configVersion);
  return isHere && order.account === notification.account && order.mode === from.mode && isIts;
}

/** A verified notification: its project and channel, its content, and the configuration that verified it. */
export interface Arrived {
  project: string;
  payWay: PayWay;
  from: NotificationChannel;
  notification: Notification;
}
