import { addressBlock } from '../../addresses.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../../db/store.ts';
import { type SpanAbout, inSpan, noteOrder } from '../../work.ts';
import {
  type FetchBudget,
  type Notification,
  type NotificationAck,
  NotificationNotGenuine,
  NotificationUndecided,
  type NotificationVerdict,
  type Outcome,
  type PayWay,
  type RefundOutcome,
} from '../channel.ts';
import { isOwnPayment, unanswered } from '../core/decide-refund.ts';
import { isReversal, mayBeOldNews } from '../core/apply-refund-outcome.ts';
import { later } from '../core/plan.ts';
import { applyDisputeHint } from '../disputes/sync.ts';
import { listUnmatched, raiseException } from '../side-effects.ts';
import { madeAt, numberAtChannel } from '../numbers.ts';
import { checkOrder, refreshOrder } from '../orders/order.ts';
import { type NotificationChannel, type Ports, speaksFor } from '../ports.ts';
import { checkRefund, findByNumber, findKnown, refundNumberIn, refundLookups } from '../refunds/lookups.ts';
import {
  type Named,
  queryAgain,
  isQueried,
  openLookup,
  settleLocked,
  settleRefundLocked,
  settling,
} from '../settle.ts';
import { confirmNotification } from './confirm.ts';
import { type NotificationRefusal, changeFor, nearestRefusal } from '../notification-refusal.ts';

/** Each process counts by itself; what is fetched with success is not counted. */
const MOST_IN_A_MINUTE = 5;

/** How many keys and certificates are fetched for nothing because of the notices of one address: anybody can name some. */
function createFetchBudgets(now: () => Date): (address: string) => FetchBudget {
  let minute = 0;
  let spent = new Map<string, number>();
  return (address) => {
    const block = addressBlock(address);
    return {
      isLeft: () => (inThisMinute().get(block) ?? 0) < MOST_IN_A_MINUTE,
      spend: () => void inThisMinute().set(block, (spent.get(block) ?? 0) + 1),
    };
  };

  function inThisMinute(): Map<string, number> {
    const current = Math.floor(now().getTime() / 60_000);
    if (current !== minute) spent = new Map();
    minute = current;
    return spent;
  }
}

/** What became of a delivery; `ack` is what the channel hears. */
export interface NotificationResult {
  ack: NotificationAck;
  result:
    | 'settled'
    | 'duplicate'
    | 'hint'
    | 'irrelevant'
    | 'not_genuine'
    | 'unknown_order'
    | 'unknown_recent'
    | 'unknown_old'
    | 'unconfirmed'
    | 'undecided'
    | 'not_configured';
}

/** How a channel hears of it: only what could not be stored, or asked about, is our fault. */
const VERDICTS: Readonly<Record<NotificationResult['result'], NotificationVerdict>> = {
  settled: 'accepted',
  duplicate: 'accepted',
  hint: 'accepted',
  irrelevant: 'accepted',
  unknown_old: 'accepted',
  not_genuine: 'refused',
  unknown_order: 'refused',
  not_configured: 'refused',
  unconfirmed: 'again',
  undecided: 'again',
  unknown_recent: 'again',
};

/** A channel repeats its messages for about this long: until then an order that nobody knows may still become known. */
const RECENT_SECONDS = 3 * 86_400;

/** What the commit did, and what is asked after it. */
interface Settled {
  result: NotificationResult['result'];
  order?: OrderRow;
  lookup?: string | undefined;
}

/** Settles a channel's message about an order. Only a genuine message of the account that the order pins moves anything. */
type ReceiveNotification = (
  payWay: PayWay,
  project: string,
  headers: Record<string, string | undefined>,
  rawBody: Buffer,
  /** Where it came from. */
  address: string,
) => Promise<NotificationResult>;

