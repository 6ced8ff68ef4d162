import type { ChannelOptions, DisputeState, Mode, PayHint, PayWay, Scene } from '../domain.ts';
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
export * from './outcomes.ts';
export type * from './outcomes.ts';

/** Everything a channel must know to create an order; byte-identical on every re-send. */
export interface PlaceOrder {
  orderNo: string;
  subject: string;
  amount: Money;
  scene: Scene;
  /** Instant after which the channel must refuse the payer. */
  expiresAt: Date;
  /** When the first try was sent (also the signature timestamp base where a channel needs a stable one). */
  sentAt: Date;
  notifyUrl: string;
  returnUrl: string;
  cancelUrl: string;
  clientIp: string | null;
  openId: string | null;
  /** As in `OrderRef`. */
  appId?: string;
  /** The code that the payer showed; it can be used once, and lives for about a minute. */
  payCode: string | null;
  /** What the merchant asked of this channel beyond the order itself. */
  options: ChannelOptions;
  /** The order pays for a single call: its payer gets the content at once, so ways to pay whose money comes days later are refused. */
  isForCall?: true;
}

/** An order as the channel knows it. */
export interface OrderRef {
  orderNo: string;
  amount: Money;
  scene: Scene;
  sentAt: Date;
  expiresAt: Date;
  /** The channel's id of the *order* where it differs from ours (PayPal order id), once known. */
  channelOrderId: string | null;
  /** The channel's id of the *payment* (Alipay trade_no, WeChat transaction_id, PayPal capture id), once paid. */
  channelTradeNo: string | null;
  /** WeChat Pay: the app in whose name it was placed, whatever the configuration says by now; absent = the configuration's. */
  appId?: string;
}

/** A capture that is ours to make (PayPal). `captureNo` is the request id: `<orderNo>-c<n>`. */
export interface CaptureRef extends OrderRef {
  captureNo: string;
}

/** A refund to be made; numbers never change for the life of the intent. */
export interface RefundOrder extends OrderRef {
  refundNo: string;
  refundAmount: Money;
  reason: string;
  notifyUrl: string;
  refundSentAt: Date;
  /** The payment that goes back, where it need not be the one that our number means: another amount, or a second payment. */
  paymentNo?: string;
}

/** A refund as the channel knows it. */
export interface RefundRef extends OrderRef {
  refundNo: string;
  refundAmount: Money;
  refundSentAt: Date;
  channelRefundNo: string | null;
  /** As in `RefundOrder`. */
  paymentNo?: string;
}

/** Where a key that verified something comes from. */
export interface KeyOrigin {
  /** The stored row; null = the channel itself handed the key out. */
  certId: string | null;
  /** Since when it is trusted, or for a key that the channel handed out, valid; null = its age says nothing. */
  since: Date | null;
}

/** A genuine message from a channel, reduced to what may be settled. */
export interface Notice {
  /** The channel's id of the message, for the dedupe row. */
  noticeId: string;
  /** The channel account the message speaks for; must equal the one the order pins. */
  account: string;
  /** The channel's word for what happened, for the timeline. */
  event: string;
  orderNo: string | null;
  refundNo: string | null;
  /** PayPal: the object to ask about, when our number is not in the message. */
  channelOrderId?: string;
  /** PayPal: its own id of the refund that the message is about. */
  refundId?: string;
  /** WeChat Pay: the apps in whose name the payment was made; the one that the order pins must be among them. */
  appIds?: readonly string[];
  /** PayPal: the payment that the message is about, by the channel's number of it. */
  paymentNo?: string;
  /** When the payer agreed, according to the message: only ever a reason to ask (PayPal). */
  approvedAt?: Date;
  /** Of a refund that is done: the payer's bank did not take it, so the payer has it in the balance at the channel (Alipay). */
  bankRefused?: true;
  /** Money was taken back by something that the channel itself does not show (PayPal: a chargeback). */
  reversed?: true;
  /** The channel tells whatever happens at the account, for all its systems: what names no order of ours is none of our business. */
  isShared?: true;
  /** A try-out from the channel's dashboard; nothing happened. */
  isTest?: true;
  /** What is amiss with the way in which it was verified, although it is genuine. */
  amiss?: UnknownCause;
  /** The channel's id of the dispute that the message is about: nothing else of it is settled, the channel is asked. */
  disputeId?: string;
  /** The key that verified it; a message with an outcome always says. */
  verifiedBy?: KeyOrigin;
  /** Settled directly when present; a notice without one is a hint: query. */
  outcome?: Outcome;
  refund?: RefundOutcome;
}

