import type { BillDifferenceRow, BillRow } from '../../db/entities/bills.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { RefundRow } from '../../db/entities/refunds.ts';
import { compareAgain, quieten } from '../../db/queries/payees.ts';
import type { ReadTx, Tx } from '../../db/store.ts';
import { NotFound } from '../../errors.ts';
import { callChannel, refundRef } from '../call-channel.ts';
import { later } from '../core/plan.ts';
import { queryDisputes } from '../disputes/sync.ts';
import { jsonable, addAuditEntry, raiseException } from '../side-effects.ts';
import { numberAtChannel } from '../numbers.ts';
import { refreshOrder } from '../orders/order.ts';
import type { Requester } from '../ports.ts';
import { refundLookups } from '../refunds/lookups.ts';
import { openLookup, settleRefund } from '../settle.ts';
import { dayOf } from '../outcomes.ts';
import { type BillPorts, requestersOf, lockAccount, ratesOf } from './payees.ts';
import { runMatch } from './work.ts';

const BILL = { cause: 'bill', actor: 'service' };
/**
 * Seconds to wait before each repeated query of the channel about a difference, as long as the channel's answer is not
 * final. After the last repeat, an exception (a case for an operator) is opened for the difference.
 */
const STEPS = [60, 300, 1800, 7200, 21_600, 43_200] as const;
/** Kinds of channel answers that are not final. */
const PASSING: ReadonlySet<string> = new Set(['unknown', 'pending', 'approved']);

const ENDS: ReadonlySet<string> = new Set(['succeeded', 'failed', 'abnormal']);

type Answer = { kind: string } & Record<string, unknown>;

/**
 * Handles a difference between a bill and an order. The lines of a bill are not signed, so a difference is only a
 * reason to query the channel, whose signed answer is stored. The caller must have leased the row of the difference.
 */
export function healDifference(ports: BillPorts) {
  const refresh = refreshOrder(ports);
  const lookup = refundLookups(ports);
  const disputesOf = queryDisputes(ports);

  return async (id: string): Promise<void> => {
    const difference = await ports.store.read((tx) => tx.billDifferences.find({ id }));
    if (difference?.state !== 'open') return;
    const order = await ports.store.read((tx) => tx.orders.find({ orderNo: difference.orderNo }));
    const answer: Answer = order ? await queryFor(difference, order) : { kind: 'absent' };
    ports.checkpoint('bill-difference.asked');
    await judge(ports, difference, answer);
    ports.checkpoint('bill-difference.settled');
  };

  async function queryFor(difference: BillDifferenceRow, order: OrderRow): Promise<Answer> {
    const { kind } = difference;
    // A duplicate line or a wrong fee exists only in the bill, so a query of the channel cannot confirm it.
    if (kind === 'fee_differs' || kind === 'line_twice') return { kind: 'not_asked' };
    if (kind === 'dispute_unknown_to_us') return answerOf(await disputesOf(order));
    if (!kind.startsWith('refund_')) return answerOf((await refresh(order, BILL)).reported);
    const own = await ports.store.read((tx) => findOwn(tx, difference));
    if (kind === 'refund_missing_at_channel' && own) return queryOwnRefund(order, own);
    return queryByLookup(order, own ? numberAtChannel(own) : numberAsked(ports, difference));
  }

  async function queryOwnRefund(order: OrderRow, refund: RefundRow): Promise<Answer> {
    const { refundNo, attempt } = refund;
    const outcome = await callChannel(ports, order, (channel) =>
      channel.queryRefund(refundRef(order, refund, ports.publicUrl)),
    );
    if (ENDS.has(outcome.kind)) await settleRefund(ports, refundNo, { outcome, attempt }, BILL);
    return answerOf(outcome);
  }

  /**
   * The query is stored as a row in `refundLookups`, so that it can be repeated until the channel gives a final answer.
   */
  async function queryByLookup(order: OrderRow, number: string): Promise<Answer> {
    const id = await ports.store.transaction(async (tx) => {
      const locked = (await tx.orders.lock({ orderNo: order.orderNo }))!;
      return openLookup(ports, tx, locked, { number });
    });
    if (id === undefined) return { kind: 'unknown', cause: 'busy' };
    await lookup(id);
    const row = await ports.store.read((tx) => tx.refundLookups.find({ id }));
    return { kind: row?.state === 'answered' ? (row.lastAnswer ?? 'unknown') : 'pending' };
  }
}

async function findOwn(tx: ReadTx, { orderNo, refundNo }: BillDifferenceRow): Promise<RefundRow | undefined> {
  return refundNo === null ? undefined : tx.refunds.find({ orderNo, refundNo });
}

/** PayPal is queried with its own refund id (`key`), other channels with the refund number that this service sent. */
function numberAsked(ports: BillPorts, { payWay, refundNo, key }: BillDifferenceRow): string {
  const calendar = ports.channels.kindOf(payWay).bills;
  return calendar?.refundsByOwnNumber ? key : (refundNo ?? key);
}