/** The operation over its ports. */
export function receiveNotification(ports: Ports): ReceiveNotification {
  const check = checkOrder(ports);
  const checkOne = checkRefund(ports);
  const refresh = refreshOrder(ports);
  const confirm = confirmNotification(ports);
  const runLookup = refundLookups(ports);
  const disputes = applyDisputeHint(ports);
  const budgetOf = createFetchBudgets(ports.now);

  return async (payWay, project, headers, rawBody, address) => {
    const candidates = await ports.channels.forNotifications(project, payWay);
    const read = await readWithAny({ project, payWay }, candidates, { headers, rawBody, budget: budgetOf(address) });
    if ('refused' in read) return refuse(candidates[0], { payWay, project }, read.refused);
    if ('undecided' in read) return answer(read.undecided, payWay, 'undecided');
    const { notification, from, about } = read;
    if (notification.disputeId !== undefined) {
      const result = await applyDisputeMessage(
        { project, payWay },
        [from, ...candidates],
        notification.disputeId,
        notification,
      );
      noted({ project, payWay }, notification, result);
      ports.count('notice', { payWay, result });
      return { ack: from.channel.ackNotification(VERDICTS[result]), result };
    }
    const done = await inSpan('notice', spanOf(payWay, about), () => take(project, payWay, from, notification));
    const { result } = done;
    noted({ project, payWay }, notification, result);
    const answered = answer(from, payWay, result);
    remember(
      payWay,
      { ...notification, orderNo: done.order?.orderNo ?? notification.orderNo },
      rawBody,
      answered.ack,
      result,
    );
    return answered;
  };

  async function take(
    project: string,
    payWay: PayWay,
    from: NotificationChannel,
    notification: Notification,
  ): Promise<Settled> {
    const isConfirmed = await confirm({ project, payWay, from, notification });
    const done: Settled = isConfirmed
      ? await settling(ports, (tx) => settleNotification(tx, project, payWay, from, notification))
      : { result: 'unconfirmed' };
    ports.checkpoint('notice.settled');
    if (done.result === 'irrelevant')
      ports.log('info', 'a notification about something else was acknowledged', {
        project,
        payWay,
        event: notification.event,
      });
    await follow(done, notification);
    return done;
  }

  function answer(from: NotificationChannel, payWay: PayWay, result: NotificationResult['result']): NotificationResult {
    ports.count('notice', { payWay, result });
    return { ack: from.channel.ackNotification(VERDICTS[result]), result };
  }

  /** A message about a dispute says nothing of whose order it is: each identity of the account is asked, the one that read it first. */
  async function applyDisputeMessage(
    to: { project: string; payWay: PayWay },
    [first, ...others]: readonly [NotificationChannel, ...NotificationChannel[]],
    disputeId: string,
    notification: Notification,
  ): Promise<NotificationResult['result']> {
    let result = await disputes({ ...to, from: first }, disputeId, notification);
    for (const from of others) {
      if (result !== 'not_genuine') break;
      const isOther = from.account !== first.account || from.mode !== first.mode || from === first;
      if (!isOther) result = await disputes({ ...to, from }, disputeId, notification);
    }
    return result;
  }

  function remember(
    payWay: PayWay,
    notification: Notification,
    rawBody: Buffer,
    ack: NotificationAck,
    word: string,
  ): void {
    if (!notification.orderNo) return;
    ports.onReceived({
      orderNo: notification.orderNo,
      refundNo: notification.refundNo,
      payWay,
      call: `notice ${notification.event}`,
      status: ack.status,
      request: rawBody.toString('utf8'),
      answer: ack.body,
      note: `${word}; verified with the key of account ${notification.account}`,
    });
  }

  /** What is asked at once; whatever stays open is a row that is due, so a crash or silence here loses nothing. */
  async function follow({ result, order, lookup }: Settled, { refundNo, refund }: Notification): Promise<void> {
    if (!order) return;
    const own = refundNo && !refund ? await ports.store.read((tx) => findByNumber(tx, refundNo)) : undefined;
    if (lookup !== undefined) await askNow(order, lookup);
    else if (own?.orderNo === order.orderNo) await checkOne(own.refundNo);
    else if (result === 'hint') await askAboutOrder(order);
  }

  /** The notice is kept and acknowledged whatever becomes of the first question. */
  async function askNow({ orderNo }: OrderRow, lookup: string): Promise<void> {
    try {
      await runLookup(lookup);
    } catch (error) {
      ports.log('error', 'a refund could not be asked about yet', { orderNo, error });
    }
  }

  /** About paid money the channel says whether there are refunds that nobody explained. */
  async function askAboutOrder(order: OrderRow): Promise<void> {
    if (order.paid === 0n) return check(order.orderNo, { cause: 'check', actor: `channel:${order.payWay}` });
    await refresh(order, { cause: 'notice', actor: `channel:${order.payWay}` });
  }

  /** Matched on everything that the order pins; the dedupe row commits with the settle and with what is still to be asked. */
  async function settleNotification(
    tx: Tx,
    project: string,
    payWay: PayWay,
    from: NotificationChannel,
    notification: Notification,
  ): Promise<Settled> {
    if (notification.isTest) return { result: 'irrelevant' };
    const found = await findByNotification(tx, payWay, notification);
    const order = found === undefined ? undefined : await tx.orders.lock({ orderNo: found });
    if (!order) return strange(tx, { project, payWay }, notification);
    noteOrder(order);
    if (!speaksFor({ project, payWay, from, notification }, order)) {
      // The account's own messages go to the address of every project that uses it.
      const isElsewhere = notification.isShared && order.account === notification.account && order.project !== project;
      return { result: isElsewhere ? 'irrelevant' : 'not_genuine' };
    }
    if (notification.bankRefused) return bankRefused(tx, order, notification);
    if (!notification.outcome && !notification.refund) return hint(tx, order, notification);
    const where = { payWay, account: notification.account, notificationId: notification.notificationId };
    // The order is locked: whoever hears the same sees what is written here, also in another month than the unique index looks at.
    const isKnown = (await tx.notifications.find(where)) !== undefined;
    const row = { ...where, orderNo: order.orderNo, copies: 1, receivedAt: ports.now() };
    if (isKnown || !(await tx.notifications.insertIfNew(row))) return { result: 'duplicate' };
    const via = { cause: 'notice', actor: `channel:${payWay}` };
    if (notification.refund) return settleRefundNotification(tx, order, notification, notification.refund, via);
    const named = await namedRefund(tx, order, notification);
    const outcome = named ? withoutHint(notification) : notification.outcome;
    const settled = outcome ? await settleLocked(ports, tx, order, { outcome }, via) : order;
    const lookup = named && (await openLookup(ports, tx, settled, { ...named, total: totalOf(settled, notification) }));
    return { result: 'settled', order: settled, lookup };
  }

  /** A genuine message about no order that we know: of another system at the account, of a restored backup, or too early. */
  async function strange(
    tx: Tx,
    where: { project: string; payWay: PayWay },
    notification: Notification,
  ): Promise<Settled> {
    const at = madeAt(notification.orderNo ?? notification.refundNo ?? '');
    if (notification.isShared && !at) return { result: 'irrelevant' };
    await listUnmatched(ports, tx, where, notification);
    if (!notification.isShared || !at) return { result: 'unknown_order' };
    return { result: ports.now() < later(at, RECENT_SECONDS) ? 'unknown_recent' : 'unknown_old' };
  }

  /** The order is asked about, and the refund that is named. What took money back and cannot be read is listed at once. */
  async function hint(tx: Tx, found: OrderRow, notification: Notification): Promise<Settled> {
    const { approvalAskedAt: asked } = found;
    const isNewApproval = notification.approvedAt !== undefined && asked !== null && notification.approvedAt > asked;
    const via = { cause: 'notice', actor: `channel:${found.payWay}` };
    const order = isNewApproval
      ? await settleLocked(ports, tx, found, { command: 'approved_again', refusedAt: asked }, via)
      : found;
    const named = await namedRefund(tx, order, notification);
    const lookup = named && (await openLookup(ports, tx, order, named));
    if (named && notification.reversed) {
      const { event, paymentNo } = notification;
      await raiseException(ports, tx, order, unanswered(named.number, { kind: 'reversed', event, paymentNo }));
    }
    return { result: 'hint', order, lookup };
  }

  /** The payer has the money, at the channel instead of the bank: the refund stays as it is, and a person may tell the payer. */
  async function bankRefused(tx: Tx, order: OrderRow, { refundNo: number, event }: Notification): Promise<Settled> {
    if (number === null) return { result: 'irrelevant' };
    const known = await findKnown(tx, order.orderNo, [number]);
    const lookup = known ? undefined : await openLookup(ports, tx, order, { number });
    const about = known ? { refundNo: known.refundNo } : {};
    const detail = { number, event };
    await raiseException(ports, tx, order, { kind: 'refund_bank_refused', dedupe: number, detail, ...about });
    return { result: 'settled', order, lookup };
  }

  async function settleRefundNotification(
    tx: Tx,
    order: OrderRow,
    notification: Notification,
    outcome: RefundOutcome,
    via: { cause: string; actor: string },
  ): Promise<Settled> {
    const { orderNo } = order;
    const own = notification.refundNo ? await findByNumber(tx, notification.refundNo) : undefined;
    if (own && own.orderNo !== orderNo) return { result: 'settled', order };
    const number = numberOf(notification);
    const known = own ?? (await findKnown(tx, orderNo, [number, refundNumberIn(outcome)]));
    const refund = known && (await tx.refunds.lock({ refundNo: known.refundNo }));
    if (refund) {
      const isOld = mayBeOldNews(refund, outcome);
      const named = { number: own || number === null ? numberAtChannel(refund) : number };
      const isDoubtful = isOld || isReversal(refund, outcome);
      const lookup = isDoubtful ? await openLookup(ports, tx, order, named) : undefined;
      if (isOld) return { result: 'settled', order, lookup };
      await queryAgain(ports, tx, refund);
      await settleRefundLocked(ports, tx, { order, refund }, { outcome }, via);
      return { result: 'settled', order, lookup };
    }
    // What is unknown may have ended since, in a message that came first: the channel is asked. What never was needs no question.
    const isOver = number === null || (outcome.kind === 'failed' && !(await isQueried(tx, orderNo, number)));
    const lookup = isOver ? undefined : await openLookup(ports, tx, order, { number });
    return { result: 'settled', order, lookup };
  }

  /** Genuine, but for another account than that of its order or dispute: a refusal, too. */
  function noted(
    of: { project: string; payWay: PayWay },
    notification: Notification,
    result: NotificationResult['result'],
  ): void {
    // A try-out is signed for no webhook of ours, so it says nothing about the real ones.
    if (notification.isTest) return;
    if (result !== 'not_genuine') return ports.noticed?.(of, null);
    const { account, orderNo, disputeId } = notification;
    const detail = `It was read with the keys of account ${account}, which ${orderNo ?? disputeId ?? 'its order'} does not belong to.`;
    reportRefused(of, { why: 'wrong_account', detail });
  }

  function reportRefused(of: { project: string; payWay: PayWay }, refusal: NotificationRefusal): void {
    const change = changeFor(ports.channels.kindOf(of.payWay), refusal.why);
    ports.log('warn', 'a notification was refused', { ...of, ...refusal, change });
    // The project may be a name that a stranger made up: nothing is kept of it.
    if (refusal.why !== 'not_configured') ports.noticed?.(of, refusal);
  }

  function refuse(
    candidate: NotificationChannel | undefined,
    of: { project: string; payWay: PayWay },
    refusals: readonly NotificationRefusal[],
  ): NotificationResult {
    const { payWay } = of;
    ports.count('notice', { payWay, result: candidate ? 'not_genuine' : 'not_configured' });
    reportRefused(of, nearestRefusal(refusals));
    const ack = candidate?.channel.ackNotification('refused') ?? {
      status: 404,
      contentType: 'text/plain',
      body: 'fail',
    };
    return { ack, result: candidate ? 'not_genuine' : 'not_configured' };
  }

  /** By the candidate that speaks for the order, or else the first that could read it: several may verify with one key. */
  async function readWithAny(
    to: { project: string; payWay: PayWay },
    candidates: NotificationChannel[],
    sent: { headers: Record<string, string | undefined>; rawBody: Buffer; budget: FetchBudget },
  ): Promise<Read | { undecided: NotificationChannel } | { refused: NotificationRefusal[] }> {
    const { headers, rawBody, budget } = sent;
    const refused: NotificationRefusal[] = [];
    let first: Read | undefined;
    let undecided: NotificationChannel | undefined;
    for (const from of candidates) {
      try {
        const notification = await from.channel.readNotification(headers, rawBody, budget);
        const about = await ports.store.read((tx) => findAbout(tx, to.payWay, notification));
        const read = { notification, from, about };
        if (about && speaksFor({ ...to, from, notification }, about.order)) return read;
        first ??= read;
      } catch (error) {
        if (error instanceof NotificationUndecided) undecided ??= from;
        else if (error instanceof NotificationNotGenuine) refused.push({ why: error.why, detail: error.message });
        else throw error;
      }
    }
    if (first) return first;
    if (undecided) return { undecided };
    for (const { why } of refused) ports.count('notice_refused', { payWay: to.payWay, why });
    return { refused };
  }
}

