import type { ApprovalRow, RefundRow } from '../../db/entities/refunds.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { ReadTx, Tx } from '../../db/store.ts';
import type { RefundOrigin } from '../../domain.ts';
import { Conflict } from '../../errors.ts';
import { afterIntent, callChannel, recordIntent, refundOrder } from '../call-channel.ts';
import { decideNewRefund, refundsRefused } from '../core/decide-refund.ts';
import { type GivenBack, type RefundIntent, isUnderWay, needsApproval, newRefund } from '../core/open-refund.ts';
import { isSendable } from '../core/plan.ts';
import { type AuditEntry, addAuditEntry } from '../side-effects.ts';
import { type KeyClaim, claimKey, givingUp } from '../idempotency.ts';
import { type Via, apply } from '../ledger.ts';
import { countRefund } from '../limits.ts';
import { exponentOf, readAmount } from '../../money.ts';
import { newNumber } from '../numbers.ts';
import type { Requester, Ports } from '../ports.ts';
import { MerchantNumberUsed, refusalFor } from '../errors.ts';
import {
  type Pair,
  loadRefundFacts,
  lockOrder,
  lockPair,
  permitted,
  settleRefund,
  settleRefundLocked,
} from '../settle.ts';
import { refundableOf } from '../core/transitions.ts';

/** Refunds an order. If the channel does not answer, the refund stays in progress, and no error is thrown. */
type RefundPayment = (requester: Requester, request: RefundRequest, options?: RefundOptions) => Promise<Pair>;

/** Creates the function that refunds orders. */
export function refundPayment(ports: Ports): RefundPayment {
  const send = sendRefund(ports);
  return async (requester, request, options = {}) => {
    const claim = async (tx: Tx) => {
      const claimed = await claimRefund(ports, tx, requester, request, options);
      await addAuditEntry(ports, tx, requester, refundEntry(claimed.pair));
      return claimed;
    };
    const { pair, due } = await recordIntent(ports, claim, (claimed) => claimed.pair.refund);
    ports.checkpoint('refund.intent');
    if (!due) return pair;
    const { orderNo, refundNo } = pair.refund;
    return afterIntent({ orderNo, refundNo }, () => send(refundNo, { cause: 'refund', actor: requester.actor }));
  };
}

function refundEntry({ refund }: Pair): AuditEntry {
  const { refundNo: target, orderNo, amount, currency, reason } = refund;
  return { action: 'refund.create', target, after: { orderNo, amountMinor: String(amount), currency, reason } };
}

/** Creates the function that sends a reserved refund to the channel and stores the outcome. */
export function sendRefund(ports: Ports) {
  return async (refundNo: string, via: Via): Promise<Pair> => {
    const { pair, mine } = await recordSendIntent(ports, refundNo, via);
    if (!mine) return pair;
    const call = refundOrder(pair.order, pair.refund, ports.publicUrl);
    const outcome = await callChannel(ports, pair.order, (channel) => channel.refund(call));
    ports.checkpoint('refund.asked');
    const { attempt } = pair.refund;
    const settled = await settleRefund(ports, refundNo, { outcome, sent: true, attempt }, via);
    ports.checkpoint('refund.settled');
    return settled;
  };
}

/** Stores, before the channel call, that a refund is about to be sent. If `mine` is false, it must not be sent. */
function recordSendIntent(ports: Ports, refundNo: string, via: Via): Promise<{ pair: Pair; mine: boolean }> {
  return ports.store.transaction(async (tx) => {
    const pair = await lockPair(tx, refundNo);
    const mine = isSendable(pair.refund);
    return { pair: await settleRefundLocked(ports, tx, pair, { command: 'send' }, via), mine };
  });
}

export interface RefundRequest {
  orderNo: string;
  /** Major units; absent = the refundable amount. */
  refundAmount?: number | string | undefined;
  merchantRefundNo?: string | undefined;
  reason?: string | undefined;
}

/** `origin` and `refundNo` are set only for refunds that the service makes itself. */
interface RefundOptions {
  claim?: KeyClaim | undefined;
  origin?: RefundOrigin;
  refundNo?: string;
  /** Runs additional checks and writes while the order is locked, before the amount is reserved. */
  guard?: (tx: Tx, order: OrderRow) => Promise<void>;
}

interface ClaimedRefund {
  pair: Pair;
  /** Whether the refund must be sent to the channel now. */
  due: boolean;
}

