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
import { isReversal, mayBeOutdated } from '../core/apply-refund-outcome.ts';
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

/**
 * The maximum number of unsuccessful key downloads per minute, for each block of neighbouring IP addresses that send
 * notifications. Each process of the service counts separately.
 */
const MOST_IN_A_MINUTE = 5;

/**
 * Limits the key downloads for each sender. Anyone can send notifications that name unknown keys, and each notification
 * causes a download.
 */
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

/** Channels repeat a notification for about this long. An order whose number is younger may not be stored yet. */
const RECENT_SECONDS = 3 * 86_400;

/** `lookup`: the id of a stored query about a refund. The service runs this query next. */
interface Settled {
  result: NotificationResult['result'];
  order?: OrderRow;
  lookup?: string | undefined;
}

/** Handles a notification. Only a verified notification of the order's own account changes the order. */
type ReceiveNotification = (
  payWay: PayWay,
  project: string,
  headers: Record<string, string | undefined>,
  rawBody: Buffer,
  /** The sender's IP address. */
  address: string,
) => Promise<NotificationResult>;

/** Creates the function that receives notifications. */
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
      ports.count('notification', { payWay, result });
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
    ports.count('notification', { payWay, result });
    return { ack: from.channel.ackNotification(VERDICTS[result]), result };
  }

  /**
   * The notification does not name the order, so each configuration of the account is tried. The configuration that
   * verified the notification is tried first.
   */
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
    result: NotificationResult['result'],
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
      note: result,
      verifiedBy: notification.account,
    });
  }

  /** If the process crashes before the query, nothing is lost: a job makes the due query. */
  async function follow({ result, order, lookup }: Settled, { refundNo, refund }: Notification): Promise<void> {
    if (!order) return;
    const own = refundNo && !refund ? await ports.store.read((tx) => findByNumber(tx, refundNo)) : undefined;
    if (lookup !== undefined) await lookUpNow(order, lookup);
    else if (own?.orderNo === order.orderNo) await checkOne(own.refundNo);
    else if (result === 'hint') await queryOrder(order);
  }

  /** An error is only logged, because the notification is stored and must be acknowledged. */
  async function lookUpNow({ orderNo }: OrderRow, lookup: string): Promise<void> {
    try {
      await runLookup(lookup);
    } catch (error) {
      ports.log('error', 'a refund lookup failed; the jobs repeat it', { orderNo, error });
    }
  }

  /** For a paid order the answer also shows refunds that were made outside this service. */
  async function queryOrder(order: OrderRow): Promise<void> {
    if (order.paid === 0n) return check(order.orderNo, { cause: 'check', actor: `channel:${order.payWay}` });
    await refresh(order, { cause: 'notice', actor: `channel:${order.payWay}` });
  }

  /**
   * One commit stores the row that detects duplicates, the change of the order, and the planned queries about refunds.
   */
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
    if (!order) return unknownOrder(tx, { project, payWay }, notification);
    noteOrder(order);
    if (!speaksFor({ project, payWay, from, notification }, order)) {
      // The channel sends messages about the whole account to the addresses of all projects that use the account.
      const isElsewhere = notification.isShared && order.account === notification.account && order.project !== project;
      return { result: isElsewhere ? 'irrelevant' : 'not_genuine' };
    }
    if (notification.bankRefused) return bankRefused(tx, order, notification);
    if (!notification.outcome && !notification.refund) return hint(tx, order, notification);
    const where = { payWay, account: notification.account, notificationId: notification.notificationId };
    // Looks for a duplicate under the order's lock. The unique index is not enough: the table has one partition per
    // month, and the index covers only one partition.
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

  /** The order may belong to another system at the account, be lost after a restored backup, or not be visible yet. */
  async function unknownOrder(
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

  /**
   * A reversed refund opens an exception (a case for an operator) immediately, because a query does not show the
   * reversal.
   */
  async function hint(tx: Tx, found: OrderRow, notification: Notification): Promise<Settled> {
    const { approvalAskedAt: refusedAt } = found;
    const isNewApproval =
      notification.approvedAt !== undefined && refusedAt !== null && notification.approvedAt > refusedAt;
    const via = { cause: 'notice', actor: `channel:${found.payWay}` };
    const order = isNewApproval
      ? await settleLocked(ports, tx, found, { command: 'approved_again', refusedAt }, via)
      : found;
    const named = await namedRefund(tx, order, notification);
    const lookup = named && (await openLookup(ports, tx, order, named));
    if (named && notification.reversed) {
      const { event, paymentNo } = notification;
      await raiseException(ports, tx, order, unanswered(named.number, { kind: 'reversed', event, paymentNo }));
    }
    return { result: 'hint', order, lookup };
  }

  /**
   * The payer's bank refused the refund, so the money is in the payer's account at the channel. An exception is opened,
   * and the refund does not change.
   */
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
      const isOld = mayBeOutdated(refund, outcome);
      const named = { number: own || number === null ? numberAtChannel(refund) : number };
      const isDoubtful = isOld || isReversal(refund, outcome);
      const lookup = isDoubtful ? await openLookup(ports, tx, order, named) : undefined;
      if (isOld) return { result: 'settled', order, lookup };
      await queryAgain(ports, tx, refund);
      await settleRefundLocked(ports, tx, { order, refund }, { outcome }, via);
      return { result: 'settled', order, lookup };
    }
    // Messages can arrive in the wrong sequence, so the channel is queried about a refund that the service does not
    // know. If the message says that the refund failed, the channel is queried only if a query about this refund is
    // already planned.
    const isOver = number === null || (outcome.kind === 'failed' && !(await isQueried(tx, orderNo, number)));
    const lookup = isOver ? undefined : await openLookup(ports, tx, order, { number });
    return { result: 'settled', order, lookup };
  }

  /** A notification about an order or dispute of another account is reported as refused. */
  function noted(
    of: { project: string; payWay: PayWay },
    notification: Notification,
    result: NotificationResult['result'],
  ): void {
    // PayPal signs its test messages for another webhook than the configured one, so a test message does not show
    // whether real notifications can be verified.
    if (notification.isTest) return;
    if (result !== 'not_genuine') return ports.onNotification?.(of, null);
    const { account, orderNo, disputeId } = notification;
    const detail = `It was verified with the keys of account ${account}, but ${orderNo ?? disputeId ?? 'its order'} belongs to another account.`;
    reportRefused(of, { why: 'wrong_account', detail });
  }

  function reportRefused(of: { project: string; payWay: PayWay }, refusal: NotificationRefusal): void {
    const { en: change } = changeFor(ports.channels.kindOf(of.payWay), refusal.why);
    ports.log('warn', 'a notification was refused', { ...of, ...refusal, change });
    // Anyone can post to the address of a project that does not exist, so nothing is stored for it.
    if (refusal.why !== 'not_configured') ports.onNotification?.(of, refusal);
  }

  function refuse(
    candidate: NotificationChannel | undefined,
    of: { project: string; payWay: PayWay },
    refusals: readonly NotificationRefusal[],
  ): NotificationResult {
    const { payWay } = of;
    ports.count('notification', { payWay, result: candidate ? 'not_genuine' : 'not_configured' });
    reportRefused(of, nearestRefusal(refusals));
    const ack = candidate?.channel.ackNotification('refused') ?? {
      status: 404,
      contentType: 'text/plain',
      body: 'fail',
    };
    return { ack, result: candidate ? 'not_genuine' : 'not_configured' };
  }

  /**
   * Reads a notification with the configuration of its order. If no configuration fits the order, the first one that
   * verifies the notification is used. Several configurations may share one key.
   */
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
    for (const { why } of refused) ports.count('notification_refused', { payWay: to.payWay, why });
    return { refused };
  }
}

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

