// The words of the wire and of stored rows that every room speaks. This file imports nothing.

/** Stored states of an order. */
export const ORDER_STATES = ['created', 'pending', 'closing', 'closed', 'failed', 'paid'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

/** Stored states of a refund. */
export const REFUND_STATES = ['pending', 'processing', 'succeeded', 'failed', 'abnormal'] as const;
export type RefundState = (typeof REFUND_STATES)[number];

/** What the wire calls a refund's state: the stored one, or that a second administrator has to approve it. */
export const REFUND_STATUSES = [...REFUND_STATES, 'waiting_for_approval'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** What the wire calls an order's state: the stored one, or what the refunds make of a paid one. */
export const ORDER_STATUSES = [...ORDER_STATES, 'partially_refunded', 'refunded'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** Who or what closed an order; `payer` chose another channel. */
export const CLOSE_REASONS = ['merchant', 'admin', 'expired', 'channel', 'payer'] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/** Who asked for a refund: `late`, `surplus` and `skillpay` are the service's own, `channel` was made elsewhere, `dispute` was lost to the payer. */
export type RefundOrigin = 'merchant' | 'admin' | 'late' | 'surplus' | 'skillpay' | 'channel' | 'dispute';

/** What an order remembers of its product. */
export interface ProductSnapshot {
  code: string;
  name: string;
  kind: 'goods' | 'coin_package' | 'skill';
  version: number;
  priceMinor: string;
  currency: string;
  coin?: { code: string; amount: number; bonus: number } | null;
}

/** The facts about a channel that every room and payctl need by its wire name; the rest is its `ChannelKind`. */
interface ChannelFacts {
  /** Payers and operators know the channel by this name. */
  name: { en: string; zh: string };
  /** Payers pay with the app of this name. */
  app: { en: string; zh: string };
  /** HTTP headers have the name of the channel's operator. */
  operator: string;
  /** The channel takes no other currency; absent = its `ChannelKind` lists those that it takes. */
  onlyCurrency?: string;
  /** The kinds of certificates and keys of a configuration; each certificate whose private key is ours names the kind of that key. */
  certKinds: Readonly<Record<string, { key?: string }>>;
  /** The headers of an answer by which the channel's support finds the request again; the usual one first. */
  supportIdHeaders: readonly string[];
  /** The channel hands out the certificates by which it is verified. */
  handsOutCerts?: true;
  /** Notifications are registered by a call: all of them, so that without it none arrive, or those of complaints alone. */
  registers?: 'notifications' | 'complaints';
  /** The channel's page refuses payers without a `Referer` header. */
  needsReferrer?: true;
  /** The channel creates the trade when the payer scans the code: until then it knows no such order. */
  createsOnScan?: true;
  /** The channel sends a payer that has agreed back with its number of the order as `token`. */
  returnsWithToken?: true;
}

const channels = {
  alipay: {
    name: { en: 'Alipay', zh: '支付宝' },
    app: { en: 'Alipay', zh: '支付宝' },
    operator: 'Alipay',
    onlyCurrency: 'CNY',
    certKinds: {
      alipay_app_cert: { key: 'alipay_app_key' },
      alipay_public_cert: {},
      alipay_root_cert: {},
      alipay_public_key: {},
      alipay_app_key: {},
    },
    supportIdHeaders: ['trace_id', 'alipay-trace-id'],
    handsOutCerts: true,
    createsOnScan: true,
  },
  wechat: {
    name: { en: 'WeChat Pay', zh: '微信支付' },
    app: { en: 'WeChat', zh: '微信' },
    operator: 'Weixin',
    onlyCurrency: 'CNY',
    certKinds: {
      wechat_merchant_cert: { key: 'wechat_merchant_key' },
      wechat_merchant_key: {},
      wechat_platform_cert: {},
      wechat_public_key: {},
    },
    supportIdHeaders: ['Request-ID'],
    handsOutCerts: true,
    registers: 'complaints',
    needsReferrer: true,
  },
  paypal: {
    name: { en: 'PayPal', zh: 'PayPal' },
    app: { en: 'PayPal', zh: 'PayPal' },
    operator: 'PayPal',
    certKinds: { paypal_webhook_intermediate: {}, paypal_simulator_ca: {} },
    supportIdHeaders: ['PayPal-Debug-Id'],
    registers: 'notifications',
    returnsWithToken: true,
  },
} as const satisfies Readonly<Record<string, ChannelFacts>>;

/** The wire name of a channel. */
export type PayWay = keyof typeof channels;

/** The channels by their wire name. */
export const CHANNELS: Readonly<Record<PayWay, ChannelFacts>> = channels;

/** The kinds of certificates and keys of all channels. */
export const CERT_KINDS: readonly string[] = Object.values(CHANNELS).flatMap(({ certKinds }) => Object.keys(certKinds));

/** Certificates whose private key is ours, and the kind of that key. */
export const CERT_PAIRS: ReadonlyMap<string, string> = new Map(
  Object.values(CHANNELS).flatMap(({ certKinds }) =>
    Object.entries(certKinds).flatMap(([kind, { key }]) => (key === undefined ? [] : [[kind, key] as const])),
  ),
);

/** The channels' names for people, by their wire name. */
export function channelNames(of: 'name' | 'app', language: 'en' | 'zh'): Readonly<Record<PayWay, string>> {
  return Object.fromEntries(PAY_WAYS.map((payWay) => [payWay, CHANNELS[payWay][of][language]])) as Record<
    PayWay,
    string
  >;
}

/** The wire names of the channels. */
export const PAY_WAYS = Object.keys(CHANNELS) as readonly PayWay[];

/** The names of the channels in one line of English: `Alipay, WeChat Pay and PayPal`. */
export const CHANNEL_LIST = inEnglish(
  PAY_WAYS.map((payWay) => CHANNELS[payWay].name.en),
  'and',
);

/** Which currency the channels with only one take: `CNY for alipay and wechat`. */
export const ONLY_CURRENCIES = [...Map.groupBy(PAY_WAYS, (payWay) => CHANNELS[payWay].onlyCurrency)]
  .flatMap(([currency, payWays]) => (currency === undefined ? [] : [`${currency} for ${inEnglish(payWays, 'and')}`]))
  .join(', ');

/** Words in one line of English: `alipay, wechat or paypal`. */
export function inEnglish(words: readonly string[], join: 'and' | 'or'): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(` ${join} `);
}

/**
 * Decimals of the currencies that the channels take. A currency has the same minor unit in all amounts of the service: a channel that
 * writes one with other decimals converts at its border. HUF and TWD have none, because the only channel that takes them (PayPal)
 * takes whole units; that is also how their rows are stored.
 */
const EXPONENTS: Readonly<Record<string, number>> = {
  AUD: 2,
  BRL: 2,
  CAD: 2,
  CHF: 2,
  CNY: 2,
  CZK: 2,
  DKK: 2,
  EUR: 2,
  GBP: 2,
  HKD: 2,
  HUF: 0,
  ILS: 2,
  JPY: 0,
  MXN: 2,
  MYR: 2,
  NOK: 2,
  NZD: 2,
  PHP: 2,
  PLN: 2,
  SEK: 2,
  SGD: 2,
  THB: 2,
  TWD: 0,
  USD: 2,
};

/** Decimals of a currency; undefined when no channel takes it. */
export function exponentOf(currency: string): number | undefined {
  return Object.hasOwn(EXPONENTS, currency) ? EXPONENTS[currency] : undefined;
}

/** The currencies whose amounts have no decimals; those of all others have two. */
export const WITHOUT_DECIMALS: readonly string[] = Object.keys(EXPONENTS).filter((code) => EXPONENTS[code] === 0);

/** Where a configuration sends its traffic. */
export const MODES = ['simulator', 'sandbox', 'live'] as const;
export type Mode = (typeof MODES)[number];

/** How the payer is asked for the money. `code`: the payer shows a code in a shop, and the shop has read it. */
export const SCENES = ['qr', 'page', 'wap', 'app', 'h5', 'jsapi', 'mini', 'code', 'redirect'] as const;
export type Scene = (typeof SCENES)[number];

/** What a payer is handed; `code`: nothing, the payer confirms in the app whose code was read. */
export const PAY_HINTS = ['qr', 'redirect', 'app', 'jsapi', 'code'] as const;

/** What a payer needs to pay: exactly what the channel handed out for the scene. */
export interface PayHint {
  type: (typeof PAY_HINTS)[number];
  /** Text of the QR code. */
  qrCode?: string;
  url?: string;
  params?: Record<string, string>;
}

/** An item of the order as Alipay and WeChat Pay show it; `price` in minor units (fen) of one piece. */
export interface Goods {
  id: string;
  name: string;
  quantity: number;
  price: number;
}

/** What a merchant may ask of Alipay beyond the order itself (members of its own requests). */
export interface AlipayOptions {
  storeId?: string | undefined;
  operatorId?: string | undefined;
  terminalId?: string | undefined;
  /** The PID of the service provider who gets the commission. */
  sysServiceProviderId?: string | undefined;
  /** Comes back in the notices unchanged. */
  passbackParams?: string | undefined;
  /** Ways to pay that are offered alone, or that are not. */
  enablePayChannels?: readonly string[] | undefined;
  disablePayChannels?: readonly string[] | undefined;
  goods?: readonly Goods[] | undefined;
}

/** What a merchant may ask of WeChat Pay beyond the order itself. */
export interface WechatOptions {
  attach?: string | undefined;
  goodsTag?: string | undefined;
  /** Offers the payer an electronic invoice. */
  supportFapiao?: boolean | undefined;
  /** Refused when true: the money would stay frozen until it is shared or released, which nothing here does. */
  profitSharing?: boolean | undefined;
  storeId?: string | undefined;
  deviceId?: string | undefined;
  goods?: readonly Goods[] | undefined;
}

/** What a merchant may ask of PayPal beyond the order itself. */
export interface PaypalOptions {
  /** Shown instead of the business name. */
  brandName?: string | undefined;
  /** BCP 47, as PayPal takes it: `en-GB`. */
  locale?: string | undefined;
  landingPage?: 'LOGIN' | 'GUEST_CHECKOUT' | 'NO_PREFERENCE' | undefined;
  /** Ways to pay whose money comes later are refused. */
  immediatePayment?: boolean | undefined;
  /** What the payer's statement says behind PAYPAL. */
  softDescriptor?: string | undefined;
}

/** By channel: an order keeps only those of its own. */
export interface ChannelOptions {
  alipay?: AlipayOptions | undefined;
  wechat?: WechatOptions | undefined;
  paypal?: PaypalOptions | undefined;
}

/**
 * What other rooms do when an order or refund moves: stock, coins, pay-per-call. It runs in a savepoint, so that a fact commits even
 * when it fails; `mayRefuse` = a refusal stops the whole change (a person asked for it).
 */
export interface EffectRun {
  readonly name: string;
  readonly run: readonly ('paid' | 'ended' | 'refundReserved' | 'refundSucceeded' | 'refundFailed')[];
  readonly mayRefuse?: true;
}

/** Where a dispute stands: `needs_answer` waits for the merchant, `lost` and `won` are its ends. */
export const DISPUTE_STATES = ['open', 'needs_answer', 'under_review', 'won', 'lost'] as const;
export type DisputeState = (typeof DISPUTE_STATES)[number];

/** A bound of amounts of every currency, in minor units of those that have no decimals and of those that have two. */
export interface AmountBound {
  whole: bigint;
  decimal: bigint;
}

/**
 * Where a bill stands. `waiting`: the channel is to be asked for it. `reading`: its file is read into lines. `matching`: its lines are
 * to be compared with the orders. `done`: compared. `refused`: the file was not the bill that it should be, or the channel gives none
 * to this account. `missing`: the channel gives none any more.
 */
export const BILL_STATES = ['waiting', 'reading', 'matching', 'done', 'refused', 'missing'] as const;
export type BillState = (typeof BILL_STATES)[number];

/** Where a bill came from. */
export const BILL_SOURCES = ['channel', 'import'] as const;
export type BillSource = (typeof BILL_SOURCES)[number];

/**
 * What a line of a bill is about. `pending`: a refund that was under way when the bill was made, and whose line stays so whatever becomes
 * of it. `dispute`: what a chargeback took or gave back. `other`: any other line (a transfer, a refund that failed). `unreadable`: a row
 * that could not be read; its amounts are 0, and `event` says where and why.
 */
export const BILL_LINE_KINDS = ['payment', 'refund', 'pending', 'dispute', 'fee', 'other', 'unreadable'] as const;
export type BillLineKind = (typeof BILL_LINE_KINDS)[number];

/** One line of a bill. Amounts are minor units of `currency`. */
export interface BillLine {
  /** Its place in the bill, from 1, without gaps: a bill is read alike each time. */
  line: number;
  kind: BillLineKind;
  /** The channel's own word for what happened. */
  event: string;
  /** The number of the order that the channel repeats, ours or another system's. */
  orderNo: string | null;
  /** The number of the refund that the channel repeats, ours or another system's. */
  refundNo: string | null;
  /** The channel's number of the payment. */
  channelTradeNo: string | null;
  /** The channel's number of the refund, or of what a dispute moved. */
  channelRefundNo: string | null;
  currency: string;
  /**
   * Of a payment what the order is over, of a refund what of it goes back, both never negative; of others what the account gained or lost.
   */
  amount: bigint;
  /** What the merchant gave up of the amount, so that it is never settled; negative when that comes back with a refund. */
  discount: bigint;
  /** What the channel kept of it; negative when it gave a fee back. Of a line that is a fee this is the fee, and `amount` is 0. */
  fee: bigint;
  /** What went on to those with whom the merchant shares; negative when they gave it back. */
  share: bigint;
  at: Date;
  /** The line as the channel wrote it, decoded. */
  raw: string;
}

/** What a channel should keep of a payment: a share of it, and an amount for each in minor units of a currency. */
export interface FeeRate {
  /** As a decimal: `0.006`. */
  share: string;
  fixed: bigint;
  /** Whose minor units `fixed` are; payments in others are not compared. null = nothing is fixed. */
  fixedCurrency: string | null;
}

/** How a bill and the orders of its account may differ. A line without a number of our form is counted and is no difference. */
export const DIFFERENCE_KINDS = [
  'paid_unknown_to_us',
  'paid_missing_at_channel',
  'amount_differs',
  'currency_differs',
  'refund_unknown_to_us',
  'refund_missing_at_channel',
  'refund_amount_differs',
  'fee_differs',
  'duplicate_payment',
  'line_twice',
  'order_unknown_here',
  'dispute_unknown_to_us',
  'line_unreadable',
] as const;
export type DifferenceKind = (typeof DIFFERENCE_KINDS)[number];

/** Lines of other systems at the same account: counted in every bill, listed when they are asked for. */
export const NOT_OURS = 'order_not_ours';

/**
 * Where a difference stands. `open`: the channel is to be asked. `healed`: bill and order agree by now. `listed`: the channel was
 * asked and they still differ, so it is an exception. `ended`: a person resolved that.
 */
export const DIFFERENCE_STATES = ['open', 'healed', 'listed', 'ended'] as const;
export type DifferenceState = (typeof DIFFERENCE_STATES)[number];

/** One of the two sides of a difference: what stands in the bill, or in our books. Amounts are minor units as text. */
export interface DifferenceSide {
  state?: string | undefined;
  amount?: string | undefined;
  currency?: string | undefined;
  fee?: string | undefined;
  channelNo?: string | undefined;
  at?: string | undefined;
  line?: number | undefined;
  /** Why the line could not be read, with its line and column in the file. */
  reason?: string | undefined;
}

/** What the lines of a bill come to for one project and currency, in minor units as text; `project` null = other systems. */
export interface BillSum {
  project: string | null;
  currency: string;
  payments: number;
  paid: string;
  refunds: number;
  refunded: string;
  /** What the merchant gave up of payments, less what came back of it with refunds. */
  discounts: string;
  fees: string;
  /** What went on to those with whom the merchant shares. */
  shares: string;
  /** What disputes took from the account, as a positive amount. */
  disputed: string;
  /** What else moved money of the account. */
  other: string;
  /** Refunds that were under way when the bill was made: in none of these sums, because only our books know their end. */
  pending: number;
  /** The net of payments that the channel had held, by the other day on which it completed them. Absent = none. */
  onOtherDays?: Readonly<Record<string, string>>;
}

/** Refunds that a bill says are under way, by their end in our books. Minor units as text. */
export interface PendingRefunds {
  billNo: string;
  project: string | null;
  currency: string;
  /** `open` = their end is not known: they are under way, stuck, or another system's. */
  end: 'succeeded' | 'failed' | 'open';
  refunds: number;
  refunded: string;
  discounts: string;
  fees: string;
  shares: string;
}

/** Kinds of exceptions: what a person should look at. */
export const EXCEPTION_KINDS = [
  'late_paid',
  'order_overdue',
  'capture_held',
  'amount_mismatch',
  'double_paid',
  'payment_of_another_order',
  'refund_overrun',
  'refund_abnormal',
  'refund_overdue',
  'refund_mismatch',
  'refund_reversed',
  'refund_bank_refused',
  'refund_elsewhere',
  'refund_after_delivery',
  'refund_unexplained',
  'out_of_stock',
  'effect_failed',
  'coins_debt',
  'unclaimed',
  'fulfilment_failed',
  'delivery_unconfirmed',
  'unmatched_notice',
  'dispute',
  ...DIFFERENCE_KINDS,
] as const;
export type ExceptionKind = (typeof EXCEPTION_KINDS)[number];

/** Scopes that any application may have. */
export const merchantScopes = [
  'payment:write',
  'payment:read',
  'skillpay:call',
  'user:read',
  'user:write',
  'coin:read',
  'coin:write',
] as const;

/** Scopes that reach into configuration; only applications marked as trusted may have them. */
export const trustedScopes = ['config:read', 'config:write', 'cert:manage', 'admin'] as const;

/** Every scope there is; `admin` stands for all of `/api/v2` and for nothing of `/api/v1`. */
export const scopes = [...merchantScopes, ...trustedScopes] as const;

/** A scope of an API application. */
export type Scope = (typeof scopes)[number];

/** What administrators may be, from the least to the most. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

/** A viewer reads; an operator moves money (orders, refunds, exceptions, disputes, bills); an admin may do everything. */
export type Role = (typeof ROLES)[number];

/** Ids as the service writes them: another text is refused before PostgreSQL would take it for a fault. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