/** A genuine notice, who read it, and the rows that it is about, as they were then. */
interface Read {
  notification: Notification;
  from: NotificationChannel;
  about: About | undefined;
}

interface About {
  order: OrderRow;
  refund?: RefundRow | undefined;
}

async function findAbout(tx: ReadTx, payWay: PayWay, notification: Notification): Promise<About | undefined> {
  const orderNo = await findByNotification(tx, payWay, notification);
  const order = orderNo && (await tx.orders.find({ orderNo }));
  if (!order) return undefined;
  return { order, refund: notification.refundNo === null ? undefined : await findByNumber(tx, notification.refundNo) };
}

/** In the trace of whoever asked for the refund, or else for the payment. */
function spanOf(payWay: PayWay, about: About | undefined): SpanAbout {
  const { order, refund } = about ?? {};
  const attributes = { 'pay.pay_way': payWay, 'pay.order_no': order?.orderNo, 'pay.refund_no': refund?.refundNo };
  return { parent: refund?.traceParent ?? order?.traceParent ?? null, attributes };
}

/** What a refund is called when its channel is asked about it. */
function numberOf({ refundId, refundNo }: Notification): string | null {
  return refundId ?? refundNo;
}

/** The refund that a notice names without its result, unless there is nothing to ask about it. */
async function namedRefund(tx: Tx, { orderNo }: OrderRow, notification: Notification): Promise<Named | undefined> {
  const number = numberOf(notification);
  if (number === null) return undefined;
  const own = notification.refundNo ? await findByNumber(tx, notification.refundNo) : undefined;
  if (own && own.orderNo !== orderNo) return undefined;
  const known = own ?? (await findKnown(tx, orderNo, [number]));
  if (known && !isWorthAsking(known, notification)) return undefined;
  return { number: own ? numberAtChannel(own) : number };
}