function answerOf(reported: object | undefined): Answer {
  const { kind, ...more } = jsonable(reported ?? { kind: 'unknown' }) as { kind: string };
  return { kind, ...more };
}

function isOfOtherDay(ports: BillPorts, { payWay, day }: BillRow, at: Date): boolean {
  const calendar = ports.channels.kindOf(payWay).bills;
  return calendar !== undefined && dayOf(at, calendar) !== day;
}

async function judge(
  ports: BillPorts,
  { id, billNo, orderNo, kind }: BillDifferenceRow,
  answer: Answer,
): Promise<void> {
  const bill = await ports.store.read((tx) => tx.bills.find({ billNo }));
  const rates = bill ? ratesOf(await requestersOf(ports, bill)) : new Map<string, never>();
  await ports.store.transaction(async (tx) => {
    if (bill) await lockAccount(tx, bill);
    const order = await tx.orders.lock({ orderNo });
    if (bill) await runMatch(ports, tx, bill, rates, orderNo);
    // If the channel first held a payment back, the sums of the bill count it on the day of its completion. That day
    // was unknown when the sums were computed, so the bill is compared again.
    const completedAt = order?.settlement?.completedAt;
    if (bill && completedAt && kind === 'paid_unknown_to_us' && isOfOtherDay(ports, bill, new Date(completedAt))) {
      const again = { state: 'matching' as const, nextCheckAt: ports.now() };
      if ((await tx.bills.update({ billNo, state: 'done' }, again)) > 0) await tx.afterCommit('bill', { id: billNo });
    }
    const difference = await tx.billDifferences.lock({ id });
    if (difference?.state !== 'open') return;
    const step = PASSING.has(answer.kind) ? STEPS[difference.checks] : undefined;
    const checks = difference.checks + 1;
    const kept = { checks, leasedUntil: null, answer };
    if (step === undefined && order) await list(ports, tx, order, { ...difference, answer });
    const next =
      step === undefined
        ? { state: order ? ('listed' as const) : ('ended' as const), nextCheckAt: null }
        : { nextCheckAt: later(ports.now(), step) };
    await tx.billDifferences.update({ id }, { ...kept, ...next });
  });
}

async function list(
  ports: BillPorts,
  tx: Tx,
  order: OrderRow,
  { kind, key, refundNo, billNo, day, ours, theirs, answer }: BillDifferenceRow,
): Promise<void> {
  const detail = { billNo, day, ours, theirs, answer, ...(refundNo === null ? {} : { number: refundNo }) };
  const own = refundNo === null ? undefined : await tx.refunds.find({ refundNo, orderNo: order.orderNo });
  await raiseException(ports, tx, order, {
    kind,
    dedupe: key,
    detail,
    again: true,
    ...(own ? { refundNo: own.refundNo } : {}),
  });
}

/**
 * Creates the functions that mark a channel account as quiet, because another installation of this service uses it too,
 * and that remove the mark. The order numbers of both installations have the same form, so bill lines with unknown
 * order numbers then count as lines of another system.
 */
export function createQuietAccounts(ports: BillPorts) {
  return { quietAccount, unquietAccount };

  /**
   * Marks the account of a bill as quiet: unknown order and refund numbers in its bills are no longer reported. Closes
   * its differences about such numbers.
   */
  async function quietAccount(requester: Requester, billNo: string, reason: string): Promise<BillRow> {
    return ports.store.transaction(async (tx) => {
      const { bill, of } = await locked(tx, billNo);
      if (await tx.quietAccounts.find(of)) return bill;
      const by = requester.person?.name ?? requester.actor;
      const ended = await quieten(tx, { ...of, since: ports.now(), by, reason });
      await addAuditEntry(ports, tx, requester, {
        action: 'bill.quiet',
        target: billNo,
        after: { ...of, reason, ended },
      });
      return bill;
    });
  }

  /**
   * Ends the effect of `quietAccount`. The account's bills of the last five weeks are compared with the orders again.
   */
  async function unquietAccount(requester: Requester, billNo: string): Promise<BillRow> {
    return ports.store.transaction(async (tx) => {
      const { bill, of } = await locked(tx, billNo);
      if ((await tx.quietAccounts.delete(of)) === 0) return bill;
      for (const id of await compareAgain(tx, of, ports.now())) await tx.afterCommit('bill', { id });
      await addAuditEntry(ports, tx, requester, { action: 'bill.unquiet', target: billNo, after: of });
      return (await tx.bills.find({ billNo }))!;
    });
  }

  async function locked(tx: Tx, billNo: string) {
    const bill = await tx.bills.find({ billNo });
    if (!bill) throw new NotFound('bill');
    await lockAccount(tx, bill);
    const { payWay, account, mode } = bill;
    return { bill, of: { payWay, account, mode } };
  }
}
