import { hash } from 'node:crypto';
import type { ApprovalRow, DisputeRow } from '../../db/entities/refunds.ts';
import type { Tx } from '../../db/store.ts';
import { Conflict } from '../../errors.ts';
import { waitAbove, type Waits } from '../exceptions/approvals.ts';
import { afterIntent, ask, intend } from '../ask.ts';
import type { ComplaintResult, DisputeDeed, DisputeDesk, EvidenceFile } from '../channel.ts';
import { listedDispute } from '../core/decide-dispute.ts';
import { isDecided } from '../core/moves.ts';
import { later } from '../core/plan.ts';
import { noteDeed, raiseException } from '../follow-ups.ts';
import { type DisputePair, checkDispute, lockDispute, noteListed } from './hear.ts';
import { claimKey, type KeyClaim } from '../idempotency.ts';
import type { Asker, Ports } from '../ports.ts';
import { ChannelRefused, unknownOutcome } from '../refusals.ts';
import { refuseBesideRefund } from '../refunds/refund.ts';

/** The channel was asked and this long is left to whoever asked, before the jobs ask what became of it. */
const OWN_SECONDS = 30;

/** What is said to a dispute, and the files that prove it. */
export interface DisputeAnswer {
  text: string;
  files: readonly EvidenceFile[];
}

type Deed =
  | ({ deed: 'answer' } & DisputeAnswer)
  | { deed: 'accept'; text: string }
  | { deed: 'finish'; result: ComplaintResult };

/** Answering and finishing give no money back, so they never wait. */
async function neverWaits(deed: Promise<DisputeRow | Waits>): Promise<DisputeRow> {
  const made = await deed;
  if ('waits' in made) throw new Error('only accepting waits for an approval');
  return made;
}

/** What administrators do about disputes: intent, channel, and what the channel makes of it. */
export function disputeDeeds(ports: Ports) {
  const check = checkDispute(ports);
  return {
    /** Sends text for the merchant's side; a dispute that is decided takes none. */
    answer: (asker: Asker, disputeNo: string, { text, files }: DisputeAnswer, claim?: KeyClaim) =>
      neverWaits(act(asker, disputeNo, { deed: 'answer', text, files }, claim)),
    /** Gives in: the payer gets the money, and the order counts it when the channel says so. Above the bound another administrator approves it first. */
    accept: (asker: Asker, disputeNo: string, note: string, claim?: KeyClaim) =>
      act(asker, disputeNo, { deed: 'accept', text: note }, claim),
    /** Says that the merchant has dealt with it, where the channel leaves that to the merchant. */
    finish: (asker: Asker, disputeNo: string, result: ComplaintResult, claim?: KeyClaim) =>
      neverWaits(act(asker, disputeNo, { deed: 'finish', result }, claim)),
  };

  async function act(asker: Asker, disputeNo: string, deed: Deed, claim?: KeyClaim): Promise<DisputeRow | Waits> {
    const isAgain = claim !== undefined && claim.resume !== null;
    const { order, dispute, before, waits } = await intend(
      ports,
      (tx) => intendDeed(ports, tx, asker, disputeNo, deed, claim),
      (pair) => pair.order,
    );
    if (waits) return { waits };
    ports.checkpoint('dispute.intent');
    const { orderNo } = order;
    if (isDecided(dispute.state)) return dispute;
    return afterIntent({ orderNo }, async () => {
      const sent = timesOf(dispute);
      const said = await ask(ports, order, (channel) => send(channel.disputes, deed, dispute.channelDisputeNo));
      ports.checkpoint('dispute.sent');
      await check(disputeNo);
      const after = (await ports.store.read((tx) => tx.disputes.find({ disputeNo })))!;
      // A call whose answer was lost may have done it: what the channel shows now decides.
      const isDone = isDoneBy(deed.deed, after.state, isAgain && said.kind === 'refused');
      if (said.kind === 'done' || isDone) return after;
      if (said.kind === 'unknown') throw unknownOutcome(order, said);
      await takeBack(ports, disputeNo, deed.deed, { sent, before });
      const { code, reason: message, supportId } = said;
      throw new ChannelRefused({ payWay: order.payWay, code, message, supportId }, { orderNo });
    });
  }
}

