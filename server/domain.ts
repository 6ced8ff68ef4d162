// Names and types that API messages and database rows use. All folders import this file, so it imports nothing itself.

export const ORDER_STATES = ['created', 'pending', 'closing', 'closed', 'failed', 'paid'] as const;
export type OrderState = (typeof ORDER_STATES)[number];

export const REFUND_STATES = ['pending', 'processing', 'succeeded', 'failed', 'abnormal'] as const;
export type RefundState = (typeof REFUND_STATES)[number];

/** States in API responses. `waiting_for_approval`: a second administrator must approve the refund. */
export const REFUND_STATUSES = [...REFUND_STATES, 'waiting_for_approval'] as const;
export type RefundStatus = (typeof REFUND_STATUSES)[number];

/** States in API responses. Refunds give a paid order one of the last two. */
export const ORDER_STATUSES = [...ORDER_STATES, 'partially_refunded', 'refunded'] as const;
export type OrderStatus = (typeof ORDER_STATUSES)[number];

/** The reason why an order was closed; `payer`: the payer chose another channel. */
export const CLOSE_REASONS = ['merchant', 'admin', 'expired', 'channel', 'payer'] as const;
export type CloseReason = (typeof CLOSE_REASONS)[number];

/**
 * The requester of a refund, or the reason why it exists. `late`: the service refunds a payment that arrived after the
 * order had ended. `surplus`: the service refunds a payment that the order does not count, for example a second
 * payment. `skillpay`: the service refunds a pay-per-call order. `channel`: the refund was made outside the service,
 * for example in the channel's portal. `dispute`: the payer won a dispute.
 */
export type RefundOrigin = 'merchant' | 'admin' | 'late' | 'surplus' | 'skillpay' | 'channel' | 'dispute';

/** The project that every installation has from the start. Payers see its name only after it has been changed. */
export const FIRST_PROJECT = { code: 'default', name: 'Default' } as const;

export interface ProductSnapshot {
  code: string;
  name: string;
  kind: 'goods' | 'coin_package' | 'skill';
  version: number;
  priceMinor: string;
  currency: string;
  coin?: { code: string; amount: number; bonus: number } | null;
}

/** One text in both languages. */
export interface Words {
  en: string;
  zh: string;
}

/**
 * Facts about a channel that all folders and payctl need. Other facts are in its `ChannelKind` (payments/channel.ts).
 */
interface ChannelFacts {
  name: Words;
  /** The name of the app that payers pay with. */
  app: Words;
  /** The channel's operator, as used in names of HTTP headers. */
  operator: string;
  /** The only currency that the channel accepts; absent = its `ChannelKind` lists the accepted currencies. */
  onlyCurrency?: string;
  /** `key` is the kind of the private key that belongs to the certificate; absent = none belongs to it. */
  certKinds: Readonly<Record<string, { key?: string }>>;
  /** Response headers with the id for which the channel's support asks; the most common header comes first. */
  supportIdHeaders: readonly string[];
  /** True if the certificates that verify the channel's messages can be downloaded from the channel. */
  handsOutCerts?: true;
  /**
   * The messages that the channel sends only after the service has registered its URL by an API call. `notifications`:
   * all messages. `complaints`: only messages about complaints. Absent = no registration is necessary.
   */
  registers?: 'notifications' | 'complaints';
  /** True if the channel's payment page refuses payers whose browser sends no `Referer` header. */
  needsReferrer?: true;
  /** True if the payment exists only after the payer scans the QR code; before that, a query finds nothing. */
  createsOnScan?: true;
  /** True if the channel adds its own order id as the parameter `token` to the URL to which it redirects the payer. */
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

export type PayWay = keyof typeof channels;

export const CHANNELS: Readonly<Record<PayWay, ChannelFacts>> = channels;

export const CERT_KINDS: readonly string[] = Object.values(CHANNELS).flatMap(({ certKinds }) => Object.keys(certKinds));

/** For each kind of certificate that has a private key, the kind of this key. */
export const CERT_PAIRS: ReadonlyMap<string, string> = new Map(
  Object.values(CHANNELS).flatMap(({ certKinds }) =>
    Object.entries(certKinds).flatMap(([kind, { key }]) => (key === undefined ? [] : [[kind, key] as const])),
  ),
);

/** The names of all channels, or of the apps with which payers pay, in one language. */
export function channelNames(of: 'name' | 'app', language: 'en' | 'zh'): Readonly<Record<PayWay, string>> {
  return Object.fromEntries(PAY_WAYS.map((payWay) => [payWay, CHANNELS[payWay][of][language]])) as Record<
    PayWay,
    string
  >;
}

export const PAY_WAYS = Object.keys(CHANNELS) as readonly PayWay[];

/** The channel names joined in English: `Alipay, WeChat Pay and PayPal`. */
export const CHANNEL_LIST = inEnglish(
  PAY_WAYS.map((payWay) => CHANNELS[payWay].name.en),
  'and',
);

/** The currency of each channel that accepts only one currency, as text for messages: `CNY for alipay and wechat`. */
export const ONLY_CURRENCIES = [...Map.groupBy(PAY_WAYS, (payWay) => CHANNELS[payWay].onlyCurrency)]
  .flatMap(([currency, payWays]) => (currency === undefined ? [] : [`${currency} for ${inEnglish(payWays, 'and')}`]))
  .join(', ');

/** Joins words in English: `alipay, wechat or paypal`. */
export function inEnglish(words: readonly string[], join: 'and' | 'or'): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter(Boolean).join(` ${join} `);
}

