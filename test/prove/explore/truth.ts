import type {
  CloseOutcome,
  DisputeAction,
  DisputeOutcome,
  Notification,
  Outcome,
  RefundOutcome,
} from '../../../server/payments/channel.ts';

/**
 * The behaviour of a channel where the three differ. `scanned`: the trade begins when the payer scans the code (Alipay). `opened`: it
 * exists from the create, and refunds take time (WeChat Pay). `till`: the same with a payer's code, whose close refunds the money
 * (reverse). `approved`: the payer approves, and the merchant captures (PayPal).
 */
export type Flavour = 'scanned' | 'opened' | 'till' | 'approved';

/** A refund as stored by the channel. */
export interface ChannelRefund {
  readonly number: string;
  readonly amount: bigint;
  readonly state: 'pending' | 'succeeded' | 'failed' | 'abnormal';
  /** Made in the channel's own portal, or taken for a dispute. */
  readonly isExternal: boolean;
  readonly at: number;
  /** It succeeded once, even if it was returned since. */
  readonly wasDone?: true;
}

/** A dispute of the payer; the amount taken when it is lost is among the refunds. */
export interface Dispute {
  readonly state: 'needs_answer' | 'won' | 'lost';
  readonly amount: bigint;
  readonly openedAt: number;
  readonly lostAt: number;
}

/** One payment of an order, as stored by the channel. */
export interface Trade {
  readonly orderNo: string;
  readonly amount: bigint;
  readonly state: 'unscanned' | 'open' | 'agreed' | 'held' | 'paid' | 'closed';
  /** Milliseconds; the payer cannot pay from then on. */
  readonly expiresAt: number;
  readonly paidAt: number;
  readonly refunds: readonly ChannelRefund[];
  readonly dispute: Dispute | null;
}

/** A call of the service on its way to the channel. */
export interface Call {
  readonly method:
    | 'place'
    | 'query'
    | 'close'
    | 'capture'
    | 'refund'
    | 'queryRefund'
    | 'lookUpRefund'
    | 'readDispute'
    | 'acceptDispute';
  readonly orderNo: string;
  readonly amount: bigint;
  readonly expiresAt: number;
  readonly number: string | null;
  readonly refundAmount: bigint | null;
}

/** The immutable state of the channel: every event makes a new one. */
export interface Truth {
  readonly flavour: Flavour;
  readonly trades: readonly Trade[];
  /** Messages sent by the channel: each may arrive any number of times, in any order, or never. */
  readonly notices: readonly Notification[];
  /** Calls that arrive after their caller has given up. */
  readonly astray: readonly Call[];
}

/** The channel's answer and its state afterwards. */
export interface Answered {
  readonly truth: Truth;
  readonly said: Outcome | CloseOutcome | RefundOutcome | DisputeOutcome | DisputeAction;
}

/** The account of every order and notification of the exploration. */
export const ACCOUNT = 'account-1';

/** The currency of every order at a channel of this flavour. */
export function currencyOf(flavour: Flavour): string {
  return flavour === 'approved' ? 'USD' : 'CNY';
}

/** The state of a channel without trades. */
export function emptyTruth(flavour: Flavour): Truth {
  return { flavour, trades: [], notices: [], astray: [] };
}

/** The trade of an order, if the channel knows it. */
export function tradeOf(truth: Truth, orderNo: string): Trade | undefined {
  return truth.trades.find((trade) => trade.orderNo === orderNo);
}

/** The refunded amount of a trade in minor units, from refunds in these states. */
export function givenBack({ refunds }: Trade, states: readonly ChannelRefund['state'][] = ['succeeded']): bigint {
  return refunds.filter(({ state }) => states.includes(state)).reduce((sum, { amount }) => sum + amount, 0n);
}

/** The result of a possible capture. */
export type How = 'well' | 'held' | 'declined';

