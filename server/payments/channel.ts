import type { ChannelOptions, DisputeState, Mode, PayHint, PayWay, Scene, Words } from '../domain.ts';
import type {
  BillCalendar,
  BillDesk,
  CloseOutcome,
  Outcome,
  RefundOutcome,
  Traced,
  UnknownCause,
  UnknownOutcome,
} from './outcomes.ts';
import type { Money } from '../money.ts';

export * from './outcomes.ts';
export {
  BILL_LINE_KINDS,
  type BillLine,
  type BillLineKind,
  DISPUTE_STATES,
  type DisputeState,
  type FeeRate,
  MODES,
  type Mode,
  PAY_HINTS,
  PAY_WAYS,
  type PayHint,
  type PayWay,
  SCENES,
  type Scene,
} from '../domain.ts';

/** The data of the call that creates an order at the channel. A repeated call has the same data. */
export interface PlaceOrder {
  orderNo: string;
  subject: string;
  amount: Money;
  scene: Scene;
  /** After this instant the channel must not accept a payment. */
  expiresAt: Date;
  /** When the first attempt was sent. Repeated calls use this time, so that their content is identical. */
  sentAt: Date;
  notifyUrl: string;
  returnUrl: string;
  cancelUrl: string;
  clientIp: string | null;
  openId: string | null;
  /** WeChat Pay: the id of the merchant's app (APPID) in which the payer pays; see `OrderRef`. */
  appId?: string;
  /** In-store payment: the code that the payer's app shows. It is valid once, for about a minute. */
  payCode: string | null;
  options: ChannelOptions;
  /** The order pays for one API call whose content is delivered immediately. Slow payment methods are refused. */
  isForCall?: true;
}

export interface OrderRef {
  orderNo: string;
  amount: Money;
  scene: Scene;
  sentAt: Date;
  expiresAt: Date;
  /** The channel's id of the *order* (PayPal order id), once known. */
  channelOrderId: string | null;
  /** The channel's id of the *payment* (Alipay trade_no, WeChat transaction_id, PayPal capture id), once paid. */
  channelTradeNo: string | null;
  /** WeChat Pay: the id of the merchant's app (APPID) of the order; absent = the app of the configuration. */
  appId?: string;
}

/** The input of a PayPal call that captures (collects) approved money. `captureNo`: the request id `<orderNo>-c<n>`. */
export interface CaptureRef extends OrderRef {
  captureNo: string;
}

/** The input of a refund call. A repeated call has the same input. */
export interface RefundOrder extends OrderRef {
  refundNo: string;
  refundAmount: Money;
  reason: string;
  notifyUrl: string;
  refundSentAt: Date;
  /** The channel's id of the payment to refund; absent = the order's own payment. */
  paymentNo?: string;
}

export interface RefundRef extends OrderRef {
  refundNo: string;
  refundAmount: Money;
  refundSentAt: Date;
  channelRefundNo: string | null;
  /** The channel's id of the refunded payment; absent = the order's own payment. */
  paymentNo?: string;
}

export interface KeyOrigin {
  /** The id of the stored certificate; null = the channel supplied the key. */
  certId: string | null;
  /** When an administrator trusted the key, or a downloaded key became valid; null = its age is not checked. */
  since: Date | null;
}

/** A verified notification, reduced to the fields that the service uses. */
export interface Notification {
  /** The channel's id of the message, for detecting duplicates. */
  notificationId: string;
  account: string;
  event: string;
  orderNo: string | null;
  refundNo: string | null;
  /** PayPal's order id, which finds the order if the message lacks this service's order number. */
  channelOrderId?: string;
  /** PayPal's id of the refund. */
  refundId?: string;
  /** WeChat Pay: the app ids (APPID) that the message names. The order's app id must be one of them. */
  appIds?: readonly string[];
  /** PayPal's id of the payment. */
  paymentNo?: string;
  /** PayPal: when the payer approved, according to the message. The channel is queried to confirm it. */
  approvedAt?: Date;
  /** Alipay: the payer's bank rejected a finished refund, and the money is in the payer's Alipay balance. */
  bankRefused?: true;
  /** PayPal: money was returned to the payer in a way that a query does not show (a chargeback). */
  reversed?: true;
  /** The channel reports events of the whole account, so an unknown order may belong to another system. */
  isShared?: true;
  /** A test message from the channel's dashboard. */
  isTest?: true;
  /** Set if the message is genuine but one check did not succeed (PayPal: the certificate chain). */
  amiss?: UnknownCause;
  /** The channel's id of a dispute. The dispute is queried; the rest of the message is ignored. */
  disputeId?: string;
  /** The key that verified the message. It is always set if `outcome` is set. */
  verifiedBy?: KeyOrigin;
  /** The outcome of the order, stored without a query. If `outcome` and `refund` are absent, the channel is queried. */
  outcome?: Outcome;
  refund?: RefundOutcome;
}