/** Finds the refund that the request repeats, or creates a refund and reserves its amount. */
async function claimRefund(
  ports: Ports,
  tx: Tx,
  requester: Requester,
  request: RefundRequest,
  options: RefundOptions,
): Promise<ClaimedRefund> {
  const now = ports.now();
  const { claim } = options;
  const order = await lockOrder(tx, request.orderNo, requester.owner);
  if (claim?.resume) {
    await claimKey(tx, claim, claim.resume, now);
    return answerRepeat(order, await tx.refunds.lock({ refundNo: claim.resume }), now);
  }
  const same = await sameRefund(tx, order, request);
  if (same) {
    const isAgain = same.state === 'failed' && same.approval !== 'rejected';
    if (isAgain) requireConfirmedAbove(ports, requester, order, same.amount);
    if (claim) await claimKey(tx, claim, same.refundNo, now);
    if (!isAgain) return answerRepeat(order, same, now);
    return { pair: await retryRefund(ports, tx, { order, refund: same }, requester.actor), due: true };
  }
  await options.guard?.(tx, order);
  return openNew(ports, tx, order, requester, request, options);
}

async function openNew(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  requester: Requester,
  request: RefundRequest,
  { claim, refundNo, origin }: RefundOptions,
): Promise<ClaimedRefund> {
  const now = ports.now();
  const facts = await loadRefundFacts(ports, tx, order);
  // An order that cannot be refunded at all gives this error, even if the amount in the request is wrong too.
  const refusal = refundsRefused(order, facts.blockedBy);
  if (refusal) throw refusalFor(refusal, order);
  const intent = {
    refundNo: refundNo ?? newNumber('R', now),
    amount: amountOf(order, request),
    origin: origin ?? (requester.owner === 'any' ? ('admin' as const) : ('merchant' as const)),
    reason: request.reason ?? null,
    merchantRefundNo: request.merchantRefundNo ?? null,
    actor: requester.actor,
    cause: 'refund',
    waits: false,
    mayRepeat: !claim && !request.merchantRefundNo && !refundNo,
  };
  const earlier = await tx.refunds.list({ orderNo: order.orderNo });
  const above = approvalAbove(ports, order);
  intent.waits = above !== null && needsApproval(await givenBackOf(tx, order.orderNo), intent, above);
  if (intent.waits) requester.confirmed?.();
  const change = permitted(decideNewRefund(order, { ...facts, earlier }, intent, now), order);
  if (claim) await claimKey(tx, claim, intent.refundNo, now);
  const { order: after, refund } = await apply(ports, tx, { order }, change, intent);
  if (intent.waits) await tx.approvals.insert(waiting(order, refund!));
  const app = intent.origin === 'merchant' ? await tx.apps.find({ clientId: order.clientId }) : undefined;
  if (app?.limits) await countRefund(tx, app.limits, order, intent.amount, now).catch(givingUp(claim));
  return { pair: { order: after, refund: refund! }, due: refund!.sentAt! <= now };
}

/**
 * Retries a refund. A failed refund is checked, and its amount is reserved again. An overdue refund (the channel has
 * not reported a result for too long) may be sent again. A failed refund gets a new refund number only if the channel
 * had accepted the old number, or may have forgotten it.
 */
export async function retryRefund(ports: Ports, tx: Tx, pair: Pair, actor: string): Promise<Pair> {
  await refuseUnapproved(ports, tx, pair);
  const facts = await loadRefundFacts(ports, tx, pair.order);
  return settleRefundLocked(ports, tx, pair, { command: 'retry', facts }, { cause: 'retry', actor });
}

/**
 * Rejects the retry of a failed refund that was never approved but now exceeds the approval limit. The retry would
 * reserve the amount again without an approval.
 */
async function refuseUnapproved(ports: Ports, tx: Tx, { order, refund }: Pair): Promise<void> {
  if (refund.state !== 'failed' || refund.approval !== null) return;
  const above = approvalAbove(ports, order);
  if (above === null) return;
  if (!needsApproval(await givenBackOf(tx, order.orderNo), refund, above)) return;
  const message = 'Refunds of this order need approval by now. Make a new refund, which then waits for the approval.';
  throw refusalFor({ refuse: { code: 'refund_not_retryable', message } }, order);
}

/**
 * The refunds and accepted disputes of an order, read under its lock. The dispute with the number `but` is left out.
 */
