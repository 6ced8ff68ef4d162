import type { Words } from '../../domain.ts';
import type { BillDifferenceRow } from '../../db/entities/bills.ts';
import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import { type BilledLine, linesOfOrder } from '../../db/queries/bills.ts';
import { decideRefund } from '../core/decide-refund.ts';
import type { RefundFacts } from '../core/facts.ts';
import { refusedOf, type ShownRefusal } from '../notification-refusal.ts';
import type { Requester, Ports } from '../ports.ts';
import { findOrder, refundStatusOf, statusOf } from '../view.ts';
import { hasSibling, loadRefundFacts } from '../settle.ts';
import { isPaidTwice, paidTwice, refundSituation } from './refund-situations.ts';
import { type Reader, situationOf, wordsFor } from './situations.ts';
import { refundableOf } from '../core/transitions.ts';

interface NextStep {
  action: string;
  /** The time of the step (RFC 3339); null = the step is running now. */
  at: string | null;
}

export interface Explanation {
  orderNo: string;
  status: string;
  situation: string;
  reason: string;
  next: NextStep | null;
  fix: string | null;
  askedBy: string;
  expiresAt: string;
  /** Minor units. `kept` is the amount that the merchant keeps: paid = refunded + refunding + kept. */
  equation: { currency: string; paid: number; refunded: number; refunding: number; kept: number; refundable: number };
  refunds: {
    refundNo: string;
    amountMinor: number;
    status: string;
    situation: string;
    reason: string;
    next: NextStep | null;
    fix: string | null;
  }[];
  exceptions: { id: string; kind: string; fix: string }[];
  /** The lines of the channel's bills about the order. */
  bills: {
    billNo: string;
    day: string;
    line: number;
    kind: string;
    event: string;
    amountMinor: number;
    feeMinor: number;
    currency: string;
    channelNo: string | null;
  }[];
  /** Unresolved differences between a bill and the order. */
  differences: { kind: string; state: string; billNo: string; day: string }[];
  /** Notifications of the channel that were refused since the order was placed; null = none. */
  refusedNotices: ShownRefusal | null;
}

/** The rows for an explanation, read in one transaction. */
interface Explained {
  order: OrderRow;
  refunds: readonly RefundRow[];
  exceptions: readonly OrderExceptionRow[];
  sibling: boolean;
  facts: RefundFacts;
  lines?: readonly BilledLine[];
  differences?: readonly BillDifferenceRow[];
  refused?: ShownRefusal | null;
}

/** The languages of the texts. Codes and commands are the same in both. */
type Language = keyof Words;

/**
 * Creates the function that explains an order from the stored rows; the channel is not queried. The owner of the order
 * gets the words for merchants.
 */
export function explainOrder(ports: Pick<Ports, 'store' | 'now' | 'channels'> & { simulated: boolean }) {
  const { store, now, channels, simulated } = ports;
  return async (requester: Requester, orderNo: string, language: Language): Promise<Explanation> => {
    const read = await store.read(async (tx) => {
      const order = await findOrder(tx, orderNo, requester.owner);
      const { project, payWay } = order;
      const state = await tx.channelStates.find({ project, payWay });
      return {
        order,
        refunds: await tx.refunds.list({ orderNo }, { orderBy: { createdAt: 'asc' } }),
        exceptions: await tx.exceptions.list({ orderNo, state: 'open' }, { orderBy: { createdAt: 'asc' } }),
        sibling: await hasSibling(tx, order),
        facts: await loadRefundFacts(ports, tx, order),
        lines: await linesOfOrder(tx, orderNo),
        differences: await tx.billDifferences.list({ orderNo, state: ['open', 'listed'] }),
        refused: state ? refusedOf(channels.kindOf(payWay), state, now()) : null,
      };
    });
    const reader = requester.owner === 'any' ? 'administrator' : 'merchant';
    return explain(read, { now: now(), simulated, reader, language });
  };
}

function explain(
  { order, refunds, exceptions, sibling, facts, lines = [], differences = [], refused = null }: Explained,
  { now, simulated, reader, language }: { now: Date; simulated: boolean; reader: Reader; language: Language },
): Explanation {
  const situation = situationOf({ order, exceptions, now, simulated, sibling });
  const refundSteps = refunds.map((refund) =>
    explainRefund(
      order,
      refund,
      { facts, twice: exceptions.find((one) => isPaidTwice(one, refund)) },
      { now, reader, language },
    ),
  );
  const soonest = refundSteps.map(({ next }) => next).find((next) => next !== null) ?? null;
  return {
    orderNo: order.orderNo,
    status: statusOf(order),
    situation: situation.code,
    ...wordsFor(reader, situation, language),
    next: situation.next ? (stepOf(situation.next[language], order, now) ?? soonest) : null,
    askedBy: order.clientId,
    expiresAt: order.expiresAt.toISOString(),
    equation: {
      currency: order.currency,
      paid: Number(order.paid),
      refunded: Number(order.refunded),
      refunding: Number(order.refunding),
      kept: Number(order.paid + order.overrun - order.refunded - order.refunding),
      refundable: facts.blockedBy === null ? Number(refundableOf(order)) : 0,
    },
    refunds: refundSteps,
    exceptions: exceptions.map(({ id, kind, dedupe }) => ({ id, kind, fix: fixOf(kind, id, dedupe) })),
    bills: lines.map(explainLine),
    differences: differences.map(({ kind, state, billNo, day }) => ({ kind, state, billNo, day })),
    refusedNotices: refused?.isOpen && refused.at >= order.createdAt ? refused : null,
  };
}

function explainLine({
  amount,
  fee,
  channelTradeNo,
  channelRefundNo,
  ...line
}: BilledLine): Explanation['bills'][number] {
  const { billNo, day, kind, event, currency } = line;
  const channelNo = channelRefundNo ?? channelTradeNo;
  const money = { amountMinor: Number(amount), feeMinor: Number(fee), currency };
  return { billNo, day, line: line.line, kind, event, ...money, channelNo };
}

function fixOf(kind: string, id: string, dedupe: string): string {
  return kind === 'dispute' ? `payctl dispute get ${dedupe}` : `payctl exception resolve ${id}`;
}

function explainRefund(
  order: OrderRow,
  refund: RefundRow,
  { facts, twice }: { facts: RefundFacts; twice: OrderExceptionRow | undefined },
  { now, reader, language }: { now: Date; reader: Reader; language: Language },
): Explanation['refunds'][number] {
  const canRetry = !('refuse' in decideRefund(order, refund, { command: 'retry', facts }, now));
  const situation = twice ? paidTwice(twice) : refundSituation(refund, now, canRetry);
  return {
    refundNo: refund.refundNo,
    amountMinor: Number(refund.amount),
    status: refundStatusOf(refund),
    situation: situation.code,
    ...wordsFor(reader, situation, language),
    next: situation.next ? stepOf(situation.next[language], refund, now) : null,
  };
}

/** While a job is working on the row (`leasedUntil`), the step counts as running. */
function stepOf(
  action: string,
  { nextCheckAt, leasedUntil }: { nextCheckAt: Date | null; leasedUntil: Date | null },
  now: Date,
): NextStep | null {
  if (leasedUntil !== null && leasedUntil > now) return { action, at: null };
  return nextCheckAt === null ? null : { action, at: nextCheckAt.toISOString() };
}