/** The message is not from the channel, or not for this account. `cause` is a stable word. */
export class NoticeNotGenuine extends Error {
  readonly why: UnknownCause | 'wrong_account' | 'malformed';
  constructor(why: NoticeNotGenuine['why'], detail: string) {
    super(detail);
    this.name = 'NoticeNotGenuine';
    this.why = why;
  }
}

/** Whether a message is genuine, or what it is about, cannot be told now: the channel was asked and said nothing. */
export class NoticeUndecided extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = 'NoticeUndecided';
  }
}

/**
 * What becomes of a notice: kept; not taken (not genuine, or about an order that we do not know); or to come again because we
 * could not store it or ask about it. Channels send again whatever is not accepted.
 */
export type NoticeVerdict = 'accepted' | 'refused' | 'again';

/** The status of each answer to a notice: only `again` is a fault of ours. */
export const NOTICE_STATUS: Readonly<Record<NoticeVerdict, number>> = { accepted: 200, refused: 400, again: 503 };

/** How a channel wants a notice answered. */
export interface NoticeAck {
  status: number;
  contentType: string;
  body: string;
}

/** What is to be tested beyond what proves the credentials and moves nothing. */
export interface ProbeWish {
  /** Orders that nobody can pay are made in these scenes, and ended at once where the channel can end them. */
  products?: readonly Scene[];
}

/** What became of the wish to get the channel's notices: the fields that go with it, or why not. */
export type NoticesRegistered = { ok: true; fields: Readonly<Record<string, string>> } | ({ ok: false } & ProbeNote);

/** What a channel handed out and proved, as PEM texts by kind, and what a person must still fetch. */
export type CertsDownloaded =
  | { ok: true; certs: readonly { kind: string; pem: string }[]; byHand: string | null }
  | ({ ok: false } & ProbeNote);

/** What whoever sent a notice may still have us fetch: keys and certificates that it names and that do not exist are its own. */
export interface FetchBudget {
  /** False: what is not known stays unknown. */
  isLeft(): boolean;
  /** Something was fetched for nothing. */
  spend(): void;
}

/** One configured account at one channel. No method throws for anything the channel does, but `readNotice`. */
export interface Channel {
  readonly payWay: PayWay;
  readonly account: string;
  /** WeChat Pay: the apps in whose name an order of this scene can be placed; the first unless the request names another. */
  appIds?(scene: Scene): readonly string[];
  place(order: PlaceOrder): Promise<Outcome>;
  query(order: OrderRef): Promise<Outcome>;
  /**
   * Ends what is unpaid. Of a payer's code it gives back what was paid meanwhile; `again`: nobody knows what became of an earlier
   * call, so it is sent whatever the channel shows by now.
   */
  close(order: OrderRef, again?: boolean): Promise<CloseOutcome>;
  /** PayPal only: take the approved money. */
  capture?(order: CaptureRef): Promise<Outcome>;
  refund(refund: RefundOrder): Promise<RefundOutcome>;
  queryRefund(refund: RefundRef): Promise<RefundOutcome>;
  /**
   * A refund by the number that a notice named it by, whoever made it and whatever its amount (PayPal: its own id). It says whose
   * money went back; `others` are payments that the order's number had beside its own, by the channel's numbers (Alipay asks by them).
   */
  lookUpRefund(order: OrderRef, number: string, others?: readonly string[]): Promise<RefundOutcome>;
  /** WeChat only: ask again for a refund that ended ABNORMAL. */
  retryAbnormalRefund?(refund: RefundRef): Promise<RefundOutcome>;
  /** Throws NoticeNotGenuine or NoticeUndecided. `headers` has lower-case names. */
  readNotice(headers: Record<string, string | undefined>, rawBody: Buffer, budget?: FetchBudget): Promise<Notice>;
  ackNotice(verdict: NoticeVerdict): NoticeAck;
  /** Absent = disputes of this channel are not followed. */
  readonly disputes?: DisputeDesk;
  /** Absent = agents of the channel's own cannot pay here. */
  readonly agents?: AgentDesk;
  /** Absent = this channel gives no bills, or this configuration cannot ask for them. */
  readonly bills?: BillDesk;
  probe(wish?: ProbeWish): Promise<ProbeResult>;
}

