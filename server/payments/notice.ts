import type { OrderRow } from '../db/entities/orders.ts';
import type { RefundRow } from '../db/entities/refunds.ts';
import type { ReadTx, Tx } from '../db/tx.ts';
import { NoticeNotGenuine, type Notice, type NoticeAck, type Outcome, type PayWay } from './channel.ts';
import { ask, orderRef } from './ask.ts';
import { checkOrder } from './check-order.ts';
import { checkRefund } from './check-refund.ts';
import { confirmNotice } from './confirm-notice.ts';
import { settleForeignRefund } from './foreign-refund.ts';
import { raiseException } from './journal.ts';
import { readNumberAtChannel } from './numbers.ts';
import type { NoticeChannel, Ports } from './ports.ts';
import { refreshOrder } from './query.ts';
import { settleLocked, settleRefundLocked } from './settle.ts';
import { speaksFor, type Arrived } from './whose-notice.ts';

/** What became of a delivery; `ack` is what the channel hears. */
export interface NoticeResult {
  ack: NoticeAck;
  result: 'settled' | 'duplicate' | 'hint' | 'not_genuine' | 'unknown_order' | 'unconfirmed' | 'not_configured';
}

/** Settles a channel's message about an order. Only a genuine message of the account that the order pins moves anything. */
export type ReceiveNotice = (
  payWay: PayWay,
  project: string,
  headers: Record<string, string | undefined>,
  rawBody: Buffer,
) => Promise<NoticeResult>;