export async function givenBackOf(tx: Tx, orderNo: string, but?: string): Promise<GivenBack> {
  const refunds = await tx.refunds.list({ orderNo });
  const disputes = await tx.disputes.list({ orderNo });
  const accepted = disputes.filter(({ disputeNo, acceptedAt }) => acceptedAt !== null && disputeNo !== but);
  if (accepted.length === 0) return { refunds, accepted: [] };
  const approvals = await tx.approvals.list({
    refundNo: accepted.map(({ disputeNo }) => disputeNo),
    state: 'approved',
  });
  const approved = new Set(approvals.map(({ refundNo }) => refundNo));
  return { refunds, accepted: accepted.map((one) => ({ ...one, approved: approved.has(one.disputeNo) })) };
}

/**
 * Throws 409 while a refund of the order is in progress, because the dispute must not be accepted then: the service
 * would still send the refund, and the payer would get the money twice. A refund that waits for an approval does not
 * count.
 */
export async function refuseBesideRefund(tx: ReadTx, orderNo: string): Promise<void> {
  const underWay = (await tx.refunds.list({ orderNo, surplus: false })).find(isUnderWay);
  if (!underWay) return;
  const { refundNo } = underWay;
  throw new Conflict(
    'refund_in_progress',
    'A refund of the order is in progress. Accept the dispute after the refund has ended.',
    {
      extra: { orderNo, refundNo },
      retryable: true,
      retryAfter: 60,
    },
  );
}

/** Throws 403 if an administrator returns more than the approval limit and has not confirmed recently. */
export function requireConfirmedAbove(
  ports: Pick<Ports, 'refundAbove'>,
  { confirmed }: Requester,
  of: Pick<OrderRow, 'currency' | 'payWay'>,
  amount: bigint,
): void {
  const above = approvalAbove(ports, of);
  if (above !== null && amount > above) confirmed?.();
}

/** The amount in minor units above which a second administrator must approve; null = never. */
export function approvalAbove(
  { refundAbove }: Pick<Ports, 'refundAbove'>,
  { currency }: Pick<OrderRow, 'currency'>,
): bigint | null {
  const exponent = exponentOf(currency) ?? 0;
  return refundAbove === 0 ? null : BigInt(refundAbove) * 10n ** BigInt(exponent);
}

function waiting({ payWay }: OrderRow, refund: RefundRow): ApprovalRow {
  const { refundNo, orderNo, clientId, project, amount, currency, reason, actor: askedBy, createdAt } = refund;
  const facts = { refundNo, orderNo, clientId, project, payWay, amount, currency, reason, askedBy, createdAt };
  return { ...facts, kind: 'refund', state: 'waiting', decidedBy: null, decision: null, decidedAt: null };
}

/** The existing refund with the merchantRefundNo of the request; throws if the amount or the order differs. */
async function sameRefund(tx: Tx, order: OrderRow, request: RefundRequest): Promise<RefundRow | undefined> {
  const { merchantRefundNo } = request;
  if (!merchantRefundNo) return undefined;
  const found = await tx.refunds.find({ clientId: order.clientId, merchantRefundNo });
  if (!found) return undefined;
  const sameAmount = request.refundAmount === undefined || found.amount === amountOf(order, request);
  if (found.orderNo !== order.orderNo || !sameAmount)
    throw new MerchantNumberUsed('merchantRefundNo', merchantRefundNo);
  return tx.refunds.lock({ refundNo: found.refundNo });
}

/** A repeated request: a refund that was never sent is sent now; otherwise the stored refund is returned. */
function answerRepeat(order: OrderRow, refund: RefundRow | undefined, now: Date): ClaimedRefund {
  if (!refund) throw new Error('the refund of a repeated request does not exist');
  const isFree = refund.leasedUntil === null || refund.leasedUntil <= now;
  const isDue = refund.sentAt === null || refund.sentAt <= now;
  return { pair: { order, refund }, due: refund.state === 'pending' && refund.tries === 0 && isFree && isDue };
}

function amountOf(order: OrderRow, { refundAmount }: RefundRequest): bigint {
  if (refundAmount === undefined) return refundableOf(order) || 1n;
  return readAmount(refundAmount, order.currency, '/refundAmount').minor;
}

/** Creates a refund that the service must make, in the caller's transaction and under the order's lock. */
export async function openSystemRefund(ports: Ports, tx: Tx, order: OrderRow, intent: RefundIntent): Promise<void> {
  const { cause, actor } = intent;
  const open = newRefund(order, intent, ports.now());
  await apply(ports, tx, { order }, { rule: null, open }, { cause, actor });
}