/** One field of a channel configuration (ids and scalar secrets; PEMs live in the certificate store). */
export interface FieldSpec {
  name: string;
  label: string;
  secret: boolean;
  requiredIn: readonly Mode[];
  pattern?: RegExp;
  /**
   * Says whose money it is, beside the account: an order keeps what its version says. `unless` names another such field: where
   * that is given, it is enough to have a value at all, and the newest one is used. `app`: an order names the one that it was
   * placed with itself, so of a payment only that one counts.
   */
  pinned?: true | 'app' | { unless: string };
  /** Names what verifies or signs, as a secret does: it belongs to one account in one mode and is taken over by no other. */
  ofAccount?: true;
  help: string;
}

/** A kind of certificate or key that a channel uses. */
export interface CertKindSpec {
  kind: string;
  label: string;
  form: 'certificate' | 'certificate-chain' | 'public-key' | 'private-key';
  /** What the channel says is verified with it, or it vouches for what verifies: it is used only while an administrator trusts it. */
  verifies: boolean;
  help: string;
}

/** What a scene needs and how long its credential may live. */
interface SceneSpec {
  type: PayHint['type'];
  maxSeconds: number;
  needs: readonly ('openId' | 'clientIp' | 'returnUrl' | 'payCode')[];
}

/** Limits of a channel, as data. */
export interface ChannelLimits {
  /** Shortest time from now to the expiry that the channel takes. */
  minExpirySeconds: number;
  maxRefundsPerOrder: number | null;
  refundSpacingSeconds: number;
  /** Days after the payment in which the channel takes a refund; the guide of the channel names it. */
  refundWindowDays: number;
  /** Days after the payment in which the channel may still tell of it: of refunds, and of disputes, which are decided later. */
  lateNoticeDays: number;
  /** A lost refund is not re-sent after this (PayPal: 40 days); null = no such limit. */
  refundResendDays: number | null;
}

/** What an adapter is made from: one immutable configuration version. */
export interface ChannelInput {
  mode: Mode;
  fields: Readonly<Record<string, string>>;
  /** PEM texts by certificate kind, the default first; several verify keys may live at once. */
  pems: Readonly<Record<string, readonly string[]>>;
  /** Which stored row each PEM text of a kind that verifies is, and since when it is trusted. */
  origins?: ReadonlyMap<string, KeyOrigin>;
  /** PEM texts that verify, by kind, of which an administrator says that they must not; the channel may still hand them out. */
  distrusted?: Readonly<Record<string, readonly string[]>>;
  /** Keeps a certificate that the channel handed out and that was proven, by kind and PEM text, for every replica; never fails. */
  keep?: (kind: string, pem: string) => void;
  /** Base address of the simulator; only read when mode is `simulator`. */
  simulatorUrl: string | null;
  /** Where the channel is to send its notices about this project. */
  notifyUrl?: string | undefined;
  send: Transport;
  /** Absent where files of channels cannot be had. */
  download?: Download;
  now: () => Date;
}

/** Where an operator looks when notifications of the channel are refused, as parts of sentences. */
export interface NoticeHelp {
  /** The members of a notification that name the account. */
  account: string;
  /** The parts of a request that carry the signature: proxies must pass them on. */
  signature: string;
  /** A clause: which key or id of the configuration verifies notifications, and which one is right. */
  key: string;
  /** Whole sentences for reasons of which more can be said about this channel. */
  changes?: Readonly<Partial<Record<NoticeNotGenuine['why'], string>>>;
}

/** Everything the service knows about a channel without an account: one entry per channel in `channels/registry.ts`. */
export interface ChannelKind {
  payWay: PayWay;
  name: string;
  modes: readonly Mode[];
  scenes: Readonly<Partial<Record<Scene, SceneSpec>>>;
  defaultScene: Scene;
  currencies: readonly string[];
  defaultCurrency: string;
  limits: ChannelLimits;
  /** Absent = the channel gives no bills. */
  bills?: BillCalendar;
  noticeHelp: NoticeHelp;
  fields: readonly FieldSpec[];
  certKinds: readonly CertKindSpec[];
  /** The account id that orders pin, from the fields (e.g. Alipay app_id, WeChat mchid, PayPal client id). */
  accountOf(fields: Readonly<Record<string, string>>): string;
  /** Names of fields and certificate kinds that are still missing for this mode. Empty = usable. */
  missing(mode: Mode, fields: Readonly<Record<string, string>>, kinds: ReadonlySet<string>): string[];
  /** What must be registered at the channel for its scenes, from the fields that are no secrets and our addresses. */
  registrations(fields: Readonly<Record<string, string>>, addresses: Addresses): Registration<Scene>[];
  /** Throws ChannelMisconfigured naming the field when a key or certificate cannot be used. */
  create(input: ChannelInput): Channel;
  /** Has the channel send its notices to `notifyUrl`, unless it does; throws ChannelMisconfigured. */
  registerNotices?(input: ChannelInput): Promise<NoticesRegistered>;
  /** Fetches the certificates that the channel hands out, and proves them; throws ChannelMisconfigured. */
  downloadCerts?(input: ChannelInput): Promise<CertsDownloaded>;
}