/** The message does not come from the channel, or is for another account. `why`: the reason. */
export class NotificationNotGenuine extends Error {
  readonly why: UnknownCause | 'wrong_account' | 'malformed';
  constructor(why: NotificationNotGenuine['why'], detail: string) {
    super(detail);
    this.name = 'NotificationNotGenuine';
    this.why = why;
  }
}

/** It is unknown whether a message is genuine, or which object it concerns: the channel did not answer. */
export class NotificationUndecided extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'NotificationUndecided';
  }
}

/**
 * The reply to a notification. `accepted`: stored. `refused`: not genuine, or about an unknown order. `again`: the
 * channel must repeat the message, because it could not be stored or confirmed, or its order may become known later.
 * Channels repeat every notification that is not accepted.
 */
export type NotificationVerdict = 'accepted' | 'refused' | 'again';

/** The HTTP status of each reply; only `again` is an error of the service. */
export const NOTIFICATION_STATUS: Readonly<Record<NotificationVerdict, number>> = {
  accepted: 200,
  refused: 400,
  again: 503,
};

export interface NotificationAck {
  status: number;
  contentType: string;
  body: string;
}

export interface ProbeRequest {
  /** The payment scenes to test. For each, the test creates an order that no payer sees, and closes it if possible. */
  products?: readonly Scene[];
}

export type NotificationsRegistered =
  | { ok: true; fields: Readonly<Record<string, string>> }
  | ({ ok: false } & ProbeNote);

/**
 * The result of a download. `certs` were verified. `byHand`: a note on certificates that only an operator can obtain.
 */
export type CertsDownloaded =
  | { ok: true; certs: readonly { kind: string; pem: string }[]; byHand: string | null }
  | ({ ok: false } & ProbeNote);

/** Limits the key downloads that the sender of a notification can cause by naming keys that do not exist. */
export interface FetchBudget {
  /** False = no further download is allowed, so an unknown key stays unknown. */
  isLeft(): boolean;
  /** Called after a download that did not return the key. */
  spend(): void;
}

/** One account at one channel. Only `readNotification` throws for a channel fault; other methods return an outcome. */
export interface Channel {
  readonly payWay: PayWay;
  readonly account: string;
  /** WeChat Pay: the apps for orders of this scene. The first app is the default. */
  appIds?(scene: Scene): readonly string[];
  place(order: PlaceOrder): Promise<Outcome>;
  query(order: OrderRef): Promise<Outcome>;
  /**
   * Closes an unpaid order. For an order with a payer's code, the close also returns a payment that arrived meanwhile.
   * `again`: the result of an earlier close is unknown, so the close is sent even if a query shows the order as paid.
   */
  close(order: OrderRef, again?: boolean): Promise<CloseOutcome>;
  /** PayPal only: captures approved money. */
  capture?(order: CaptureRef): Promise<Outcome>;
  refund(refund: RefundOrder): Promise<RefundOutcome>;
  queryRefund(refund: RefundRef): Promise<RefundOutcome>;
  /**
   * Queries a refund that a notification or bill names, even if the service did not make it. `number`: the number of
   * the refund; for PayPal, PayPal's refund id. `others`: the channel's ids of other payments of the order, because
   * Alipay finds a refund only by its payment. The outcome names the refunded payment.
   */
  lookUpRefund(order: OrderRef, number: string, others?: readonly string[]): Promise<RefundOutcome>;
  /** WeChat Pay only: repeats a refund that ended in the state ABNORMAL. */
  retryAbnormalRefund?(refund: RefundRef): Promise<RefundOutcome>;
  /** Verifies a message. Throws NotificationNotGenuine or NotificationUndecided. `headers` has lower-case names. */
  readNotification(
    headers: Record<string, string | undefined>,
    rawBody: Buffer,
    budget?: FetchBudget,
  ): Promise<Notification>;
  ackNotification(verdict: NotificationVerdict): NotificationAck;
  /** Absent = the channel has no disputes. */
  readonly disputes?: DisputeDesk;
  /** Payments by AI agents. Absent = the channel has none, or the configuration names no seller for them. */
  readonly agents?: AgentDesk;
  /** Absent = the channel has no bills, or this configuration cannot fetch them. */
  readonly bills?: BillDesk;
  probe(command?: ProbeRequest): Promise<ProbeResult>;
}