/**
 * Decimal places of the amounts of each currency. A channel that uses another number converts amounts in its own code.
 * HUF and TWD have none, because PayPal is the only channel that accepts them, and it takes only whole units. Amounts
 * in the database already use these numbers, so they must not change.
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

/** How many decimal places the amounts of a currency have: 0 or 2. undefined if no channel accepts the currency. */
export function exponentOf(currency: string): number | undefined {
  return Object.hasOwn(EXPONENTS, currency) ? EXPONENTS[currency] : undefined;
}

/** The currencies whose amounts have no decimal places, such as JPY. Amounts of all other currencies have two. */
export const WITHOUT_DECIMALS: readonly string[] = Object.keys(EXPONENTS).filter((code) => EXPONENTS[code] === 0);

/** `simulator`: this service simulates the channel. `sandbox`: the channel's own test system. `live`: real money. */
export const MODES = ['simulator', 'sandbox', 'live'] as const;
export type Mode = (typeof MODES)[number];

/** The ways to present a payment to the payer. `code`: the payer shows a code in the app, and the shop scans it. */
export const SCENES = ['qr', 'page', 'wap', 'app', 'h5', 'jsapi', 'mini', 'code', 'redirect'] as const;
export type Scene = (typeof SCENES)[number];

/**
 * The kinds of data with which a payer can pay. `code`: no data, because the shop has scanned the code in the payer's
 * app.
 */
export const PAY_HINTS = ['qr', 'redirect', 'app', 'jsapi', 'code'] as const;

/** The data with which a payer can pay, exactly as the channel returned it. */
export interface PayHint {
  type: (typeof PAY_HINTS)[number];
  qrCode?: string;
  url?: string;
  params?: Record<string, string>;
}

/** An item of the order as Alipay and WeChat Pay show it. `price` is the price of one piece in minor units (fen). */
export interface Goods {
  id: string;
  name: string;
  quantity: number;
  price: number;
}

/** The options that a merchant can set for Alipay payments. Each option is a field of Alipay's own API requests. */
export interface AlipayOptions {
  storeId?: string | undefined;
  operatorId?: string | undefined;
  terminalId?: string | undefined;
  /** The Alipay partner id (PID, `2088…`) of the service provider that receives a commission for the payment. */
  sysServiceProviderId?: string | undefined;
  /** Alipay returns this text unchanged in its notifications. */
  passbackParams?: string | undefined;
  /** Payment methods, by Alipay's names. `enable…`: only these are offered. `disable…`: these are not offered. */
  enablePayChannels?: readonly string[] | undefined;
  disablePayChannels?: readonly string[] | undefined;
  goods?: readonly Goods[] | undefined;
}

