import type { ApprovalRow } from '../../db/entities/refunds.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import { type ApprovalFilter, dependenceOf, HANDLED_DAYS, listApprovals } from '../../db/queries/exceptions.ts';
import type { Position } from '../../db/queries/lists.ts';
import type { Tx } from '../../db/store.ts';
import { Conflict, Forbidden, NotFound } from '../../errors.ts';
import { afterIntent, recordIntent } from '../call-channel.ts';
import { refundsRefused } from '../core/decide-refund.ts';
import { unapprovedOf } from '../core/open-refund.ts';
import { addAuditEntry } from '../side-effects.ts';
import { majorNumber } from '../../money.ts';
import type { Requester, Ports } from '../ports.ts';
import type { PageOf } from '../view.ts';
import { approvalAbove, givenBackOf, refuseBesideRefund, sendRefund } from '../refunds/refund.ts';
import { refusalFor } from '../errors.ts';
import { loadRefundFacts, lockPair, type Pair, settleRefundLocked } from '../settle.ts';

/** An action other than a refund that returns money: accepting a dispute, or refunding the payment of an exception. */
interface ActionAbove {
  kind: 'dispute' | 'exception';
  /** The number of the dispute, or the id of the exception. */
  number: string;
  order: OrderRow;
  /** Minor units. */
  amount: bigint;
  currency: string;
  reason: string;
}

/** The result of an action that waits for the approval of another administrator. */
export interface Waits {
  waits: ApprovalRow;
}

/**
 * Returns the approval that an action must wait for, or undefined if the action may run now. No approval is needed up
 * to the amount `Approval.RefundAbove`. For a dispute, earlier refunds of the order that nobody approved are added to
 * the amount. Throws 403 if an approval is needed and the administrator has not just confirmed with password and second
 * factor.
 */
export async function waitAbove(
  ports: Pick<Ports, 'refundAbove' | 'audit' | 'now'>,
  tx: Tx,
  requester: Requester,
  { kind, number: refundNo, order, amount, currency, reason }: ActionAbove,
): Promise<ApprovalRow | undefined> {
  const { orderNo, clientId, project, payWay } = order;
  const above = approvalAbove(ports, { currency });
  if (above === null) return undefined;
  const before = kind === 'dispute' ? unapprovedOf(await givenBackOf(tx, orderNo, refundNo)) : 0n;
  if (before + amount <= above) return undefined;
  requester.confirmed?.();
  const found = await tx.approvals.lock({ refundNo });
  if (found?.state === 'approved' && amount <= found.amount) return undefined;
  if (found?.state === 'waiting' && amount <= found.amount) return found;
  const facts = { refundNo, kind, orderNo, clientId, project, payWay, amount, currency, reason };
  const undecided = { state: 'waiting', decidedBy: null, decision: null, decidedAt: null } as const;
  const row: ApprovalRow = { ...facts, ...undecided, askedBy: requester.actor, createdAt: ports.now() };
  if (found) await tx.approvals.update({ refundNo }, row);
  else await tx.approvals.insert(row);
  const after = { orderNo, amountMinor: String(amount), currency, reason };
  await addAuditEntry(ports, tx, requester, { action: `${kind}.ask-approval`, target: refundNo, after });
  return row;
}

type ApprovedActions = Record<
  ActionAbove['kind'],
  (requester: Requester, number: string, reason: string) => Promise<object | Waits>
>;