/** The operation over its ports. */
export function receiveNotice(ports: Ports): ReceiveNotice {
  const check = checkOrder(ports);
  const checkOne = checkRefund(ports);
  const refresh = refreshOrder(ports);
  const confirm = confirmNotice(ports);

  return async (payWay, project, headers, rawBody) => {
    const candidates = await ports.channels.forNotices(project, payWay);
    const read = await readWithAny({ project, payWay }, candidates, headers, rawBody);
    if (!read) return refuse(candidates[0], payWay, project);
    const { notice, from } = read;
    const isConfirmed = await confirm({ project, payWay, from, notice });
    const result = isConfirmed
      ? await ports.store.transaction((tx) => settleNotice(tx, project, payWay, from, notice))
      : 'unconfirmed';
    ports.checkpoint('notice.settled');
    if (typeof result === 'object') await follow(result, notice);
    if (result === 'settled' && notice.refundNo && !notice.refund)
      await askAboutRefund(notice.refundNo, notice.orderNo);
    const word = typeof result === 'object' ? 'hint' : result;
    ports.count('notice', { payWay, result: word });
    const ack = from.channel.ackNotice(word !== 'unknown_order' && word !== 'not_genuine' && word !== 'unconfirmed');
    remember(payWay, notice, rawBody, ack, word);
    return { ack, result: word };
  };

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

  /** A hint: the channel is asked about what it names. About paid money it says whether there are refunds that nobody explained. */
  async function follow(order: OrderRow, { refundNo }: Notice): Promise<void> {
    const via = { cause: 'notice', actor: `channel:${order.payWay}` };
    const refund = refundNo && (await ports.store.read((tx) => findByNumber(tx, refundNo)));
    if (refund && refund.orderNo === order.orderNo) return checkOne(refund.refundNo);
    if (order.paid === 0n) return check(order.orderNo);
    await refresh(order, via);
  }

  /** Matched on everything that the order pins; the dedupe row commits with the settle. */
  async function settleNotice(
    tx: Tx,
    project: string,
    payWay: PayWay,
    from: NoticeChannel,
    notice: Notice,
  ): Promise<'settled' | 'duplicate' | 'unknown_order' | 'not_genuine' | OrderRow> {
    const found = await findByNotice(tx, notice);
    if (!found) return 'unknown_order';
    const order = await tx.orders.lock({ orderNo: found });
    if (!order) return 'unknown_order';
    if (!speaksFor({ project, payWay, from, notice }, order)) return 'not_genuine';
    if (!notice.outcome && !notice.refund) return order;
    const where = { payWay, account: notice.account, noticeId: notice.noticeId };
    const isNew = await tx.notices.insertIfNew({
      ...where,
      orderNo: order.orderNo,
      copies: 1,
      receivedAt: ports.now(),
    });
    if (!isNew) return 'duplicate';
    const via = { cause: 'notice', actor: `channel:${payWay}` };
    const settled = notice.outcome
      ? await settleLocked(ports, tx, order, { outcome: withoutHint(notice) }, via)
      : order;
    if (notice.refund) await settleRefundNotice(tx, settled, notice, via);
    return 'settled';
  }

  async function settleRefundNotice(tx: Tx, order: OrderRow, notice: Notice, via: { cause: string; actor: string }) {
    if (!notice.refund) return;
    const known = notice.refundNo ? await findByNumber(tx, notice.refundNo) : undefined;
    const refund = known && (await tx.refunds.lock({ refundNo: known.refundNo }));
    if (refund && refund.orderNo === order.orderNo) {
      await settleRefundLocked(ports, tx, { order, refund }, { outcome: notice.refund }, via);
    } else if (!refund && notice.refund.kind === 'succeeded') {
      await settleForeignRefund(ports, tx, order, notice.refund, notice.refundNo, via);
    }
  }

  /** The notice names a refund without its result: the channel is asked. A number that is not ours is a refund made elsewhere (R8). */
  async function askAboutRefund(refundNo: string, orderNo: string | null): Promise<void> {
    const known = await ports.store.read((tx) => findByNumber(tx, refundNo));
    if (known) return checkOne(known.refundNo);
    const order = orderNo && (await ports.store.read((tx) => tx.orders.find({ orderNo })));
    if (!order) return;
    const now = ports.now();
    const unknown = { minor: 0n, currency: order.currency };
    const call = { ...orderRef(order), refundNo, refundAmount: unknown, refundSentAt: now, channelRefundNo: refundNo };
    const outcome = await ask(ports, order, (channel) => channel.queryRefund(call));
    if (outcome.kind !== 'succeeded' && outcome.kind !== 'unknown') return;
    await ports.store.transaction(async (tx) => {
      const locked = await tx.orders.lock({ orderNo: order.orderNo });
      const via = { cause: 'notice', actor: `channel:${order.payWay}` };
      // The notice does not come again, so what could not be asked about is listed for a person.
      if (locked && outcome.kind === 'unknown')
        await raiseException(ports, tx, locked, { kind: 'refund_unexplained', dedupe: refundNo, blocksRefunds: true });
      else if (locked && outcome.kind === 'succeeded')
        await settleForeignRefund(ports, tx, locked, { ...outcome, channelRefundNo: refundNo }, refundNo, via);
    });
  }

  function refuse(candidate: NoticeChannel | undefined, payWay: PayWay, project: string): NoticeResult {
    ports.count('notice', { payWay, result: candidate ? 'not_genuine' : 'not_configured' });
    ports.log('warn', 'a notification was refused', { payWay, project });
    const ack = candidate?.channel.ackNotice(false) ?? { status: 404, contentType: 'text/plain', body: 'fail' };
    return { ack, result: candidate ? 'not_genuine' : 'not_configured' };
  }

  /** By the candidate that speaks for the order, or else the first that could read it: several may verify with one key. */
  async function readWithAny(
    to: { project: string; payWay: PayWay },
    candidates: NoticeChannel[],
    headers: Record<string, string | undefined>,
    rawBody: Buffer,
  ): Promise<{ notice: Notice; from: NoticeChannel } | undefined> {
    const reasons = [];
    let first: { notice: Notice; from: NoticeChannel } | undefined;
    for (const from of candidates) {
      try {
        const read = { notice: await from.channel.readNotice(headers, rawBody), from };
        if (await isPinned({ ...to, ...read })) return read;
        first ??= read;
      } catch (error) {
        if (!(error instanceof NoticeNotGenuine)) throw error;
        reasons.push(error.why);
      }
    }
    if (!first) for (const why of reasons) ports.count('notice_refused', { payWay: to.payWay, why });
    return first;
  }

  async function isPinned(arrived: Arrived): Promise<boolean> {
    return ports.store.read(async (tx) => {
      const orderNo = await findByNotice(tx, arrived.notice);
      const order = orderNo && (await tx.orders.find({ orderNo }));
      return order ? speaksFor(arrived, order) : false;
    });
  }
}

/** A notice that names its refund explains itself. */
function withoutHint({ outcome, refundNo }: Notice): Outcome {
  if (outcome?.kind === 'paid' && refundNo) return { ...outcome, refundsHint: false };
  return outcome ?? { kind: 'unknown', cause: 'unparsable' };
}

async function findByNotice(tx: ReadTx, notice: Notice): Promise<string | undefined> {
  if (notice.orderNo) return notice.orderNo;
  if (notice.refundNo) return (await findByNumber(tx, notice.refundNo))?.orderNo;
  if (!notice.channelOrderId) return undefined;
  return (await tx.orders.find({ channelOrderId: notice.channelOrderId }))?.orderNo;
}

/** The refund that the channel knows by this number now; the number of an earlier attempt is not it any more. */
async function findByNumber(tx: ReadTx, number: string): Promise<RefundRow | undefined> {
  const { refundNo, attempt } = readNumberAtChannel(number);
  const refund = await tx.refunds.find({ refundNo });
  return refund?.attempt === attempt ? refund : undefined;
}