/** One field of a channel configuration: an id or a secret text. Keys in PEM files are in the certificate store. */
export interface FieldSpec {
  name: string;
  label: string;
  secret: boolean;
  requiredIn: readonly Mode[];
  pattern?: RegExp;
  /**
   * Set if this field and the account together identify the payee. An order keeps the value that the field had when the
   * order was created. `app`: the field contains app ids, and the order stores one of them. `unless` names another
   * field. If the configuration has a value in that field, all non-empty values of this field count as the same payee.
   */
  pinned?: true | 'app' | { unless: string };
  /**
   * The value belongs to one account in one mode (live, sandbox or simulator). It is never copied to another account or
   * mode.
   */
  ofAccount?: true;
  help: string;
}

export interface CertKindSpec {
  kind: string;
  label: string;
  form: 'certificate' | 'certificate-chain' | 'public-key' | 'private-key';
  /**
   * Whether the key verifies messages or certificates of the channel. It is then used only if an administrator trusts
   * it.
   */
  verifies: boolean;
  help: string;
}

/** The fields that an order needs in a scene (for example `qr` or `app`), and how long its payment link is valid. */
interface SceneSpec {
  type: PayHint['type'];
  maxSeconds: number;
  needs: readonly ('openId' | 'clientIp' | 'returnUrl' | 'payCode')[];
}

export interface ChannelLimits {
  minExpirySeconds: number;
  maxRefundsPerOrder: number | null;
  refundSpacingSeconds: number;
  /** The channel accepts a refund for this many days after the payment. The guide for merchants shows this number. */
  refundWindowDays: number;
  /** The channel may send notifications about refunds and disputes for this many days after the payment. */
  lateNotificationDays: number;
  /** A refund without a known result is not sent again after this many days (PayPal: 40); null = no limit. */
  refundResendDays: number | null;
}

/** The input of an adapter: one immutable configuration version. */
export interface ChannelInput {
  mode: Mode;
  fields: Readonly<Record<string, string>>;
  /** PEM texts by certificate kind. The first key of a kind signs; every key of a kind may verify. */
  pems: Readonly<Record<string, readonly string[]>>;
  /** The origin of each verifying key, by its PEM text. */
  origins?: ReadonlyMap<string, KeyOrigin>;
  /** Verifying keys and certificates (PEM, by kind) that an administrator distrusts; they verify nothing. */
  distrusted?: Readonly<Record<string, readonly string[]>>;
  /** Stores a verified certificate from the channel, so that every replica can use it; never throws. */
  keep?: (kind: string, pem: string) => void;
  /** Base URL of the simulator; only read in mode `simulator`. */
  simulatorUrl: string | null;
  notifyUrl?: string | undefined;
  send: Transport;
  /** Downloads files from the channel; absent = this configuration cannot download. */
  download?: Download;
  now: () => Date;
}

/** The texts about one channel in the advice that an operator gets when the service rejects its notifications. */
export interface NotificationHelp {
  /** The fields of a notification that name the account. */
  account: Words;
  /** The parts of a request that carry the signature: proxies must pass them on. */
  signature: Words;
  /** A clause about the key or id that verifies notifications: how the operator recognizes the right one. */
  key: Words;
  /** Whole sentences of advice, by reason of the rejection; they replace the general advice. */
  changes?: Readonly<Partial<Record<NotificationNotGenuine['why'], Words>>>;
}