/** What went back in all, of the payment that is in the order's sums. */
function totalOf(order: OrderRow, { outcome }: Notification): bigint | undefined {
  if (outcome?.kind !== 'paid' || !isOwnPayment(order, outcome)) return undefined;
  return outcome.refundedTotal;
}

/** What is open is asked about anyway, but an answer under way does not know of news. Only some channels tell news of what is over. */
function isWorthAsking({ state }: RefundRow, { refundId, reversed }: Notification): boolean {
  return !reversed && (state === 'failed' || refundId !== undefined);
}

/** What is asked about need not be listed, too. */
function withoutHint({ outcome }: Notification): Outcome | undefined {
  if (outcome?.kind !== 'paid') return outcome;
  return { ...outcome, refundsHint: false, refundedTotal: undefined };
}

async function findByNotification(tx: ReadTx, payWay: PayWay, notification: Notification): Promise<string | undefined> {
  const { account, orderNo, refundNo, channelOrderId, paymentNo } = notification;
  if (orderNo) return orderNo;
  const refund = refundNo === null ? undefined : await findByNumber(tx, refundNo);
  if (refund) return refund.orderNo;
  const found = channelOrderId && (await tx.orders.find({ channelOrderId }));
  if (found) return found.orderNo;
  return paymentNo && (await tx.orders.find({ payWay, account, channelTradeNo: paymentNo }))?.orderNo;
}