/** The channel performs a call and answers it. */
export function answer(truth: Truth, call: Call, now: number, how: How = 'well'): Answered {
  const { method, orderNo } = call;
  const trade = tradeOf(truth, orderNo);
  if (method === 'place') return place(truth, call);
  if (method === 'query') return { truth, said: seen(truth, trade) };
  if (method === 'readDispute') return { truth, said: seenDispute(truth, trade) };
  if (method === 'acceptDispute') return accept(truth, trade, now);
  if (!trade || (trade.state === 'unscanned' && method !== 'close')) return { truth, said: { kind: 'absent' } };
  if (method === 'close') return close(truth, trade, now);
  if (method === 'capture') return capture(truth, trade, now, how);
  if (method === 'refund') return refund(truth, trade, call, now);
  return {
    truth,
    said: seenRefund(
      truth,
      trade.refunds.find((one) => one.number === call.number || channelNumberOf(one) === call.number),
    ),
  };
}

function place(truth: Truth, { orderNo, amount, expiresAt }: Call): Answered {
  const { flavour, trades } = truth;
  const trade = tradeOf(truth, orderNo);
  if (!trade) {
    const state = flavour === 'scanned' ? ('unscanned' as const) : ('open' as const);
    const made: Trade = { orderNo, amount, state, expiresAt, paidAt: 0, refunds: [], dispute: null };
    return { truth: { ...truth, trades: [...trades, made] }, said: waiting(flavour, orderNo) };
  }
  if (trade.state === 'open' || trade.state === 'unscanned') return { truth, said: waiting(flavour, orderNo) };
  if (flavour === 'approved') return { truth, said: seen(truth, trade) };
  const code = trade.state === 'paid' ? 'ORDERPAID' : 'ORDERCLOSED';
  return { truth, said: { kind: 'declined', code, reason: code, definite: false } };
}

function waiting(flavour: Flavour, orderNo: string): Outcome {
  if (flavour === 'till') return { kind: 'pending' };
  if (flavour === 'approved')
    return {
      kind: 'pending',
      pay: { type: 'redirect', url: `https://pay/${orderNo}` },
      channelOrderId: `C-${orderNo}`,
    };
  return { kind: 'pending', pay: { type: 'qr', qrCode: `code-${orderNo}` } };
}

function seen({ flavour }: Truth, trade: Trade | undefined): Outcome {
  if (!trade) return { kind: 'absent' };
  const named = flavour === 'approved' ? { channelOrderId: `C-${trade.orderNo}` } : {};
  switch (trade.state) {
    case 'unscanned':
      return { kind: 'absent' };
    case 'open':
      // Only PayPal returns its link again.
      return flavour === 'approved' ? waiting(flavour, trade.orderNo) : { kind: 'pending' };
    case 'agreed':
      return { kind: 'approved', ...named };
    case 'held':
      return { kind: 'pending', capturePending: 'PENDING_REVIEW', ...named };
    case 'closed':
      return { kind: 'closed' };
    case 'paid':
      return { ...paidOutcome(flavour, trade), ...named };
  }
}

function paidOutcome(flavour: Flavour, trade: Trade): Extract<Outcome, { kind: 'paid' }> {
  const { orderNo, amount: minor, paidAt } = trade;
  // PayPal does not list the amount of a dispute among the refunds of a payment.
  const refunded = trade.refunds.filter(({ number }) => number !== takenFor(trade));
  const back = givenBack({ ...trade, refunds: refunded });
  const all = { refundsHint: true, refundedTotal: back };
  const hint = flavour === 'opened' || flavour === 'till' ? { refundsHint: true } : flavour === 'approved' ? all : {};
  const refunds = back === 0n ? {} : back === minor ? all : hint;
  return {
    kind: 'paid',
    channelNo: `T-${orderNo}`,
    amount: { minor, currency: currencyOf(flavour) },
    at: new Date(paidAt),
    ...refunds,
  };
}

function close(truth: Truth, trade: Trade, now: number): Answered {
  const { flavour } = truth;
  if (trade.state === 'paid' && flavour === 'till') return reverse(truth, trade, now);
  if (trade.state === 'paid') return { truth, said: { kind: 'paid' } };
  if (trade.state === 'unscanned') return { truth, said: { kind: 'absent' } };
  // PayPal has no close: an order that is not captured expires.
  if (flavour === 'approved')
    return trade.state === 'held'
      ? { truth, said: { kind: 'refused', code: 'NOT_CLOSABLE', reason: 'PENDING_REVIEW' } }
      : { truth, said: { kind: 'closed' } };
  return { truth: withTrade(truth, { ...trade, state: 'closed' }), said: { kind: 'closed' } };
}

