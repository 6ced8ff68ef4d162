import type { DisputeRow } from '../db/entities/disputes.ts';
import type { Tx } from '../db/store.ts';
import { Conflict } from '../errors.ts';
import { afterIntent, ask, intend } from './ask.ts';
import type { DisputeDeed, DisputeDesk } from './channel.ts';
import { isDecided } from './core/moves.ts';
import { later } from './core/plan.ts';
import { noteDeed } from './follow-ups.ts';
import { checkDispute } from './hear-dispute.ts';
import { claimKey, type KeyClaim } from './idempotency.ts';
import type { Asker, Ports } from './ports.ts';
import { ChannelRefused, unknownOutcome } from './refusals.ts';
import { type DisputePair, lockDispute } from './settle-dispute.ts';

/** The channel was asked and this long is left to whoever asked, before the jobs ask what became of it. */
const OWN_SECONDS = 30;

type Deed = 'answer' | 'accept' | 'finish';

/** What administrators do about disputes: intent, channel, and what the channel makes of it. */
export function disputeDeeds(ports: Ports) {
  const check = checkDispute(ports);
  return {
    /** Sends text for the merchant's side; a dispute that is decided takes none. */
    answer: (asker: Asker, disputeNo: string, text: string, claim?: KeyClaim) =>
      act(asker, disputeNo, 'answer', text, claim),
    /** Gives in: the payer gets the money, and the order counts it when the channel says so. */
    accept: (asker: Asker, disputeNo: string, note: string, claim?: KeyClaim) =>
      act(asker, disputeNo, 'accept', note, claim),
    /** Says that the merchant has dealt with it, where the channel leaves that to the merchant. */
    finish: (asker: Asker, disputeNo: string, claim?: KeyClaim) => act(asker, disputeNo, 'finish', '', claim),
  };

  async function act(asker: Asker, disputeNo: string, deed: Deed, text: string, claim?: KeyClaim): Promise<DisputeRow> {
    const isAgain = claim !== undefined && claim.resume !== null;
    const { order, dispute } = await intend(
      ports,
      (tx) => intendDeed(ports, tx, asker, disputeNo, deed, text, claim),
      (pair) => pair.order,
    );
    ports.checkpoint('dispute.intent');
    const { orderNo } = order;
    if (isDecided(dispute.state)) return dispute;
    return afterIntent({ orderNo }, async () => {
      const said = await ask(ports, order, (channel) => send(channel.disputes, deed, dispute.channelDisputeNo, text));
      ports.checkpoint('dispute.sent');
      await check(disputeNo);
      const after = (await ports.store.read((tx) => tx.disputes.find({ disputeNo })))!;
      // A call whose answer was lost may have done it: what the channel shows now decides.
      const isDone = isDoneBy(deed, after.state, isAgain);
      if (said.kind === 'done' || isDone) return after;
      if (said.kind === 'unknown') throw unknownOutcome(orderNo, said.cause, said.supportId);
      const { code, reason: message, supportId } = said;
      throw new ChannelRefused({ payWay: order.payWay, code, message, supportId }, { orderNo });
    });
  }
}

/** Whether the dispute shows that a call did what it was for, although its answer says otherwise or was lost. */
function isDoneBy(deed: Deed, state: DisputeRow['state'], isAgain: boolean): boolean {
  if (deed === 'accept') return state === 'lost';
  return deed === 'finish' ? isDecided(state) : isAgain && state !== 'needs_answer';
}

async function intendDeed(
  ports: Ports,
  tx: Tx,
  asker: Asker,
  disputeNo: string,
  deed: Deed,
  text: string,
  claim: KeyClaim | undefined,
): Promise<DisputePair> {
  const now = ports.now();
  const { order, dispute } = await lockDispute(tx, disputeNo, asker.owner);
  const isOver = isDecided(dispute.state);
  if (isOver && !claim?.resume)
    throw new Conflict('dispute_closed', 'The dispute is decided.', { extra: { orderNo: order.orderNo, disputeNo } });
  if (claim) await claimKey(tx, claim, disputeNo, now);
  const sent = { answer: { answeredAt: now }, accept: { acceptedAt: now }, finish: {} }[deed];
  const patch = isOver ? {} : { ...sent, nextCheckAt: later(now, OWN_SECONDS), checks: 0 };
  await tx.disputes.update({ disputeNo }, patch);
  const said = deed === 'finish' ? {} : { text };
  const after = { orderNo: order.orderNo, channelDisputeNo: dispute.channelDisputeNo, ...said };
  await noteDeed(ports, tx, asker, { action: `dispute.${deed}`, target: disputeNo, after });
  return { order, dispute: { ...dispute, ...patch } };
}

function send(desk: DisputeDesk | undefined, deed: Deed, no: string, text: string): Promise<DisputeDeed> {
  if (deed === 'answer' && desk) return desk.answer(no, text);
  if (deed === 'accept' && desk?.accept) return desk.accept(no, text);
  if (deed === 'finish' && desk?.finish) return desk.finish(no);
  const reason = 'The channel does not take this for its disputes.';
  return Promise.resolve({ kind: 'refused', code: 'NOT_OFFERED', reason });
}
