import { hash } from 'node:crypto';
import type { ApprovalRow, DisputeRow } from '../../db/entities/refunds.ts';
import type { Tx } from '../../db/store.ts';
import { Conflict } from '../../errors.ts';
import { waitAbove, type Waits } from '../exceptions/approvals.ts';
import { afterIntent, callChannel, recordIntent } from '../call-channel.ts';
import type { ComplaintResult, DisputeAction, DisputeDesk, EvidenceFile } from '../channel.ts';
import { listedDispute } from '../core/decide-dispute.ts';
import { isDecided } from '../core/transitions.ts';
import { later } from '../core/plan.ts';
import { addAuditEntry, raiseException } from '../side-effects.ts';
import { type DisputePair, checkDispute, lockDispute, noteListed } from './sync.ts';
import { claimKey, type KeyClaim } from '../idempotency.ts';
import type { Requester, Ports } from '../ports.ts';
import { ChannelRefused, unknownOutcome } from '../errors.ts';
import { refuseBesideRefund } from '../refunds/refund.ts';

/** Seconds until a job queries the dispute, in case the process fails before it stores the channel's answer. */
const OWN_SECONDS = 30;

export interface DisputeAnswer {
  text: string;
  files: readonly EvidenceFile[];
}

type DisputeCommand =
  | ({ command: 'answer' } & DisputeAnswer)
  | { command: 'accept'; text: string }
  | { command: 'finish'; result: ComplaintResult };

/** Only `accept` can wait for an approval, because answering and finishing return no money. */
async function neverWaits(command: Promise<DisputeRow | Waits>): Promise<DisputeRow> {
  const made = await command;
  if ('waits' in made) throw new Error('a dispute action other than accept waits for an approval');
  return made;
}

/** The actions of administrators on disputes; each is stored first, then sent, then checked by a query. */
export function disputeActions(ports: Ports) {
  const check = checkDispute(ports);
  return {
    /** Sends the merchant's text; throws 409 for a decided dispute. */
    answer: (requester: Requester, disputeNo: string, { text, files }: DisputeAnswer, claim?: KeyClaim) =>
      neverWaits(act(requester, disputeNo, { command: 'answer', text, files }, claim)),
    /**
     * Accepts the payer's demand. The order's sums include the loss only after the channel reports the loss. Above the
     * approval limit, another administrator must approve.
     */
    accept: (requester: Requester, disputeNo: string, note: string, claim?: KeyClaim) =>
      act(requester, disputeNo, { command: 'accept', text: note }, claim),
    /** Declares that the merchant has settled the dispute, for channels that require this. */
    finish: (requester: Requester, disputeNo: string, result: ComplaintResult, claim?: KeyClaim) =>
      neverWaits(act(requester, disputeNo, { command: 'finish', result }, claim)),
  };

  async function act(
    requester: Requester,
    disputeNo: string,
    command: DisputeCommand,
    claim?: KeyClaim,
  ): Promise<DisputeRow | Waits> {
    const isAgain = claim !== undefined && claim.resume !== null;
    const { order, dispute, before, waits } = await recordIntent(
      ports,
      (tx) => recordAnswerIntent(ports, tx, requester, disputeNo, command, claim),
      (pair) => pair.order,
    );
    if (waits) return { waits };
    ports.checkpoint('dispute.intent');
    const { orderNo } = order;
    if (isDecided(dispute.state)) return dispute;
    return afterIntent({ orderNo }, async () => {
      const sent = timesOf(dispute);
      const reported = await callChannel(ports, order, (channel) =>
        send(channel.disputes, command, dispute.channelDisputeNo),
      );
      ports.checkpoint('dispute.sent');
      await check(disputeNo);
      const after = (await ports.store.read((tx) => tx.disputes.find({ disputeNo })))!;
      // A call whose response was lost may have succeeded, so the queried state decides.
      const isDone = isDoneBy(command.command, after.state, isAgain && reported.kind === 'refused');
      if (reported.kind === 'done' || isDone) return after;
      if (reported.kind === 'unknown') throw unknownOutcome(order, reported);
      await takeBack(ports, disputeNo, command.command, { sent, before });
      const { code, reason: message, supportId } = reported;
      throw new ChannelRefused({ payWay: order.payWay, code, message, supportId }, { orderNo });
    });
  }
}

/**
 * Whether the channel has carried out the command. For `accept` and `finish`, the state of the dispute proves this. For
 * `answer` the state is not enough, because some disputes never need an answer. `isTaken`: the request was repeated
 * under its Idempotency-Key, and the channel refused the repeated call.
 */