/** The facts about a channel that do not depend on a configured account. See `channels/registry.ts`. */
export interface ChannelKind {
  payWay: PayWay;
  name: string;
  modes: readonly Mode[];
  scenes: Readonly<Partial<Record<Scene, SceneSpec>>>;
  defaultScene: Scene;
  currencies: readonly string[];
  defaultCurrency: string;
  limits: ChannelLimits;
  /** Absent = the channel has no bills. */
  bills?: BillCalendar;
  notificationHelp: NotificationHelp;
  fields: readonly FieldSpec[];
  certKinds: readonly CertKindSpec[];
  /** The account id that orders keep (Alipay app_id, WeChat mchid, PayPal client id). */
  accountOf(fields: Readonly<Record<string, string>>): string;
  /** Fields and certificate kinds that are missing in this mode. Empty = usable. */
  missing(mode: Mode, fields: Readonly<Record<string, string>>, kinds: ReadonlySet<string>): string[];
  /** Lists what must be registered at the channel, from the non-secret fields and the service's addresses. */
  registrations(fields: Readonly<Record<string, string>>, addresses: Addresses): Registration<Scene>[];
  /** Creates the adapter. Throws ChannelMisconfigured with the field of an unusable key or certificate. */
  create(input: ChannelInput): Channel;
  /** Registers `notifyUrl` at the channel, unless it is registered; throws ChannelMisconfigured. */
  registerNotifications?(input: ChannelInput): Promise<NotificationsRegistered>;
  /** Downloads the channel's certificates and checks that they are genuine; throws ChannelMisconfigured. */
  downloadCerts?(input: ChannelInput): Promise<CertsDownloaded>;
}

/** An unusable configuration; `field` is the field or certificate kind at fault. */
export class ChannelMisconfigured extends Error {
  readonly field: string;
  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ChannelMisconfigured';
    this.field = field;
  }
}

export interface Addresses {
  publicUrl: string;
  notifyUrl: string;
}

/** A value (for example a domain) that must be registered at the channel before some scenes can be used. */
export interface Registration<Scene extends string = string> {
  name: string;
  /** The page of the channel's portal on which the value is registered, in words. */
  where: string;
  /** The values to register; empty = no address of this service. `note` then says what must be registered. */
  values: readonly string[];
  scenes: readonly Scene[];
  /** `hand`: the operator registers the value in the channel's console; `payctl`: `payctl channel set` registers it. */
  by: 'hand' | 'payctl';
  note: string | null;
}

/** `field`: the field or certificate kind to change, if any. */
export interface ProbeNote {
  field: string | null;
  code: string | null;
  message: string;
}

export interface ProbeCheck {
  about: 'credential' | 'product' | 'notifications';
  name: string;
  /**
   * `lacking`: an optional value is missing. `unproven`: no harmless call can check it, or the test ended before this
   * check.
   */
  status: 'ok' | 'failed' | 'lacking' | 'unproven';
  field: string | null;
  /** The channel's error code, or an error code that this service defines. */
  code: string | null;
  message: string | null;
  /** The id by which the channel's support finds the request. */
  supportId: string | null;
}

/** `note`: a remark about an incomplete check. */
export type ProbeResult = ({ ok: true; note?: ProbeNote } | ({ ok: false } & ProbeNote)) & {
  /** A check comes after the checks that it depends on. */
  checks?: readonly ProbeCheck[];
};

/** Returns the first failed check as the result. If none failed, the first check with status `lacking` is the note. */
export function verdictOf(checks: readonly ProbeCheck[]): ProbeResult {
  const failed = checks.find(({ status }) => status === 'failed');
  if (failed) return { ok: false, ...noteOf(failed), checks };
  const lacking = checks.find(({ status }) => status === 'lacking');
  return { ok: true, ...(lacking && { note: noteOf(lacking) }), checks };
}

function noteOf({ field, code, message, name }: ProbeCheck): ProbeNote {
  return { field, code, message: message ?? name };
}

/** The request for payment that the service sends to an AI agent of the channel; the agent pays for one API call. */
export interface AgentBill {
  orderNo: string;
  amount: Money;
  /** The id of the resource (a priced API) for which the agent pays. The agent's proof contains the same id. */
  resourceId: string;
  goodsName: string;
  expiresAt: Date;
}

export interface AgentProof {
  paymentProof: string;
  tradeNo: string;
  clientSession?: string | undefined;
}

export type AgentVerdict =
  | { kind: 'paid'; orderNo: string; resourceId: string; channelNo: string; amount: Money; at: Date }
  | { kind: 'refused'; code: string; reason: string };

interface NoAnswer {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
}