/** Joins the trace of the request that created the refund or, without a refund, of the pay request. */
function spanOf(payWay: PayWay, about: About | undefined): SpanAbout {
  const { order, refund } = about ?? {};
  const attributes = { 'pay.pay_way': payWay, 'pay.order_no': order?.orderNo, 'pay.refund_no': refund?.refundNo };
  return { parent: refund?.traceParent ?? order?.traceParent ?? null, attributes };
}

/** The number by which the channel is queried about the refund. */
function numberOf({ refundId, refundNo }: Notification): string | null {
  return refundId ?? refundNo;
}

/** Undefined = the channel need not be queried about the refund. */
async function namedRefund(tx: Tx, { orderNo }: OrderRow, notification: Notification): Promise<Named | undefined> {
  const number = numberOf(notification);
  if (number === null) return undefined;
  const own = notification.refundNo ? await findByNumber(tx, notification.refundNo) : undefined;
  if (own && own.orderNo !== orderNo) return undefined;
  const known = own ?? (await findKnown(tx, orderNo, [number]));
  if (known && !mustBeQueried(known, notification)) return undefined;
  return { number: own ? numberAtChannel(own) : number };
}

/** The refund total that the notification reports for the order's own payment. */
function totalOf(order: OrderRow, { outcome }: Notification): bigint | undefined {
  if (outcome?.kind !== 'paid' || !isOwnPayment(order, outcome)) return undefined;
  return outcome.refundedTotal;
}

/**
 * Whether the channel is queried about the refund in a notification: the refund has failed here, or the notification
 * has PayPal's refund id (`refundId`). A reported reversal is not queried.
 */
function mustBeQueried({ state }: RefundRow, { refundId, reversed }: Notification): boolean {
  return !reversed && (state === 'failed' || refundId !== undefined);
}

/**
 * Removes the refund data from a payment's outcome. The refund is queried anyway, so no exception about unknown refunds
 * is needed.
 */
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