function isDoneBy(command: DisputeCommand['command'], state: DisputeRow['state'], isTaken: boolean): boolean {
  if (command === 'accept') return state === 'lost';
  return command === 'finish' ? isDecided(state) : isTaken && state !== 'needs_answer';
}

async function recordAnswerIntent(
  ports: Ports,
  tx: Tx,
  requester: Requester,
  disputeNo: string,
  command: DisputeCommand,
  claim: KeyClaim | undefined,
): Promise<DisputePair & { before: SentTimes; waits?: ApprovalRow | undefined }> {
  const now = ports.now();
  const { order, dispute } = await lockDispute(tx, disputeNo, requester.owner);
  const isOver = isDecided(dispute.state);
  if (isOver && !claim?.resume)
    throw new Conflict('dispute_closed', 'The channel has already decided the dispute.', {
      extra: { orderNo: order.orderNo, disputeNo },
    });
  if (claim) await claimKey(tx, claim, disputeNo, now);
  if (command.command === 'accept') {
    if (!isOver) await refuseBesideRefund(tx, order.orderNo);
    const { amount, currency } = dispute;
    const action = { kind: 'dispute', number: disputeNo, order, amount, currency, reason: command.text } as const;
    const waits = await waitAbove(ports, tx, requester, action);
    if (waits) return { order, dispute, before: timesOf(dispute), waits };
  }
  const sent = { answer: { answeredAt: now }, accept: { acceptedAt: now }, finish: {} }[command.command];
  const patch = isOver ? {} : { ...sent, nextCheckAt: later(now, OWN_SECONDS), checks: 0 };
  await tx.disputes.update({ disputeNo }, patch);
  const intended = { ...dispute, ...patch };
  if (command.command === 'accept' && !isOver) {
    // An open exception (a case for an operator) blocks refunds of the order from this commit on.
    await raiseException(ports, tx, order, listedDispute(intended));
    await noteListed(tx, intended);
  }
  const after = { orderNo: order.orderNo, channelDisputeNo: dispute.channelDisputeNo, ...auditedOf(command) };
  await addAuditEntry(ports, tx, requester, { action: `dispute.${command.command}`, target: disputeNo, after });
  return { order, dispute: intended, before: timesOf(dispute) };
}

type SentTimes = Pick<DisputeRow, 'answeredAt' | 'acceptedAt'>;

function timesOf({ answeredAt, acceptedAt }: DisputeRow): SentTimes {
  return { answeredAt, acceptedAt };
}

/**
 * Restores the send time that was stored before a call, because the channel refused the call. Does nothing if another
 * call of the same kind was sent since. If the merchant had accepted the dispute earlier, refunds stay blocked.
 */
async function takeBack(
  ports: Ports,
  disputeNo: string,
  command: DisputeCommand['command'],
  { sent, before }: Record<'sent' | 'before', SentTimes>,
): Promise<void> {
  if (command === 'finish') return;
  const name = command === 'answer' ? 'answeredAt' : 'acceptedAt';
  await ports.store.transaction(async (tx) => {
    const { dispute } = await lockDispute(tx, disputeNo, 'any');
    if (dispute[name]?.getTime() !== sent[name]?.getTime()) return;
    const patch = { [name]: before[name] };
    await tx.disputes.update({ disputeNo }, patch);
    await noteListed(tx, { ...dispute, ...patch });
  });
}

/** The audit log records the names, sizes and hashes of the files; the files themselves are not stored. */
function auditedOf(command: DisputeCommand): Record<string, unknown> {
  if (command.command === 'finish') return { result: command.result };
  if (command.command === 'accept' || command.files.length === 0) return { text: command.text };
  const files = command.files.map(({ name, bytes }) => ({ name, bytes: bytes.length, sha256: hash('sha256', bytes) }));
  return { text: command.text, files };
}

function send(desk: DisputeDesk | undefined, command: DisputeCommand, no: string): Promise<DisputeAction> {
  if (command.command === 'answer' && desk) return desk.answer(no, command.text, command.files);
  if (command.command === 'accept' && desk?.accept) return desk.accept(no, command.text);
  if (command.command === 'finish' && desk?.finish) return desk.finish(no, command.result);
  const reason = 'The channel does not offer this action for disputes.';
  return Promise.resolve({ kind: 'refused', code: 'NOT_OFFERED', reason });
}