/** The methods never throw because of a fault of the channel; they return the fault as a result. */
export interface AgentDesk {
  /** Returns the bill as the value of an HTTP header. The same bill and key always give the same value. */
  bill(bill: AgentBill): Promise<string>;
  verify(proof: AgentProof): Promise<AgentVerdict | NoAnswer>;
  /** Confirms to the channel that the content was delivered; may be repeated. */
  confirm(
    tradeNo: string,
    about: { orderNo: string },
  ): Promise<{ kind: 'done' } | { kind: 'refused'; code: string; reason: string } | NoAnswer>;
}

export interface WireRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** A form with files; it is sent instead of `body`. */
  bytes?: Buffer;
  /** The name of the call, and order and refund number, for the timeline and the logs; never sent. */
  about: { call: string; orderNo?: string; refundNo?: string };
}

/** The raw response; `body` has the received bytes (≤ 1 MB). Header names are lower-case. */
export interface WireAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Sends a request once, without redirects. Throws TransportFailed, for example after `Channels.TimeoutMs`. */
export type Transport = (request: WireRequest) => Promise<WireAnswer>;

/** A file from a channel. The code that reads it must limit the size. */
export interface WireFile {
  status: number;
  headers: Record<string, string>;
  /** The content. Throws TransportFailed if the connection ends early. Leaving the iteration stops the download. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Downloads a file without following redirects. Throws TransportFailed, also if no data arrives for too long. */
export type Download = (request: WireRequest) => Promise<WireFile>;

/** The channel sent no usable response, so it is unknown whether it processed the request. */
export class TransportFailed extends Error {
  readonly why: 'timeout' | 'network' | 'too_large';
  constructor(why: TransportFailed['why'], detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'TransportFailed';
    this.why = why;
  }
}

export interface ChannelDispute {
  channelDisputeNo: string;
  /** The channel's ids of the disputed payments. */
  tradeNos: readonly string[];
  /** The order number, if the channel's message contains it. */
  orderNo: string | null;
  /** The reason of the dispute, in the channel's wording. */
  reason: string;
  /** The disputed amount; may be less than the payment. */
  amount: Money;
  state: DisputeState;
  /** The deadline for the merchant's answer. */
  dueAt: Date | null;
  openedAt: Date;
  /** The money taken from the merchant; only for a lost dispute. */
  lost?: LostMoney;
}

export interface LostMoney {
  amount: Money;
  at: Date;
  /** True = the channel reports a debit for this dispute; false = the merchant may have refunded the amount. */
  booked: boolean;
}

export type DisputeOutcome = { kind: 'found'; dispute: ChannelDispute } | { kind: 'absent' } | UnknownOutcome;

/** One dispute in a list. `mark` changes with the dispute, so an unchanged dispute need not be read again. */
export interface ListedDispute {
  channelDisputeNo: string;
  mark: string;
}

/** One page of a list of disputes. `next`: the value that requests the following page; undefined = last page. */
export type DisputePage =
  | { kind: 'listed'; disputes: readonly ListedDispute[]; next: string | undefined }
  | UnknownOutcome;

export type DisputeAction =
  | { kind: 'done' }
  | ({ kind: 'refused'; code: string; reason: string } & Traced)
  | UnknownOutcome;

/** The results that a merchant may declare for a complaint, at channels that require a result. */
export const COMPLAINT_RESULTS = ['agreed', 'refunded', 'corrected', 'proven', 'other'] as const;
export type ComplaintResult = (typeof COMPLAINT_RESULTS)[number];

/** The file is sent to the channel and not stored. */
export interface EvidenceFile {
  name: string;
  bytes: Buffer;
}

/** The methods never throw because of a fault of the channel; they return the fault as a result. */
export interface DisputeDesk {
  read(channelDisputeNo: string): Promise<DisputeOutcome>;
  /** Lists disputes opened or changed since an instant. */
  list(since: Date, page?: string): Promise<DisputePage>;
  /** Lists the disputes of one payment. Absent = the channel cannot list the disputes of one payment. */
  listOf?(channelTradeNo: string, page?: string): Promise<DisputePage>;
  /** Sends text to the payer or the channel, depending on the stage of the dispute. */
  answer(channelDisputeNo: string, text: string, files: readonly EvidenceFile[]): Promise<DisputeAction>;
  /** Declares the dispute settled by the merchant. Absent = only the channel decides. */
  finish?(channelDisputeNo: string, result: ComplaintResult): Promise<DisputeAction>;
  /** Accepts the claim: the payer gets the merchant's money. Absent = the channel has no such call. */
  accept?(channelDisputeNo: string, note: string): Promise<DisputeAction>;
}