/** Cancels a payer's code and refunds its payment. */
function reverse(truth: Truth, trade: Trade, now: number): Answered {
  const left = trade.amount - givenBack(trade, ['succeeded', 'pending', 'abnormal']);
  const made: ChannelRefund = {
    number: `reverse-${trade.orderNo}`,
    amount: left,
    state: 'succeeded',
    isExternal: true,
    at: now,
  };
  const refunds = left > 0n ? [...trade.refunds, made] : trade.refunds;
  const returned = { channelNo: `T-${trade.orderNo}`, at: new Date(now) };
  return { truth: withTrade(truth, { ...trade, refunds }), said: { kind: 'closed', returned } };
}

/** Idempotent: repeated captures return the same answer, and the money is taken once. */
function capture(truth: Truth, trade: Trade, now: number, how: How): Answered {
  if (trade.state !== 'agreed') return { truth, said: seen(truth, trade) };
  if (how === 'held') {
    const held: Trade = { ...trade, state: 'held' };
    return { truth: withTrade(truth, held), said: seen(truth, held) };
  }
  if (how === 'declined') {
    const code = 'INSTRUMENT_DECLINED';
    const said = {
      kind: 'declined',
      code,
      reason: 'the payer must choose another way',
      definite: true,
      left: 'payer',
    } as const;
    return { truth: withTrade(truth, { ...trade, state: 'open' }), said };
  }
  const paid: Trade = { ...trade, state: 'paid', paidAt: now };
  return { truth: tellPaid(withTrade(truth, paid), paid), said: seen(truth, paid) };
}

function refund(truth: Truth, trade: Trade, call: Call, now: number): Answered {
  const number = call.number ?? '';
  const amount = call.refundAmount ?? 0n;
  const known = trade.refunds.find((one) => one.number === number);
  if (known) return { truth, said: seenRefund(truth, known) };
  if (trade.state !== 'paid') return { truth, said: { kind: 'refused', code: 'TRADE_NOT_PAID', reason: 'not paid' } };
  if (givenBack(trade, ['succeeded', 'pending', 'abnormal']) + amount > trade.amount)
    return { truth, said: { kind: 'refused', code: 'REFUND_TOO_MUCH', reason: 'more than was paid' } };
  const isSlow = truth.flavour === 'opened' || truth.flavour === 'till';
  const made: ChannelRefund = { number, amount, state: isSlow ? 'pending' : 'succeeded', isExternal: false, at: now };
  return { truth: withTrade(truth, { ...trade, refunds: [...trade.refunds, made] }), said: seenRefund(truth, made) };
}

function seenRefund({ flavour }: Truth, found: ChannelRefund | undefined): RefundOutcome {
  if (!found) return { kind: 'absent' };
  const { state, amount: minor, at } = found;
  const named = { channelRefundNo: channelNumberOf(found) };
  if (state === 'succeeded')
    return { kind: 'succeeded', amount: { minor, currency: currencyOf(flavour) }, at: new Date(at), ...named };
  if (state === 'pending') return { kind: 'pending', ...named };
  return { kind: state, code: state.toUpperCase(), reason: state, ...named };
}

/** The channel's own number of a refund. */
function channelNumberOf({ number }: ChannelRefund): string {
  return `CR-${number}`;
}

/** The refund number of a lost dispute. */
function takenFor({ orderNo }: Trade): string {
  return `dispute-${orderNo}`;
}

/** The channel's number of the dispute of a trade. */
export function disputeOf({ orderNo }: Pick<Trade, 'orderNo'>): string {
  return `D-${orderNo}`;
}

