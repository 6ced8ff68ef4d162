import { addressBlock } from '../../addresses.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../../db/store.ts';
import { type SpanAbout, inSpan, noteOrder } from '../../work.ts';
import {
  type FetchBudget,
  type Notice,
  type NoticeAck,
  NoticeNotGenuine,
  NoticeUndecided,
  type NoticeVerdict,
  type Outcome,
  type PayWay,
  type RefundOutcome,
} from '../channel.ts';
import { isOwnPayment, unanswered } from '../core/decide-refund.ts';
import { isReversal, mayBeOldNews } from '../core/hear-refund.ts';
import { later } from '../core/plan.ts';
import { hearDispute } from '../disputes/hear.ts';
import { listUnmatched, raiseException } from '../follow-ups.ts';
import { madeAt, numberAtChannel } from '../numbers.ts';
import { checkOrder, refreshOrder } from '../orders/order.ts';
import { type NoticeChannel, type Ports, speaksFor } from '../ports.ts';
import { checkRefund, findByNumber, findKnown, refundNumberIn, refundQuestions } from '../refunds/lookups.ts';
import { type Named, askAnew, isAsked, openQuestion, settleLocked, settleRefundLocked, settling } from '../settle.ts';
import { confirmNotice } from './confirm.ts';
import { type NoticeRefusal, changeFor, nearestRefusal } from '../notice-refusal.ts';

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
export interface NoticeResult {
  ack: NoticeAck;
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
const VERDICTS: Readonly<Record<NoticeResult['result'], NoticeVerdict>> = {
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
  result: NoticeResult['result'];
  order?: OrderRow;
  question?: string | undefined;
}

/** Settles a channel's message about an order. Only a genuine message of the account that the order pins moves anything. */
type ReceiveNotice = (
  payWay: PayWay,
  project: string,
  headers: Record<string, string | undefined>,
  rawBody: Buffer,
  /** Where it came from. */
  address: string,
) => Promise<NoticeResult>;

/** The operation over its ports. */
export function receiveNotice(ports: Ports): ReceiveNotice {
  const check = checkOrder(ports);
  const checkOne = checkRefund(ports);
  const refresh = refreshOrder(ports);
  const confirm = confirmNotice(ports);
  const askQuestion = refundQuestions(ports);
  const disputes = hearDispute(ports);
  const budgetOf = createFetchBudgets(ports.now);

  return async (payWay, project, headers, rawBody, address) => {
    const candidates = await ports.channels.forNotices(project, payWay);
    const read = await readWithAny({ project, payWay }, candidates, { headers, rawBody, budget: budgetOf(address) });
    if ('refused' in read) return refuse(candidates[0], { payWay, project }, read.refused);
    if ('undecided' in read) return answer(read.undecided, payWay, 'undecided');
    const { notice, from, about } = read;
    if (notice.disputeId !== undefined) {
      const result = await hearOfDispute({ project, payWay }, [from, ...candidates], notice.disputeId, notice);
      noted({ project, payWay }, notice, result);
      ports.count('notice', { payWay, result });
      return { ack: from.channel.ackNotice(VERDICTS[result]), result };
    }
    const done = await inSpan('notice', spanOf(payWay, about), () => take(project, payWay, from, notice));
    const { result } = done;
    noted({ project, payWay }, notice, result);
    const answered = answer(from, payWay, result);
    remember(payWay, { ...notice, orderNo: done.order?.orderNo ?? notice.orderNo }, rawBody, answered.ack, result);
    return answered;
  };

  async function take(project: string, payWay: PayWay, from: NoticeChannel, notice: Notice): Promise<Settled> {
    const isConfirmed = await confirm({ project, payWay, from, notice });
    const done: Settled = isConfirmed
      ? await settling(ports, (tx) => settleNotice(tx, project, payWay, from, notice))
      : { result: 'unconfirmed' };
    ports.checkpoint('notice.settled');
    if (done.result === 'irrelevant')
      ports.log('info', 'a notification about something else was acknowledged', {
        project,
        payWay,
        event: notice.event,
      });
    await follow(done, notice);
    return done;
  }

  function answer(from: NoticeChannel, payWay: PayWay, result: NoticeResult['result']): NoticeResult {
    ports.count('notice', { payWay, result });
    return { ack: from.channel.ackNotice(VERDICTS[result]), result };
  }

  /** A message about a dispute says nothing of whose order it is: each identity of the account is asked, the one that read it first. */
  async function hearOfDispute(
    to: { project: string; payWay: PayWay },
    [first, ...others]: readonly [NoticeChannel, ...NoticeChannel[]],
    disputeId: string,
    notice: Notice,
  ): Promise<NoticeResult['result']> {
    let result = await disputes({ ...to, from: first }, disputeId, notice);
    for (const from of others) {
      if (result !== 'not_genuine') break;
      const isOther = from.account !== first.account || from.mode !== first.mode || from === first;
      if (!isOther) result = await disputes({ ...to, from }, disputeId, notice);
    }
    return result;
  }

  function remember(payWay: PayWay, notice: Notice, rawBody: Buffer, ack: NoticeAck, word: string): void {
    if (!notice.orderNo) return;
    ports.heard({
      orderNo: notice.orderNo,
      refundNo: notice.refundNo,
      payWay,
      call: `notice ${notice.event}`,
      status: ack.status,
      request: rawBody.toString('utf8'),
      answer: ack.body,
      note: `${word}; verified with the key of account ${notice.account}`,
    });
  }

  /** What is asked at once; whatever stays open is a row that is due, so a crash or silence here loses nothing. */
  async function follow({ result, order, question }: Settled, { refundNo, refund }: Notice): Promise<void> {
    if (!order) return;
    const own = refundNo && !refund ? await ports.store.read((tx) => findByNumber(tx, refundNo)) : undefined;
    if (question !== undefined) await askNow(order, question);
    else if (own?.orderNo === order.orderNo) await checkOne(own.refundNo);
    else if (result === 'hint') await askAboutOrder(order);
  }

  /** The notice is kept and acknowledged whatever becomes of the first question. */
  async function askNow({ orderNo }: OrderRow, question: string): Promise<void> {
    try {
      await askQuestion(question);
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
  async function settleNotice(
    tx: Tx,
    project: string,
    payWay: PayWay,
    from: NoticeChannel,
    notice: Notice,
  ): Promise<Settled> {
    if (notice.isTest) return { result: 'irrelevant' };
    const found = await findByNotice(tx, payWay, notice);
    const order = found === undefined ? undefined : await tx.orders.lock({ orderNo: found });
    if (!order) return strange(tx, { project, payWay }, notice);
    noteOrder(order);
    if (!speaksFor({ project, payWay, from, notice }, order)) {
      // The account's own messages go to the address of every project that uses it.
      const isElsewhere = notice.isShared && order.account === notice.account && order.project !== project;
      return { result: isElsewhere ? 'irrelevant' : 'not_genuine' };
    }
    if (notice.bankRefused) return bankRefused(tx, order, notice);
    if (!notice.outcome && !notice.refund) return hint(tx, order, notice);
    const where = { payWay, account: notice.account, noticeId: notice.noticeId };
    // The order is locked: whoever hears the same sees what is written here, also in another month than the unique index looks at.
    const isKnown = (await tx.notices.find(where)) !== undefined;
    const row = { ...where, orderNo: order.orderNo, copies: 1, receivedAt: ports.now() };
    if (isKnown || !(await tx.notices.insertIfNew(row))) return { result: 'duplicate' };
    const via = { cause: 'notice', actor: `channel:${payWay}` };
    if (notice.refund) return settleRefundNotice(tx, order, notice, notice.refund, via);
    const named = await namedRefund(tx, order, notice);
    const outcome = named ? withoutHint(notice) : notice.outcome;
    const settled = outcome ? await settleLocked(ports, tx, order, { outcome }, via) : order;
    const question = named && (await openQuestion(ports, tx, settled, { ...named, total: totalOf(settled, notice) }));
    return { result: 'settled', order: settled, question };
  }

  /** A genuine message about no order that we know: of another system at the account, of a restored backup, or too early. */
  async function strange(tx: Tx, where: { project: string; payWay: PayWay }, notice: Notice): Promise<Settled> {
    const at = madeAt(notice.orderNo ?? notice.refundNo ?? '');
    if (notice.isShared && !at) return { result: 'irrelevant' };
    await listUnmatched(ports, tx, where, notice);
    if (!notice.isShared || !at) return { result: 'unknown_order' };
    return { result: ports.now() < later(at, RECENT_SECONDS) ? 'unknown_recent' : 'unknown_old' };
  }

  /** The order is asked about, and the refund that is named. What took money back and cannot be read is listed at once. */
  async function hint(tx: Tx, found: OrderRow, notice: Notice): Promise<Settled> {
    const { approvalAskedAt: asked } = found;
    const isNewApproval = notice.approvedAt !== undefined && asked !== null && notice.approvedAt > asked;
    const via = { cause: 'notice', actor: `channel:${found.payWay}` };
    const order = isNewApproval
      ? await settleLocked(ports, tx, found, { wish: 'approved_again', refusedAt: asked }, via)
      : found;
    const named = await namedRefund(tx, order, notice);
    const question = named && (await openQuestion(ports, tx, order, named));
    if (named && notice.reversed) {
      const { event, paymentNo } = notice;
      await raiseException(ports, tx, order, unanswered(named.number, { kind: 'reversed', event, paymentNo }));
    }
    return { result: 'hint', order, question };
  }

  /** The payer has the money, at the channel instead of the bank: the refund stays as it is, and a person may tell the payer. */
  async function bankRefused(tx: Tx, order: OrderRow, { refundNo: number, event }: Notice): Promise<Settled> {
    if (number === null) return { result: 'irrelevant' };
    const known = await findKnown(tx, order.orderNo, [number]);
    const question = known ? undefined : await openQuestion(ports, tx, order, { number });
    const about = known ? { refundNo: known.refundNo } : {};
    const detail = { number, event };
    await raiseException(ports, tx, order, { kind: 'refund_bank_refused', dedupe: number, detail, ...about });
    return { result: 'settled', order, question };
  }

  async function settleRefundNotice(
    tx: Tx,
    order: OrderRow,
    notice: Notice,
    outcome: RefundOutcome,
    via: { cause: string; actor: string },
  ): Promise<Settled> {
    const { orderNo } = order;
    const own = notice.refundNo ? await findByNumber(tx, notice.refundNo) : undefined;
    if (own && own.orderNo !== orderNo) return { result: 'settled', order };
    const number = numberOf(notice);
    const known = own ?? (await findKnown(tx, orderNo, [number, refundNumberIn(outcome)]));
    const refund = known && (await tx.refunds.lock({ refundNo: known.refundNo }));
    if (refund) {
      const isOld = mayBeOldNews(refund, outcome);
      const named = { number: own || number === null ? numberAtChannel(refund) : number };
      const isDoubtful = isOld || isReversal(refund, outcome);
      const question = isDoubtful ? await openQuestion(ports, tx, order, named) : undefined;
      if (isOld) return { result: 'settled', order, question };
      await askAnew(ports, tx, refund);
      await settleRefundLocked(ports, tx, { order, refund }, { outcome }, via);
      return { result: 'settled', order, question };
    }
    // What is unknown may have ended since, in a message that came first: the channel is asked. What never was needs no question.
    const isOver = number === null || (outcome.kind === 'failed' && !(await isAsked(tx, orderNo, number)));
    const question = isOver ? undefined : await openQuestion(ports, tx, order, { number });
    return { result: 'settled', order, question };
  }

  /** Genuine, but for another account than that of its order or dispute: a refusal, too. */
  function noted(of: { project: string; payWay: PayWay }, notice: Notice, result: NoticeResult['result']): void {
    // A try-out is signed for no webhook of ours, so it says nothing about the real ones.
    if (notice.isTest) return;
    if (result !== 'not_genuine') return ports.noticed?.(of, null);
    const { account, orderNo, disputeId } = notice;
    const detail = `It was read with the keys of account ${account}, which ${orderNo ?? disputeId ?? 'its order'} does not belong to.`;
    tellRefused(of, { why: 'wrong_account', detail });
  }

  function tellRefused(of: { project: string; payWay: PayWay }, refusal: NoticeRefusal): void {
    const change = changeFor(ports.channels.kindOf(of.payWay), refusal.why);
    ports.log('warn', 'a notification was refused', { ...of, ...refusal, change });
    // The project may be a name that a stranger made up: nothing is kept of it.
    if (refusal.why !== 'not_configured') ports.noticed?.(of, refusal);
  }

  function refuse(
    candidate: NoticeChannel | undefined,
    of: { project: string; payWay: PayWay },
    refusals: readonly NoticeRefusal[],
  ): NoticeResult {
    const { payWay } = of;
    ports.count('notice', { payWay, result: candidate ? 'not_genuine' : 'not_configured' });
    tellRefused(of, nearestRefusal(refusals));
    const ack = candidate?.channel.ackNotice('refused') ?? { status: 404, contentType: 'text/plain', body: 'fail' };
    return { ack, result: candidate ? 'not_genuine' : 'not_configured' };
  }

  /** By the candidate that speaks for the order, or else the first that could read it: several may verify with one key. */
  async function readWithAny(
    to: { project: string; payWay: PayWay },
    candidates: NoticeChannel[],
    sent: { headers: Record<string, string | undefined>; rawBody: Buffer; budget: FetchBudget },
  ): Promise<Read | { undecided: NoticeChannel } | { refused: NoticeRefusal[] }> {
    const { headers, rawBody, budget } = sent;
    const refused: NoticeRefusal[] = [];
    let first: Read | undefined;
    let undecided: NoticeChannel | undefined;
    for (const from of candidates) {
      try {
        const notice = await from.channel.readNotice(headers, rawBody, budget);
        const about = await ports.store.read((tx) => findAbout(tx, to.payWay, notice));
        const read = { notice, from, about };
        if (about && speaksFor({ ...to, from, notice }, about.order)) return read;
        first ??= read;
      } catch (error) {
        if (error instanceof NoticeUndecided) undecided ??= from;
        else if (error instanceof NoticeNotGenuine) refused.push({ why: error.why, detail: error.message });
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
  notice: Notice;
  from: NoticeChannel;
  about: About | undefined;
}

interface About {
  order: OrderRow;
  refund?: RefundRow | undefined;
}

async function findAbout(tx: ReadTx, payWay: PayWay, notice: Notice): Promise<About | undefined> {
  const orderNo = await findByNotice(tx, payWay, notice);
  const order = orderNo && (await tx.orders.find({ orderNo }));
  if (!order) return undefined;
  return { order, refund: notice.refundNo === null ? undefined : await findByNumber(tx, notice.refundNo) };
}

/** In the trace of whoever asked for the refund, or else for the payment. */
function spanOf(payWay: PayWay, about: About | undefined): SpanAbout {
  const { order, refund } = about ?? {};
  const attributes = { 'pay.pay_way': payWay, 'pay.order_no': order?.orderNo, 'pay.refund_no': refund?.refundNo };
  return { parent: refund?.traceParent ?? order?.traceParent ?? null, attributes };
}

/** What a refund is called when its channel is asked about it. */
function numberOf({ refundId, refundNo }: Notice): string | null {
  return refundId ?? refundNo;
}

/** The refund that a notice names without its result, unless there is nothing to ask about it. */
async function namedRefund(tx: Tx, { orderNo }: OrderRow, notice: Notice): Promise<Named | undefined> {
  const number = numberOf(notice);
  if (number === null) return undefined;
  const own = notice.refundNo ? await findByNumber(tx, notice.refundNo) : undefined;
  if (own && own.orderNo !== orderNo) return undefined;
  const known = own ?? (await findKnown(tx, orderNo, [number]));
  if (known && !isWorthAsking(known, notice)) return undefined;
  return { number: own ? numberAtChannel(own) : number };
}

/** What went back in all, of the payment that is in the order's sums. */
function totalOf(order: OrderRow, { outcome }: Notice): bigint | undefined {
  if (outcome?.kind !== 'paid' || !isOwnPayment(order, outcome)) return undefined;
  return outcome.refundedTotal;
}

/** What is open is asked about anyway, but an answer under way does not know of news. Only some channels tell news of what is over. */
function isWorthAsking({ state }: RefundRow, { refundId, reversed }: Notice): boolean {
  return !reversed && (state === 'failed' || refundId !== undefined);
}

/** What is asked about need not be listed, too. */
function withoutHint({ outcome }: Notice): Outcome | undefined {
  if (outcome?.kind !== 'paid') return outcome;
  return { ...outcome, refundsHint: false, refundedTotal: undefined };
}

async function findByNotice(tx: ReadTx, payWay: PayWay, notice: Notice): Promise<string | undefined> {
  const { account, orderNo, refundNo, channelOrderId, paymentNo } = notice;
  if (orderNo) return orderNo;
  const refund = refundNo === null ? undefined : await findByNumber(tx, refundNo);
  if (refund) return refund.orderNo;
  const found = channelOrderId && (await tx.orders.find({ channelOrderId }));
  if (found) return found.orderNo;
  return paymentNo && (await tx.orders.find({ payWay, account, channelTradeNo: paymentNo }))?.orderNo;
}