export interface WechatOptions {
  attach?: string | undefined;
  goodsTag?: string | undefined;
  /** Whether WeChat Pay offers the payer an electronic invoice. */
  supportFapiao?: boolean | undefined;
  /** If true, the order is refused: the money would stay frozen, because the service does not share or release it. */
  profitSharing?: boolean | undefined;
  storeId?: string | undefined;
  deviceId?: string | undefined;
  goods?: readonly Goods[] | undefined;
}

export interface PaypalOptions {
  /** The merchant's name that PayPal shows to the payer, instead of the business name of the PayPal account. */
  brandName?: string | undefined;
  /** The language of PayPal's pages as a BCP 47 tag, for example `en-GB`. */
  locale?: string | undefined;
  landingPage?: 'LOGIN' | 'GUEST_CHECKOUT' | 'NO_PREFERENCE' | undefined;
  /** If true, PayPal refuses payment methods whose money arrives later. */
  immediatePayment?: boolean | undefined;
  /** The text after PAYPAL on the payer's statement. */
  softDescriptor?: string | undefined;
}

/** The options that a merchant can set for each channel. An order stores only the options of its own channel. */
export interface ChannelOptions {
  alipay?: AlipayOptions | undefined;
  wechat?: WechatOptions | undefined;
  paypal?: PaypalOptions | undefined;
}

/**
 * A side effect of a state change on stock, coins or pay-per-call. If it fails, the change is still committed, because
 * the effect runs in a savepoint. With `mayRefuse`, its failure rejects the whole change. `mayRefuse` is set only for
 * changes that an administrator or application requested.
 */
export interface EffectRun {
  readonly name: string;
  readonly run: readonly ('paid' | 'ended' | 'refundReserved' | 'refundSucceeded' | 'refundFailed')[];
  readonly mayRefuse?: true;
}

/** States of a dispute: `needs_answer` waits for the merchant; `lost` and `won` are final. */
export const DISPUTE_STATES = ['open', 'needs_answer', 'under_review', 'won', 'lost'] as const;
export type DisputeState = (typeof DISPUTE_STATES)[number];

/**
 * A minimum or maximum of an amount in minor units: `whole` for currencies without decimals, such as JPY, and `decimal`
 * for currencies with two decimals.
 */
export interface AmountBound {
  whole: bigint;
  decimal: bigint;
}

/**
 * States of a bill (a settlement file of a channel). `waiting`: not downloaded yet. `reading`: its file is parsed into
 * lines. `matching`: its lines are stored, and their comparison with the orders is not finished. `done`: compared.
 * `refused`: the file is not the expected bill, or the channel provides no bills to this account. `missing`: the
 * channel no longer provides the bill.
 */
export const BILL_STATES = ['waiting', 'reading', 'matching', 'done', 'refused', 'missing'] as const;
export type BillState = (typeof BILL_STATES)[number];

export const BILL_SOURCES = ['channel', 'import'] as const;
export type BillSource = (typeof BILL_SOURCES)[number];

/**
 * Kinds of bill lines. `pending`: a refund that was in progress when the bill was made. The line stays `pending` after
 * the refund ends. `dispute`: money that a chargeback took or returned. `other`: any other line (a transfer, a failed
 * refund). `unreadable`: a line that could not be parsed. Its amounts are 0, and `event` contains the position in the
 * file and the reason.
 */
export const BILL_LINE_KINDS = ['payment', 'refund', 'pending', 'dispute', 'fee', 'other', 'unreadable'] as const;
export type BillLineKind = (typeof BILL_LINE_KINDS)[number];

/** One line of a bill. Amounts are minor units of `currency`. */
export interface BillLine {
  /** Position in the bill, from 1, without gaps; parsing a bill again gives the same positions. */
  line: number;
  kind: BillLineKind;
  /** The channel's own name for the kind of this bill line. */
  event: string;
  /** The order number on the line, of this service or of another system. */
  orderNo: string | null;
  refundNo: string | null;
  channelTradeNo: string | null;
  /** The id that the channel gave to the refund, or to the transaction of the dispute. */
  channelRefundNo: string | null;
  currency: string;
  /**
   * For a payment, the amount of the order. For a refund, the refunded amount. Both are never negative. For all other
   * kinds of lines, the change of the account balance, which may be negative.
   */
  amount: bigint;
  /** The part of `amount` that is a merchant discount. Nobody pays this part. It is negative if a refund returns it. */
  discount: bigint;
  /** The channel's fee; negative if the channel returned it. On a fee line this is the fee, and `amount` is 0. */
  fee: bigint;
  /** The part of `amount` passed on to profit-sharing receivers; negative if they returned it. */
  share: bigint;
  at: Date;
  /** The line as the channel wrote it, decoded to text. */
  raw: string;
}