/** Operations on approvals: a second administrator decides about a refund or another action that returns money. */
export function refundApprovals(ports: Ports, actions: ApprovedActions) {
  const send = sendRefund(ports);
  const { store, now } = ports;

  return {
    approvals: (filter: ApprovalFilter, after: Position | undefined, limit: number) =>
      store.read(async (tx): Promise<PageOf<ApprovalView>> => {
        const rows = await listApprovals(tx, filter, after, limit);
        const page = rows.slice(0, limit);
        const last = page.at(-1);
        const next = rows.length > limit && last ? { createdAt: last.createdAt, id: last.refundNo } : null;
        return { items: page.map(viewApproval), next };
      }),
    readApproval: (refundNo: string) =>
      store.read(async (tx) => viewApproval(required(await tx.approvals.find({ refundNo })))),
    /** Throws 403 for the requesting administrator, and for one who is not independent of the requester. */
    async approve(requester: Requester, refundNo: string): Promise<ApprovalView> {
      const found = await store.read((tx) => tx.approvals.find({ refundNo }));
      if (found && found.kind !== 'refund') return approveAction(requester, found.kind, refundNo);
      const via = { cause: 'approve', actor: requester.actor };
      const decide = async (tx: Tx) => {
        const { pair, approval } = await lockWaiting(tx, refundNo);
        await requireIndependent(ports, tx, requester, approval);
        const { order } = pair;
        if (pair.refund.state !== 'pending')
          throw new Conflict('approval_decided', 'The refund has already ended. Reject the request for approval.');
        const facts = await loadRefundFacts(ports, tx, order);
        const refusal = refundsRefused(order, facts.blockedBy);
        if (refusal) throw refusalFor(refusal, order);
        const earlier = await tx.refunds.list({ orderNo: order.orderNo });
        const after = await settleRefundLocked(
          ports,
          tx,
          pair,
          { command: 'approve', facts: { ...facts, earlier } },
          via,
        );
        return { ...after, approval: await end(tx, requester, approval, 'approved', null) };
      };
      const { refund, approval } = await recordIntent(ports, decide, (made) => made.refund);
      ports.checkpoint('approval.approved');
      const { orderNo } = refund;
      if (refund.sentAt! <= now()) await afterIntent({ orderNo, refundNo }, () => send(refundNo, via));
      return viewApproval(approval);
    },
    /** Rejects the request. A refund then fails, and its reserved amount is released. */
    reject: (requester: Requester, refundNo: string, reason: string): Promise<ApprovalView> =>
      store.transaction(async (tx) => {
        const found = await tx.approvals.find({ refundNo });
        if (found && found.kind !== 'refund')
          return viewApproval(await end(tx, requester, await waitingAction(tx, refundNo), 'rejected', reason));
        const { pair, approval } = await lockWaiting(tx, refundNo);
        const command = { command: 'reject', reason } as const;
        await settleRefundLocked(ports, tx, pair, command, { cause: 'reject', actor: requester.actor });
        return viewApproval(await end(tx, requester, approval, 'rejected', reason));
      }),
  };

  /**
   * If the channel refuses the action, it can be repeated with the same approval. If the amount has grown since the
   * request, the action waits for a new approval, whose requester is the approving administrator.
   */
  async function approveAction(requester: Requester, kind: ActionAbove['kind'], number: string): Promise<ApprovalView> {
    const approval = await store.transaction(async (tx) => {
      const waiting = await waitingAction(tx, number);
      await requireIndependent(ports, tx, requester, waiting);
      // A dispute must not be accepted while a refund is in progress. The action checks this too, but only after the
      // approval is committed. Therefore it is also checked before the approval is stored.
      if (kind === 'dispute') await refuseBesideRefund(tx, waiting.orderNo);
      return end(tx, requester, waiting, 'approved', null);
    });
    ports.checkpoint('approval.approved');
    const made = await actions[kind](requester, number, approval.reason ?? '');
    return viewApproval('waits' in made ? made.waits : approval);
  }

  async function end(
    tx: Tx,
    requester: Requester,
    approval: ApprovalRow,
    state: 'approved' | 'rejected',
    decision: string | null,
  ): Promise<ApprovalRow> {
    const { refundNo, kind, orderNo, amount, currency, askedBy } = approval;
    const decided = { state, decision, decidedBy: requester.actor, decidedAt: now() };
    await tx.approvals.update({ refundNo }, decided);
    const after = { orderNo, amountMinor: String(amount), currency, askedBy, ...(decision && { reason: decision }) };
    const action = `${kind}.${state === 'approved' ? 'approve' : 'reject'}`;
    await addAuditEntry(ports, tx, requester, { action, target: refundNo, after });
    return { ...approval, ...decided };
  }
}

/** Locks order, refund and approval, so that only one decision finds the approval waiting. */
async function lockWaiting(tx: Tx, refundNo: string): Promise<{ pair: Pair; approval: ApprovalRow }> {
  required(await tx.approvals.find({ refundNo }));
  const pair = await lockPair(tx, refundNo);
  return { pair, approval: await waitingAction(tx, refundNo) };
}

async function waitingAction(tx: Tx, refundNo: string): Promise<ApprovalRow> {
  const approval = required(await tx.approvals.lock({ refundNo }));
  if (approval.state !== 'waiting')
    throw new Conflict('approval_decided', `The ${approval.kind} was ${approval.state} already.`, {
      extra: { refundNo },
    });
  return approval;
}

function required(approval: ApprovalRow | undefined): ApprovalRow {
  if (!approval) throw new NotFound('approval');
  return approval;
}

/**
 * Throws 403 unless the approving administrator is independent of the requester: the approver's account is older than
 * the request, the requester did not make that account, and no administrator has recently made or changed the accounts
 * of both.
 */
async function requireIndependent(
  { now }: Pick<Ports, 'now'>,
  tx: Tx,
  { actor, person }: Requester,
  { kind, askedBy, createdAt }: ApprovalRow,
): Promise<void> {
  if (askedBy === actor)
    throw new Forbidden('approval_by_asker', `The administrator who requested approval (${kind}) cannot give it.`, {
      hint,
    });
  if (!person) return;
  const { madeAt, madeByRequester, common } = await dependenceOf(tx, { username: person.name, askedBy, now: now() });
  const why =
    madeAt === null || madeAt >= createdAt
      ? 'Your account is younger than the request.'
      : madeByRequester || common.some((name) => askedBy === `admin:${name}`)
        ? 'The requesting administrator made or changed your account, or the account of an administrator that did.'
        : common.includes(person.name)
          ? `Within ${HANDLED_DAYS} days you made or changed the requesting account, or the account of an administrator that did.`
          : common.length > 0
            ? `Within ${HANDLED_DAYS} days ${common.join(', ')} made or changed both your account and the requesting account.`
            : undefined;
  if (why) throw new Forbidden('approval_not_independent', why, { hint });
}

const hint = 'Another administrator has to approve it.';

export type ApprovalView = ReturnType<typeof viewApproval>;

/** Converts an approval for the API; amounts in major and minor units. */
export function viewApproval({ amount, currency, createdAt, decidedAt, ...approval }: ApprovalRow) {
  const { refundNo, kind, orderNo, clientId, project, reason, askedBy, state, decidedBy, decision } = approval;
  return {
    refundNo,
    kind,
    orderNo,
    clientId,
    project,
    refundAmount: majorNumber({ minor: amount, currency }),
    refundAmountMinor: Number(amount),
    currency,
    reason,
    askedBy,
    state,
    decidedBy,
    decision,
    createdAt: createdAt.toISOString(),
    decidedAt: decidedAt?.toISOString() ?? null,
  };
}