function seenDispute({ flavour }: Truth, trade: Trade | undefined): DisputeOutcome {
  if (!trade?.dispute) return { kind: 'absent' };
  const { state, amount: minor, openedAt, lostAt } = trade.dispute;
  const taken = trade.refunds.find(({ number }) => number === takenFor(trade));
  const money = (amount: bigint) => ({ minor: amount, currency: currencyOf(flavour) });
  const lost = { amount: money(taken?.amount ?? 0n), at: new Date(lostAt), booked: true };
  return {
    kind: 'found',
    dispute: {
      channelDisputeNo: disputeOf(trade),
      tradeNos: [`T-${trade.orderNo}`],
      orderNo: trade.orderNo,
      reason: 'goods_not_received',
      amount: money(minor),
      state,
      dueAt: state === 'needs_answer' ? new Date(openedAt + WEEK_MS) : null,
      openedAt: new Date(openedAt),
      ...(state === 'lost' && taken ? { lost } : {}),
    },
  };
}

const WEEK_MS = 7 * 86_400_000;

function accept(truth: Truth, trade: Trade | undefined, now: number): Answered {
  if (trade?.dispute?.state !== 'needs_answer')
    return { truth, said: { kind: 'refused', code: 'INVALID_DISPUTE_STATE', reason: 'it is decided' } };
  return { truth: lose(truth, trade, trade.dispute, now), said: { kind: 'done' } };
}

/** The payer disputes a payment. */
export function dispute(truth: Truth, trade: Trade, amount: bigint, now: number): Truth {
  const opened: Dispute = { state: 'needs_answer', amount, openedAt: now, lostAt: 0 };
  return emitDisputeEvent(withTrade(truth, { ...trade, dispute: opened }), trade);
}

/** A dispute is lost: the channel takes the rest of the disputed money. */
export function lose(truth: Truth, trade: Trade, opened: Dispute, now: number): Truth {
  const left = trade.amount - givenBack(trade, ['succeeded', 'pending', 'abnormal']);
  const amount = left < opened.amount ? left : opened.amount;
  const taken = { number: takenFor(trade), amount, state: 'succeeded', isExternal: true, at: now } as const;
  const refunds = amount > 0n ? [...trade.refunds, taken] : trade.refunds;
  const lost: Dispute = { ...opened, state: 'lost', lostAt: now };
  return emitDisputeEvent(withTrade(truth, { ...trade, refunds, dispute: lost }), trade);
}

/** A dispute is won, at once or after it had been lost: then the money returns. */
export function win(truth: Truth, trade: Trade, opened: Dispute): Truth {
  const refunds = trade.refunds.filter(({ number }) => number !== takenFor(trade));
  return emitDisputeEvent(withTrade(truth, { ...trade, refunds, dispute: { ...opened, state: 'won' } }), trade);
}

function emitDisputeEvent(truth: Truth, trade: Trade): Truth {
  return emit(truth, { event: 'dispute', orderNo: null, refundNo: null, disputeId: disputeOf(trade) });
}

/** Sends the message that a trade was paid. */
export function tellPaid(truth: Truth, trade: Trade): Truth {
  const outcome = paidOutcome(truth.flavour, { ...trade, refunds: [] });
  return emit(truth, { event: 'paid', orderNo: trade.orderNo, refundNo: null, outcome });
}

/** Sends the message about a refund's outcome, under the service's number or the channel's own. */
export function emitRefundEvent(truth: Truth, trade: Trade, one: ChannelRefund): Truth {
  // PayPal's message names the refund only; the outcome must be queried.
  if (truth.flavour === 'approved')
    return emit(truth, {
      event: 'refund',
      orderNo: trade.orderNo,
      refundNo: one.isExternal ? null : one.number,
      refundId: channelNumberOf(one),
    });
  if (truth.flavour === 'scanned')
    return emit(truth, { event: 'refund', orderNo: trade.orderNo, refundNo: one.number });
  return emit(truth, { event: 'refund', orderNo: trade.orderNo, refundNo: one.number, refund: seenRefund(truth, one) });
}

function emit(truth: Truth, said: Omit<Notification, 'notificationId' | 'account' | 'verifiedBy'>): Truth {
  const notificationId = `n-${truth.notices.length}`;
  const notice: Notification = { ...said, notificationId, account: ACCOUNT, verifiedBy: { certId: null, since: null } };
  return { ...truth, notices: [...truth.notices, notice] };
}

/** Replaces one trade in the state. */
export function withTrade(truth: Truth, trade: Trade): Truth {
  return { ...truth, trades: truth.trades.map((one) => (one.orderNo === trade.orderNo ? trade : one)) };
}
