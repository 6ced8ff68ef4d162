import type { Channel, ChannelKind, Mode, Notice, PayWay } from './channel.ts';
import type { OrderRow } from '../db/entities/orders.ts';

import type { RefundRow } from '../db/entities/refunds.ts';
import type { Store, Tx } from '../db/store.ts';
import type { AppError } from '../errors.ts';
import type { Audit } from '../identity/audit.ts';
import type { Actor } from '../identity/ports.ts';
import type { UrlRule } from '../outgoing/url-rule.ts';
import type { NoticeRefusal } from './notice-refusal.ts';

/** Whose orders are in reach: an app sees its own, the console any. */
export type Owner = { clientId: string } | 'any';

/** A channel as it is configured now for new orders. */
export interface ActiveChannel {
  channel: Channel;
  kind: ChannelKind;
  mode: Mode;
  account: string;
  configVersion: number;
}

/** A channel that a notice may have come from. */
export interface NoticeChannel {
  channel: Channel;
  mode: Mode;
  account: string;
  /** The configuration versions that it speaks for: those with the same identity. */
  versions: ReadonlySet<number>;
  /** The same, whatever apps they name: money of theirs is the same party's. */
  payeeVersions: ReadonlySet<number>;
}

/** Where channels come from (credentials/channels.ts). */
export interface Channels {
  /** For a new order; refuses with channel_disabled or channel_not_configured (422). */
  forNew(project: string, payWay: PayWay): Promise<ActiveChannel>;
  /** The same for several at once: of each its channel, or why it takes no orders. */
  forNewAmong(project: string, payWays: readonly PayWay[]): Promise<(ActiveChannel | AppError)[]>;
  /** For an order in flight: its own account and identity, with that account's newest keys. */
  forOrder(order: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode' | 'configVersion'>): Promise<Channel>;
  /** Every identity of every account whose notices may still arrive for this project, the newest first. */
  forNotices(project: string, payWay: PayWay): Promise<NoticeChannel[]>;
  kindOf(payWay: PayWay): ChannelKind;
}

/** An event for the durable log (events/record.ts). */
export interface NewEvent {
  type: string;
  clientId: string;
  project: string;
  objectNo: string;
  dedupe: string;
  /** When what it is about began: nothing was told of it before. */
  since: Date;
  object: Record<string, unknown>;
  notifyUrl?: string | null;
}

/** What a pay request said about the price itself. */
export interface Asked {
  amount?: number | string | undefined;
  currency?: string | undefined;
}

/** What else happens when an order or refund moves: stock, coins, pay-per-call. Each runs in a savepoint and may not stop a fact. */
export interface Effects {
  /** Only orders of this kind have to do with it; left out = all. */
  readonly only?: OrderRow['kind'];
  /** Before an order is created: refuses blocked payers and wrong prices. May change the draft. */
  admit(tx: Tx, draft: OrderRow, asked: Asked): Promise<void>;
  /** In the commit of the new order, when it is written: takes its stock or refuses; gives what the order is otherwise then. */
  hold(tx: Tx, order: OrderRow, asked: Asked): Promise<Partial<OrderRow> | undefined>;
  /** Late money was accepted for an ended order: is there still stock? */
  readmit(tx: Tx, order: OrderRow): Promise<boolean>;
  paid(tx: Tx, order: OrderRow): Promise<void>;
  /** Closed or failed: stock goes back. */
  ended(tx: Tx, order: OrderRow): Promise<void>;
  /** In R1's commit; may refuse (409 coins_spent) unless `forced`. */
  refundReserved(tx: Tx, order: OrderRow, refund: RefundRow, forced: boolean): Promise<void>;
  refundSucceeded(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void>;
  refundFailed(tx: Tx, order: OrderRow, refund: RefundRow): Promise<void>;
}

/** A genuine message of a channel about an order, for the timeline. */
interface HeardMessage {
  orderNo: string;
  refundNo: string | null;
  payWay: PayWay;
  call: string;
  status: number;
  request: string;
  answer: string;
  /** What became of it, and which account's key verified it. */
  note: string;
}

/** Everything the operations of this folder need. */
export interface Ports {
  store: Store;
  /** Where lists, exports and figures are read: a replica that may be a little behind. Nothing that decides reads here. */
  reports: Pick<Store, 'read'>;
  channels: Channels;
  now: () => Date;
  recordEvent: (tx: Tx, event: NewEvent) => Promise<void>;
  /** Appends to the audit log; the last statement of a transaction. */
  audit: Audit;
  effects: Effects;
  publicUrl: string;
  /** Whether an order's own notifyUrl would ever be called. */
  urlFault: UrlRule;
  /** A notice of a payment of more than this, in major units of its currency, counts only when the channel confirms it. */
  confirmAbove: number;
  /** Refunds of an order above this, in major units, wait for a second administrator; 0 = none. */
  refundAbove: number;
  patience: Patience;
  log: (level: 'info' | 'warn' | 'error', message: string, details?: Record<string, unknown>) => void;
  /** Named places between awaits where tests let the process die. */
  checkpoint: (name: string) => void;
  /** Keeps a message for the timeline; not a fact, and never waited for. */
  heard: (message: HeardMessage) => void;
  /** Hears of every question to a channel: how long it took, and whether nobody knows what the channel did. */
  asked?: ((call: { payWay: PayWay; isUnknown: boolean; ms: number }) => void) | undefined;
  /** Hears what became of every notification of a channel: null = it was genuine, and otherwise why it was refused. */
  noticed?: ((of: { project: string; payWay: PayWay }, refusal: NoticeRefusal | null) => void) | undefined;
  /** Counts a fault for the metrics. */
  count: (name: string, labels?: Record<string, string>) => void;
}

/** Who asks, and whose orders are in reach. */
export interface Asker {
  owner: Owner;
  actor: string;
  /** Who is behind it when it is a person: what people do to money is audited. */
  person?: Actor | undefined;
  /** Throws 403 unless the person has just given password and second factor. */
  confirmed?: (() => void) | undefined;
}

/** How long somebody waits at most for what others do (ms); what is under way goes on, and is settled whenever it ends. */
export interface Patience {
  /** A query, for the channel. */
  query: number;
  /** The page of a payer who came back, for the channel. */
  page: number;
  /** A 402, for a code of WeChat's agents. */
  agentCode: number;
  /** A paid call, for its work. */
  work: number;
}

/** As long as people and programs wait willingly. */
export const PATIENCE: Patience = { query: 2_000, page: 3_000, agentCode: 2_000, work: 8_000 };

/** The result, or undefined when it takes longer; a late failure is nobody's and stays silent here. */
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

/** Whether a notice may speak about an order: everything that says whose money it is must be what the order pins. */
export function speaksFor(
  { project, payWay, from, notice }: Omit<Arrived, 'notice'> & { notice: Pick<Notice, 'account' | 'appIds'> },
  order: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode' | 'configVersion' | 'appId'>,
): boolean {
  const isHere = order.project === project && order.payWay === payWay;
  // An app that both name says it better than the version: it stays what it was, however the configuration changed. But one app
  // may serve several merchants of a partner, so the version must have had the same one.
  const isIts =
    order.appId !== null && notice.appIds !== undefined
      ? notice.appIds.includes(order.appId) && from.payeeVersions.has(order.configVersion)
      : from.versions.has(order.configVersion);
  return isHere && order.account === notice.account && order.mode === from.mode && isIts;
}

/** Where a genuine notice arrived, what it says, and whose keys and names it was read with. */
export interface Arrived {
  project: string;
  payWay: PayWay;
  from: NoticeChannel;
  notice: Notice;
}
