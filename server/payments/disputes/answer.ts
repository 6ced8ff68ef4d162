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

/** The channel was asked and this long is left to whoever asked, before the jobs ask what became of it. */
const OWN_SECONDS = 30;

/** What is said to a dispute, and the files that prove it. */
export interface DisputeAnswer {
  text: string;
  files: readonly EvidenceFile[];
}

type DisputeCommand =
  | ({ command: 'answer' } & DisputeAnswer)
  | { command: 'accept'; text: string }
  | { command: 'finish'; result: ComplaintResult };

/** Answering and finishing give no money back, so they never wait. */
async function neverWaits(command: Promise<DisputeRow | Waits>): Promise<DisputeRow> {
  const made = await command;
  if ('waits' in made) throw new Error('only accepting waits for an approval');
  return made;
}

/** What administrators do about disputes: intent, channel, and what the channel makes of it. */
export function disputeActions(ports: Ports) {
  const check = checkDispute(ports);
  return {
    /** Sends text for the merchant's side; a dispute that is decided takes none. */
    answer: (requester: Requester, disputeNo: string, { text, files }: DisputeAnswer, claim?: KeyClaim) =>
      neverWaits(act(requester, disputeNo, { command: 'answer', text, files }, claim)),
    /** Gives in: the payer gets the money, and the order counts it when the channel says so. Above the bound another administrator approves it first. */
    accept: (requester: Requester, disputeNo: string, note: string, claim?: KeyClaim) =>
      act(requester, disputeNo, { command: 'accept', text: note }, claim),
    /** Says that the merchant has dealt with it, where the channel leaves that to the merchant. */
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
      // A call whose answer was lost may have done it: what the channel shows now decides.
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
 * Whether the dispute shows that a call did what it was for, although its answer says otherwise or was lost. `isTaken`: the channel
 * refuses to take it again. A dispute that waits for no answer proves none: it may never have waited.
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
    throw new Conflict('dispute_closed', 'The dispute is decided.', { extra: { orderNo: order.orderNo, disputeNo } });
  if (claim) await claimKey(tx, claim, disputeNo, now);
  if (command.command === 'accept') {
    if (!isOver) await refuseBesideRefund(tx, order.orderNo);
    const { amount, currency } = dispute;
    const asked = { kind: 'dispute', number: disputeNo, order, amount, currency, reason: command.text } as const;
    const waits = await waitAbove(ports, tx, requester, asked);
    if (waits) return { order, dispute, before: timesOf(dispute), waits };
  }
  const sent = { answer: { answeredAt: now }, accept: { acceptedAt: now }, finish: {} }[command.command];
  const patch = isOver ? {} : { ...sent, nextCheckAt: later(now, OWN_SECONDS), checks: 0 };
  await tx.disputes.update({ disputeNo }, patch);
  const intended = { ...dispute, ...patch };
  if (command.command === 'accept' && !isOver) {
    // From now on refunds are refused: an exception that was resolved is raised again, one that is open is changed.
    await raiseException(ports, tx, order, listedDispute(intended));
    await noteListed(tx, intended);
  }
  const after = { orderNo: order.orderNo, channelDisputeNo: dispute.channelDisputeNo, ...auditedOf(command) };
  await addAuditEntry(ports, tx, requester, { action: `dispute.${command.command}`, target: disputeNo, after });
  return { order, dispute: intended, before: timesOf(dispute) };
}

/** When something was last sent to the channel. */
type SentTimes = Pick<DisputeRow, 'answeredAt' | 'acceptedAt'>;

function timesOf({ answeredAt, acceptedAt }: DisputeRow): SentTimes {
  return { answeredAt, acceptedAt };
}

/**
 * Takes a deed back that the channel refused: the dispute shows again the time of the one before, unless another of the kind was sent since. If
 * that is an earlier acceptance, refunds stay refused: its end is still not known.
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

/** Of files their names, sizes and fingerprints: the files themselves are not kept. */
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
  const reason = 'The channel does not take this for its disputes.';
  return Promise.resolve({ kind: 'refused', code: 'NOT_OFFERED', reason });
}