/**
 * Whether the dispute shows that a call did what it was for, although its answer says otherwise or was lost. `isTaken`: the channel
 * refuses to take it again. A dispute that waits for no answer proves none: it may never have waited.
 */
function isDoneBy(deed: Deed['deed'], state: DisputeRow['state'], isTaken: boolean): boolean {
  if (deed === 'accept') return state === 'lost';
  return deed === 'finish' ? isDecided(state) : isTaken && state !== 'needs_answer';
}

async function intendDeed(
  ports: Ports,
  tx: Tx,
  asker: Asker,
  disputeNo: string,
  deed: Deed,
  claim: KeyClaim | undefined,
): Promise<DisputePair & { before: SentTimes; waits?: ApprovalRow | undefined }> {
  const now = ports.now();
  const { order, dispute } = await lockDispute(tx, disputeNo, asker.owner);
  const isOver = isDecided(dispute.state);
  if (isOver && !claim?.resume)
    throw new Conflict('dispute_closed', 'The dispute is decided.', { extra: { orderNo: order.orderNo, disputeNo } });
  if (claim) await claimKey(tx, claim, disputeNo, now);
  if (deed.deed === 'accept') {
    if (!isOver) await refuseBesideRefund(tx, order.orderNo);
    const { amount, currency } = dispute;
    const asked = { kind: 'dispute', number: disputeNo, order, amount, currency, reason: deed.text } as const;
    const waits = await waitAbove(ports, tx, asker, asked);
    if (waits) return { order, dispute, before: timesOf(dispute), waits };
  }
  const sent = { answer: { answeredAt: now }, accept: { acceptedAt: now }, finish: {} }[deed.deed];
  const patch = isOver ? {} : { ...sent, nextCheckAt: later(now, OWN_SECONDS), checks: 0 };
  await tx.disputes.update({ disputeNo }, patch);
  const intended = { ...dispute, ...patch };
  if (deed.deed === 'accept' && !isOver) {
    // From now on refunds are refused: an exception that was resolved is raised again, one that is open is changed.
    await raiseException(ports, tx, order, listedDispute(intended));
    await noteListed(tx, intended);
  }
  const after = { orderNo: order.orderNo, channelDisputeNo: dispute.channelDisputeNo, ...auditedOf(deed) };
  await noteDeed(ports, tx, asker, { action: `dispute.${deed.deed}`, target: disputeNo, after });
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
  deed: Deed['deed'],
  { sent, before }: Record<'sent' | 'before', SentTimes>,
): Promise<void> {
  if (deed === 'finish') return;
  const name = deed === 'answer' ? 'answeredAt' : 'acceptedAt';
  await ports.store.transaction(async (tx) => {
    const { dispute } = await lockDispute(tx, disputeNo, 'any');
    if (dispute[name]?.getTime() !== sent[name]?.getTime()) return;
    const patch = { [name]: before[name] };
    await tx.disputes.update({ disputeNo }, patch);
    await noteListed(tx, { ...dispute, ...patch });
  });
}

/** Of files their names, sizes and fingerprints: the files themselves are not kept. */
function auditedOf(deed: Deed): Record<string, unknown> {
  if (deed.deed === 'finish') return { result: deed.result };
  if (deed.deed === 'accept' || deed.files.length === 0) return { text: deed.text };
  const files = deed.files.map(({ name, bytes }) => ({ name, bytes: bytes.length, sha256: hash('sha256', bytes) }));
  return { text: deed.text, files };
}

function send(desk: DisputeDesk | undefined, deed: Deed, no: string): Promise<DisputeDeed> {
  if (deed.deed === 'answer' && desk) return desk.answer(no, deed.text, deed.files);
  if (deed.deed === 'accept' && desk?.accept) return desk.accept(no, deed.text);
  if (deed.deed === 'finish' && desk?.finish) return desk.finish(no, deed.result);
  const reason = 'The channel does not take this for its disputes.';
  return Promise.resolve({ kind: 'refused', code: 'NOT_OFFERED', reason });
}
