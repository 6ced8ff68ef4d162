import type { ApprovalRow } from '../db/entities/approvals.ts';
import { type ApprovalFilter, listApprovals } from '../db/queries/approvals.ts';
import type { Position } from '../db/queries/orders.ts';
import type { Tx } from '../db/store.ts';
import { Conflict, Forbidden, NotFound } from '../errors.ts';
import { afterIntent, intend } from './ask.ts';
import { refundsRefused } from './core/decide-refund.ts';
import { noteDeed } from './follow-ups.ts';
import { majorNumber } from './money.ts';
import type { Asker, Ports } from './ports.ts';
import type { PageOf } from './read.ts';
import { sendRefund } from './refund.ts';
import { refusalFor } from './refusals.ts';
import { loadRefundFacts, lockPair, type Pair, settleRefundLocked } from './settle.ts';

/** Decisions of a second administrator about refunds that wait for one. */
export function refundApprovals(ports: Ports) {
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
    /** Lets it go to the channel; whoever asked for it may not. */
    async approve(asker: Asker, refundNo: string): Promise<ApprovalView> {
      const via = { cause: 'approve', actor: asker.actor };
      const decide = async (tx: Tx) => {
        const { pair, approval } = await lockWaiting(tx, refundNo);
        if (approval.askedBy === asker.actor) throw byAsker();
        const { order } = pair;
        if (pair.refund.state !== 'pending') throw new Conflict('approval_decided', 'The refund is over; reject it.');
        const facts = await loadRefundFacts(ports, tx, order);
        const refusal = refundsRefused(order, facts.blockedBy);
        if (refusal) throw refusalFor(refusal, order);
        const earlier = await tx.refunds.list({ orderNo: order.orderNo });
        const after = await settleRefundLocked(ports, tx, pair, { wish: 'approve', facts: { ...facts, earlier } }, via);
        return { ...after, approval: await end(tx, asker, approval, 'approved', null) };
      };
      const { refund, approval } = await intend(ports, decide, (made) => made.refund);
      ports.checkpoint('approval.approved');
      const { orderNo } = refund;
      if (refund.sentAt! <= now()) await afterIntent({ orderNo, refundNo }, () => send(refundNo, via));
      return viewApproval(approval);
    },
    /** Ends the refund; its amount is free again. */
    reject: (asker: Asker, refundNo: string, reason: string): Promise<ApprovalView> =>
      store.transaction(async (tx) => {
        const { pair, approval } = await lockWaiting(tx, refundNo);
        const wish = { wish: 'reject', reason } as const;
        await settleRefundLocked(ports, tx, pair, wish, { cause: 'reject', actor: asker.actor });
        return viewApproval(await end(tx, asker, approval, 'rejected', reason));
      }),
  };

  async function end(
    tx: Tx,
    asker: Asker,
    approval: ApprovalRow,
    state: 'approved' | 'rejected',
    decision: string | null,
  ): Promise<ApprovalRow> {
    const { refundNo, orderNo, amount, currency, askedBy } = approval;
    const decided = { state, decision, decidedBy: asker.actor, decidedAt: now() };
    await tx.approvals.update({ refundNo }, decided);
    const after = { orderNo, amountMinor: String(amount), currency, askedBy, ...(decision && { reason: decision }) };
    const action = state === 'approved' ? 'refund.approve' : 'refund.reject';
    await noteDeed(ports, tx, asker, { action, target: refundNo, after });
    return { ...approval, ...decided };
  }
}

/** Under the locks of order and refund only one decision finds it waiting. */
async function lockWaiting(tx: Tx, refundNo: string): Promise<{ pair: Pair; approval: ApprovalRow }> {
  required(await tx.approvals.find({ refundNo }));
  const pair = await lockPair(tx, refundNo);
  const approval = required(await tx.approvals.lock({ refundNo }));
  if (approval.state !== 'waiting')
    throw new Conflict('approval_decided', `The refund was ${approval.state} already.`, { extra: { refundNo } });
  return { pair, approval };
}

function required(approval: ApprovalRow | undefined): ApprovalRow {
  if (!approval) throw new NotFound('approval');
  return approval;
}

function byAsker(): Forbidden {
  return new Forbidden('approval_by_asker', 'Whoever asked for a refund cannot approve it.', {
    hint: 'Another administrator has to approve it.',
  });
}

/** An approval as it appears on the wire. */
export type ApprovalView = ReturnType<typeof viewApproval>;

function viewApproval({ amount, currency, payWay, createdAt, decidedAt, ...approval }: ApprovalRow) {
  const { refundNo, orderNo, clientId, project, reason, askedBy, state, decidedBy, decision } = approval;
  return {
    refundNo,
    orderNo,
    clientId,
    project,
    refundAmount: majorNumber({ minor: amount, currency }, payWay),
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