/** A configuration that cannot be used; `field` is the field or certificate kind at fault. */
export class ChannelMisconfigured extends Error {
  readonly field: string;
  constructor(field: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ChannelMisconfigured';
    this.field = field;
  }
}

/** Where this service is reached, as channels and payers see it. */
export interface Addresses {
  publicUrl: string;
  /** Where the channel sends its notices about this project. */
  notifyUrl: string;
}

/** Something that must be known to a channel before it can be used in some scenes. */
export interface Registration<Scene extends string = string> {
  name: string;
  /** The page of the channel where it is registered, in words. */
  where: string;
  /** What exactly is registered; empty = not an address of this service, the note says whose. */
  values: readonly string[];
  scenes: readonly Scene[];
  /** Who registers it: a person, or `payctl channel set`. */
  by: 'hand' | 'payctl';
  note: string | null;
}

/** What a test found wanting: the field or certificate kind at fault, if it is one of ours. */
export interface ProbeNote {
  field: string | null;
  code: string | null;
  message: string;
}

/** One thing that a test looked at. */
export interface ProbeCheck {
  about: 'credential' | 'product' | 'notifications';
  name: string;
  /** `lacking`: not everybody needs it. `unproven`: nothing harmless proves it, or the test did not come so far. */
  status: 'ok' | 'failed' | 'lacking' | 'unproven';
  /** The field or certificate kind to change. */
  field: string | null;
  /** The channel's own code, or a stable word of ours. */
  code: string | null;
  message: string | null;
  /** How the channel's support finds the request again. */
  supportId: string | null;
}

/** The result of signed calls with a configuration; one that works may still lack something that not everybody needs. */
export type ProbeResult = ({ ok: true; note?: ProbeNote } | ({ ok: false } & ProbeNote)) & {
  /** Each thing that was looked at, in the order in which they depend on each other. */
  checks?: readonly ProbeCheck[];
};

/** The result of everything that was looked at: the first thing that is wrong, else the first that is lacking. */
export function verdictOf(checks: readonly ProbeCheck[]): ProbeResult {
  const failed = checks.find(({ status }) => status === 'failed');
  if (failed) return { ok: false, ...noteOf(failed), checks };
  const lacking = checks.find(({ status }) => status === 'lacking');
  return { ok: true, ...(lacking && { note: noteOf(lacking) }), checks };
}

function noteOf({ field, code, message, name }: ProbeCheck): ProbeNote {
  return { field, code, message: message ?? name };
}

/** What an agent is asked to pay. */
export interface AgentBill {
  orderNo: string;
  amount: Money;
  /** What is paid for, as the proof will name it. */
  resourceId: string;
  goodsName: string;
  expiresAt: Date;
}

/** What an agent brings when it has paid. */
export interface AgentProof {
  paymentProof: string;
  tradeNo: string;
  clientSession?: string | undefined;
}

/** What the channel says of a proof. */
export type AgentVerdict =
  | { kind: 'paid'; orderNo: string; resourceId: string; channelNo: string; amount: Money; at: Date }
  | { kind: 'refused'; code: string; reason: string };

/** The channel said nothing that could be used. */
interface Unsaid {
  kind: 'unknown';
  cause: UnknownCause;
  detail: string;
}

/** Payments by the channel's own agents. No method throws for anything the channel does. */
export interface AgentDesk {
  /** What agents read: one line that fits into a header. Of the same bill and key always the same. */
  bill(bill: AgentBill): Promise<string>;
  verify(proof: AgentProof): Promise<AgentVerdict | Unsaid>;
  /** Tells the channel that the payer has what was paid for; may be told again. */
  confirm(
    tradeNo: string,
    about: { orderNo: string },
  ): Promise<{ kind: 'done' } | { kind: 'refused'; code: string; reason: string } | Unsaid>;
}