/** The fee that a channel should charge for a payment: a share of its amount plus a fixed sum in minor units. */
export interface FeeRate {
  /** The share of the amount as a decimal; `0.006` means 0.6 %. */
  share: string;
  fixed: bigint;
  /** The currency of the fixed sum. The fees of payments in other currencies are not checked. null = no fixed sum. */
  fixedCurrency: string | null;
}

/**
 * Kinds of differences between a bill and the orders of this service. A line whose order number does not have this
 * service's format belongs to another system, so it is counted but not reported as a difference.
 */
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

/** Bill lines of other systems on the same account: counted in every bill, but listed only on request. */
export const NOT_OURS = 'order_not_ours';

/**
 * `open`: the channel will be queried. `healed`: bill and order now agree. `listed`: they still differ after the query,
 * so an exception is open. `ended`: an administrator resolved that exception.
 */
export const DIFFERENCE_STATES = ['open', 'healed', 'listed', 'ended'] as const;
export type DifferenceState = (typeof DIFFERENCE_STATES)[number];

/** One side of a difference: the bill, or the database. Amounts are minor units as text. */
export interface DifferenceSide {
  state?: string | undefined;
  amount?: string | undefined;
  currency?: string | undefined;
  fee?: string | undefined;
  channelNo?: string | undefined;
  at?: string | undefined;
  line?: number | undefined;
  /** Set if the line could not be parsed: the reason, with the line and column in the file. */
  reason?: string | undefined;
}

/** Totals for one project and currency, in minor units as text. `project` is null for lines of other systems. */
export interface BillSum {
  project: string | null;
  currency: string;
  payments: number;
  paid: string;
  refunds: number;
  refunded: string;
  /** Merchant discounts on payments, minus those that refunds returned. */
  discounts: string;
  fees: string;
  /** Amounts passed on to profit-sharing receivers. */
  shares: string;
  /** Money that disputes took from the account, as a positive amount. */
  disputed: string;
  /** All other money movements of the account. */
  other: string;
  /**
   * Refunds that were in progress when the bill was made. No sum includes them, because the bill does not contain their
   * result.
   */
  pending: number;
  /** Net sums (after discounts, fees and shares) of payments completed on other days, by that day; absent = none. */
  onOtherDays?: Readonly<Record<string, string>>;
}

/** Refunds that a bill lists as in progress, by the result that the service knows. Amounts are minor units as text. */
export interface PendingRefunds {
  billNo: string;
  project: string | null;
  currency: string;
  /** `open`: no final result is known, because the refunds are in progress, stuck, or of another system. */
  end: 'succeeded' | 'failed' | 'open';
  refunds: number;
  refunded: string;
  discounts: string;
  fees: string;
  shares: string;
}

/** Kinds of exceptions: cases that an administrator must review. */
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

/** The scopes (rights) that every API application may be given. */
export const merchantScopes = [
  'payment:write',
  'payment:read',
  'skillpay:call',
  'user:read',
  'user:write',
  'coin:read',
  'coin:write',
  'webhook:read',
  'webhook:write',
] as const;

/** The scopes that only applications marked as trusted may have. */
export const trustedScopes = ['config:read', 'config:write', 'cert:manage', 'admin'] as const;

/** All scopes. The scope `admin` permits all of `/api/v2`, but nothing of `/api/v1`. */
export const scopes = [...merchantScopes, ...trustedScopes] as const;

export type Scope = (typeof scopes)[number];

/** Roles of administrators, from the fewest to the most rights. */
export const ROLES = ['viewer', 'operator', 'admin'] as const;

/** A viewer reads, an operator moves money (orders, refunds, exceptions, disputes, bills), an admin does everything. */
export type Role = (typeof ROLES)[number];

/** An id in another format is rejected before it reaches PostgreSQL, which would report a type error. */
export const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