/** One request to a channel. */
export interface WireRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  url: string;
  headers: Record<string, string>;
  body?: string;
  /** Sent instead of `body`: a form with files. */
  bytes?: Buffer;
  /** What it is about, for the timeline and the logs; never sent. */
  about: { call: string; orderNo?: string; refundNo?: string };
}

/** The raw answer; `body` is the bytes that were received (≤ 1 MB). Header names are lower-case. */
export interface WireAnswer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Sends once, follows no redirect, gives up after Channels.TimeoutMs; throws TransportFailed. */
export type Transport = (request: WireRequest) => Promise<WireAnswer>;

/** A file that a channel hands out: its size is bounded by whoever reads it. */
export interface WireFile {
  status: number;
  headers: Record<string, string>;
  /** Throws TransportFailed when it ends early. Leaving the iteration ends the download. */
  bytes: AsyncIterable<Uint8Array>;
}

/** Downloads a file, following no redirect; what takes longer than allowed between two pieces fails. Throws TransportFailed. */
export type Download = (request: WireRequest) => Promise<WireFile>;

/** Nothing usable came back; whether the channel acted is not known (unless `notSent`). */
export class TransportFailed extends Error {
  readonly why: 'timeout' | 'network' | 'too_large';
  constructor(why: TransportFailed['why'], detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = 'TransportFailed';
    this.why = why;
  }
}

/** A dispute as its channel tells it. */
export interface ChannelDispute {
  channelDisputeNo: string;
  /** The channel's numbers of the payments that it is about. */
  tradeNos: readonly string[];
  /** Our number of the order, where the channel repeats it. */
  orderNo: string | null;
  /** The channel's own word. */
  reason: string;
  /** What the payer disputes; the money may be less than the payment. */
  amount: Money;
  state: DisputeState;
  /** Until when the merchant must answer. */
  dueAt: Date | null;
  openedAt: Date;
  /** What was taken from the merchant; only of a dispute that is lost. */
  lost?: LostMoney;
}

/** The money of a lost dispute. */
export interface LostMoney {
  amount: Money;
  at: Date;
  /** The channel booked it for the dispute itself; otherwise a refund of the merchant may be meant. */
  booked: boolean;
}

/** What a channel said about one dispute. */
export type DisputeOutcome = { kind: 'found'; dispute: ChannelDispute } | { kind: 'absent' } | UnknownOutcome;

/** One dispute in a list. `mark` is another text when something about the dispute is: what has the same one need not be read again. */
export interface ListedDispute {
  channelDisputeNo: string;
  mark: string;
}

/** One page of a list; `next` asks for the page after it. */
export type DisputePage =
  | { kind: 'listed'; disputes: readonly ListedDispute[]; next: string | undefined }
  | UnknownOutcome;

/** What a channel said to an answer or to the acceptance of a claim. */
export type DisputeDeed =
  | { kind: 'done' }
  | ({ kind: 'refused'; code: string; reason: string } & Traced)
  | UnknownOutcome;

/** What a merchant may say that became of a complaint, where the channel asks for it. */
export const COMPLAINT_RESULTS = ['agreed', 'refunded', 'corrected', 'proven', 'other'] as const;
export type ComplaintResult = (typeof COMPLAINT_RESULTS)[number];

/** A file that goes with an answer; the channel gets it and nobody keeps it. */
export interface EvidenceFile {
  name: string;
  bytes: Buffer;
}

/** What a channel offers for disputes. No method throws for anything the channel does. */
export interface DisputeDesk {
  read(channelDisputeNo: string): Promise<DisputeOutcome>;
  /** Disputes that were opened or changed since then. */
  list(since: Date, page?: string): Promise<DisputePage>;
  /** Those about one payment, whenever they were opened. Absent = the channel lists by time alone. */
  listOf?(channelTradeNo: string, page?: string): Promise<DisputePage>;
  /** Sends text to the payer or to the channel, whichever the stage of the dispute calls for. */
  answer(channelDisputeNo: string, text: string, files: readonly EvidenceFile[]): Promise<DisputeDeed>;
  /** Says that the merchant has dealt with it. Absent = the channel decides that alone. */
  finish?(channelDisputeNo: string, result: ComplaintResult): Promise<DisputeDeed>;
  /** Gives in: the payer gets the disputed money from the merchant. Absent = the channel does not take it. */
  accept?(channelDisputeNo: string, note: string): Promise<DisputeDeed>;
}
