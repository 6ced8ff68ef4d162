import type { DisputeRow } from '../../db/entities/refunds.ts';
import type { OrderRow } from '../../db/entities/orders.ts';
import type { ReadTx, Tx } from '../../db/store.ts';
import { NotFound } from '../../errors.ts';
import { callChannel } from '../call-channel.ts';
import {
  type Channel,
  type ChannelDispute,
  type DisputeOutcome,
  type Notification,
  PAY_WAYS,
  type PayWay,
} from '../channel.ts';
import { type DisputeFacts, decideDispute, listedDispute } from '../core/decide-dispute.ts';
import { DISPUTE_TRANSITIONS } from '../core/transitions.ts';
import { later, nextDisputeCheck } from '../core/plan.ts';
import { jsonable, listUnmatched, emitDisputeEvent } from '../side-effects.ts';
import { ImpossibleTransition, type Via, apply, isListed } from '../ledger.ts';
import { type NotificationChannel, type Owner, type Ports, speaksFor } from '../ports.ts';
import { madeAt, newNumber } from '../numbers.ts';
import { explainSums, settling } from '../settle.ts';

/** A dispute and its order, both locked. */
export interface DisputePair {
  readonly order: OrderRow;
  readonly dispute: DisputeRow;
}

/**
 * Locks the order, then the dispute, in the sequence of every transaction. Throws 404 if the dispute does not exist or
 * belongs to another owner.
 */
export async function lockDispute(tx: Tx, disputeNo: string, owner: Owner): Promise<DisputePair> {
  const found = await tx.disputes.find({ disputeNo, ...(owner === 'any' ? {} : owner) });
  const order = found && (await tx.orders.lock({ orderNo: found.orderNo }));
  const dispute = order && (await tx.disputes.lock({ disputeNo }));
  if (!order || !dispute) throw new NotFound('dispute');
  return { order, dispute };
}

/** Decides and stores what the channel's answer about a dispute changes, while the order is locked. */
export async function settleDispute(
  ports: Ports,
  tx: Tx,
  order: OrderRow,
  answer: ChannelDispute,
  via: Via,
): Promise<DisputeRow> {
  const now = ports.now();
  const facts = await loadFacts(tx, order, answer);
  const names = { ...via, disputeNo: newNumber('D', now), refundNo: newNumber('R', now) };
  const { rule, dispute, refund, money, emit } = decideDispute(order, facts, answer, names, now);
  const from = facts.dispute?.state ?? null;
  const isPossible = rule === null ? from === dispute.state : isListed(DISPUTE_TRANSITIONS, rule, from, dispute.state);
  if (!isPossible) throw new ImpossibleTransition(rule, from, dispute.state);
  // The dispute is written before the order. A concurrent transaction then either finds the dispute or waits for the
  // lock of the order.
  if (facts.dispute) await tx.disputes.update({ disputeNo: dispute.disputeNo }, dispute);
  else await tx.disputes.insert(dispute);
  const { order: after } = await apply(ports, tx, { order, refund }, money, via);
  await noteListed(tx, dispute);
  await explainSums(ports, tx, after);
  for (const type of emit) await emitDisputeEvent(ports, tx, type, after, dispute);
  return dispute;
}

async function loadFacts(
  tx: Tx,
  { orderNo, payWay, account }: OrderRow,
  answer: ChannelDispute,
): Promise<DisputeFacts> {
  const { channelDisputeNo } = answer;
  const dispute = await tx.disputes.lock({ payWay, account, channelDisputeNo, orderNo });
  const refunds = await tx.refunds.list({ orderNo }, { orderBy: { createdAt: 'asc', refundNo: 'asc' } });
  const others = (await tx.disputes.list({ orderNo })).filter(({ disputeNo }) => disputeNo !== dispute?.disputeNo);
  const claimed = others.flatMap(({ refundNo }) => refundNo ?? []);
  const covered = others.filter(({ state, refundNo }) => state === 'lost' && refundNo === null);
  return { dispute, refunds, claimed: new Set(claimed), covered };
}

/** Updates the open exception of a dispute: its state, its due date, and whether it blocks refunds. */
export async function noteListed(tx: Tx, dispute: DisputeRow): Promise<void> {
  const { kind, dedupe, detail, blocksRefunds } = listedDispute(dispute);
  const where = { orderNo: dispute.orderNo, kind, dedupe, state: 'open' } as const;
  await tx.exceptions.update(where, { detail: jsonable(detail ?? {}), blocksRefunds });
}

/** The account that reported a dispute. The channel is queried with the configuration of this account. */
interface DisputeSource {
  project: string;
  payWay: PayWay;
  from: NotificationChannel;
}

type DisputeMessageResult = 'settled' | 'irrelevant' | 'unknown_order' | 'not_genuine' | 'unconfirmed';

/** Handles a message that names a dispute: queries the channel, outside any transaction, and stores its answer. */
export function applyDisputeHint(ports: Ports) {
  return async (
    source: DisputeSource,
    channelDisputeNo: string,
    notification?: Notification,
  ): Promise<DisputeMessageResult> => {
    const answer = await readDispute(source.from.channel, channelDisputeNo);
    ports.checkpoint('dispute.asked');
    if (answer.kind === 'unknown') return 'unconfirmed';
    if (answer.kind === 'absent') return 'not_genuine';
    const result = await settleDisputeHint(ports, source, answer.dispute, notification);
    ports.checkpoint('dispute.settled');
    return result;
  };
}

function settleDisputeHint(ports: Ports, source: DisputeSource, dispute: ChannelDispute, notification?: Notification) {
  const { project, payWay, from } = source;
  const { account } = from.channel;
  return settling(ports, async (tx): Promise<DisputeMessageResult> => {
    const found = await findDisputed(tx, source, dispute);
    if (!found) {
      // The channel also reports disputes about payments that other systems received at the same account.
      if (notification?.isShared && !madeAt(dispute.orderNo ?? '')) return 'irrelevant';
      const number = { orderNo: dispute.orderNo, channelOrderId: dispute.tradeNos[0] ?? dispute.channelDisputeNo };
      if (notification) await listUnmatched(ports, tx, { project, payWay }, { ...notification, ...number });
      return 'unknown_order';
    }
    const order = (await tx.orders.lock({ orderNo: found.orderNo }))!;
    if (!speaksFor({ project, payWay, from, notification: { account } }, order))
      return notification?.isShared && order.account === account && order.project !== project
        ? 'irrelevant'
        : 'not_genuine';
    await settleDispute(ports, tx, order, dispute, { cause: 'dispute', actor: `channel:${payWay}` });
    return 'settled';
  });
}

/** An unknown dispute is matched by the number of its payment, or by the order number if the channel sends it. */
async function findDisputed(
  tx: ReadTx,
  { payWay, from }: DisputeSource,
  { channelDisputeNo, tradeNos, orderNo }: ChannelDispute,
): Promise<OrderRow | undefined> {
  const { account } = from.channel;
  const known = await tx.disputes.find({ payWay, account, channelDisputeNo });
  if (known) return tx.orders.find({ orderNo: known.orderNo });
  if (tradeNos.length > 0) {
    const [found] = await tx.orders.list(
      { payWay, account, channelTradeNo: tradeNos },
      { orderBy: { createdAt: 'asc' }, limit: 1 },
    );
    if (found) return found;
  }
  return orderNo === null ? undefined : tx.orders.find({ orderNo });
}

function readDispute(channel: Channel, channelDisputeNo: string): Promise<DisputeOutcome> {
  return channel.disputes?.read(channelDisputeNo) ?? Promise.resolve({ kind: 'absent' });
}

/** `disputes`: the channel's ids of the disputes that the search found and stored. */
type DisputesAnswer =
  | { kind: 'found'; disputes: readonly string[] }
  | { kind: 'absent' | 'pending' | 'not_asked' }
  | { kind: 'refused'; code: string; reason: string }
  | Extract<DisputeOutcome, { kind: 'unknown' }>;

/** Maximum number of pages that are read from the list of disputes of one payment. */
const MOST_PAGES_OF_A_PAYMENT = 20;

/** Queries all disputes about the payment of an order and stores each answer; stops at the first unusable answer. */
export function queryDisputes(ports: Ports) {
  return async (order: OrderRow): Promise<DisputesAnswer> => {
    const { channelTradeNo } = order;
    // Without a payment number the channel cannot be queried; another job finds the payment first.
    if (channelTradeNo === null) return { kind: 'pending' };
    const listed = await callChannel(ports, order, (channel) => listAll(channel, channelTradeNo));
    if (listed.kind !== 'found') return refusedOr(listed);
    const settled: string[] = [];
    for (const channelDisputeNo of listed.disputes) {
      const answer = await callChannel(ports, order, (channel) => readDispute(channel, channelDisputeNo));
      ports.checkpoint('dispute.asked');
      if (answer.kind === 'unknown') return refusedOr(answer);
      if (answer.kind === 'found' && answer.dispute.tradeNos.includes(channelTradeNo)) {
        await settleOf(order, answer.dispute);
        settled.push(channelDisputeNo);
      }
    }
    return settled.length === 0 ? { kind: 'absent' } : { kind: 'found', disputes: settled };
  };

  function settleOf({ orderNo, payWay, account }: OrderRow, dispute: ChannelDispute) {
    const { channelDisputeNo } = dispute;
    return settling(ports, async (tx) => {
      const order = (await tx.orders.lock({ orderNo }))!;
      const known = await tx.disputes.find({ payWay, account, channelDisputeNo });
      if (known && known.orderNo !== orderNo) return;
      await settleDispute(ports, tx, order, dispute, { cause: 'dispute', actor: `channel:${payWay}` });
    });
  }
}

async function listAll(channel: Channel, channelTradeNo: string): Promise<DisputesAnswer> {
  const listOf = channel.disputes?.listOf;
  if (!listOf) return { kind: 'not_asked' };
  const disputes: string[] = [];
  let page: string | undefined;
  for (let pages = 0; pages < MOST_PAGES_OF_A_PAYMENT; pages += 1) {
    const answer = await listOf(channelTradeNo, page);
    if (answer.kind === 'unknown') return answer;
    disputes.push(...answer.disputes.map(({ channelDisputeNo }) => channelDisputeNo));
    page = answer.next;
    if (page === undefined) break;
  }
  return { kind: 'found', disputes };
}

/** A refusal is final, for example if the account may not read disputes: a retry would be refused too. */
function refusedOr<Answer extends DisputesAnswer>(answer: Answer): DisputesAnswer {
  return answer.kind === 'unknown' && answer.refusal ? { kind: 'refused', ...answer.refusal } : answer;
}

/** Creates the function that queries one dispute and stores the answer. */
export function checkDispute(ports: Ports) {
  return async (disputeNo: string): Promise<void> => {
    const read = await ports.store.read(async (tx) => {
      const dispute = await tx.disputes.find({ disputeNo });
      const order = dispute && (await tx.orders.find({ orderNo: dispute.orderNo }));
      return order && { order, dispute };
    });
    if (!read) return;
    const { channelDisputeNo } = read.dispute;
    const answer = await callChannel(ports, read.order, (channel) => readDispute(channel, channelDisputeNo));
    ports.checkpoint('dispute-check.asked');
    await ports.store.transaction(async (tx) => {
      const order = (await tx.orders.lock({ orderNo: read.order.orderNo }))!;
      const via = { cause: 'dispute-check', actor: `channel:${order.payWay}` };
      if (answer.kind === 'found') await settleDispute(ports, tx, order, answer.dispute, via);
      else await planNextCheck(tx.disputes, disputeNo, ports.now());
    });
  };
}

async function planNextCheck(
  disputes: Parameters<Parameters<Ports['store']['transaction']>[0]>[0]['disputes'],
  disputeNo: string,
  now: Date,
): Promise<void> {
  const dispute = await disputes.lock({ disputeNo });
  if (!dispute || dispute.nextCheckAt === null) return;
  const checks = dispute.checks + 1;
  await disputes.update({ disputeNo }, { checks, nextCheckAt: nextDisputeCheck(checks, now), leasedUntil: null });
}

/**
 * Each search covers the disputes that changed within this many seconds. Channels repeat a notification for a shorter
 * time. A dispute whose notifications were all lost is therefore still found.
 */
const BACK_SECONDS = 4 * 86_400;
/**
 * Limits of one search at one account: the pages of the list, and the disputes that are read. The next search reads the
 * remaining disputes.
 */
const MOST_PAGES = 100;
const MOST_READ = 500;

/**
 * Creates the function that searches for recently changed disputes at every account, because a notification may be
 * lost. The channel may list a dispute before its details can be read; the next searches then read it again.
 */
export function findDisputes(ports: Ports) {
  const readAndSettle = applyDisputeHint(ports);
  const read = rememberMarks(ports.now);
  return async (goesOn: () => boolean = () => true): Promise<void> => {
    const projects = await ports.store.read((tx) => tx.projects.list({}));
    for (const { code } of projects) for (const payWay of PAY_WAYS) if (goesOn()) await lookAt(code, payWay, goesOn);
  };

  async function lookAt(project: string, payWay: PayWay, goesOn: () => boolean): Promise<void> {
    for (const from of await ports.channels.forNotifications(project, payWay)) {
      try {
        if (goesOn()) await lookInto({ project, payWay, from }, goesOn);
      } catch (error) {
        ports.log('error', 'the disputes of an account could not be read', { project, payWay, error });
      }
    }
  }

  async function lookInto(source: DisputeSource, goesOn: () => boolean): Promise<void> {
    const { project, payWay, from } = source;
    const { disputes, account } = from.channel;
    if (!disputes) return;
    const since = later(ports.now(), -BACK_SECONDS);
    let left = MOST_READ;
    let page: string | undefined;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const answer = await disputes.list(since, page);
      if (answer.kind === 'unknown') {
        const { cause, detail } = answer;
        ports.log('warn', 'the disputes of an account could not be listed', {
          project,
          payWay,
          account,
          cause,
          detail,
        });
        return;
      }
      for (const { channelDisputeNo, mark } of answer.disputes) {
        const key = [project, payWay, from.mode, account, ...from.versions, channelDisputeNo].join(' ');
        if (read.has(key, mark)) continue;
        if (left === 0 || !goesOn()) return;
        left -= 1;
        const result = await readAndSettle(source, channelDisputeNo);
        if (result !== 'unconfirmed') read.add(key, mark, result !== 'not_genuine');
      }
      page = answer.next;
      if (page === undefined) return;
    }
    ports.log('warn', 'an account has more disputes than one search reads; later ones were not read', {
      project,
      payWay,
      account,
    });
  }
}

/** Maximum number of disputes kept in memory. The least recently read disputes are removed first. */
const MOST_MARKS = 50_000;
const FRESH_SECONDS = 86_400;
/**
 * A listed dispute that was read this many times without a matching payment counts as a dispute of another merchant. It
 * is read again after a day, or when its entry in the list changes.
 */
const MOST_MISSES = 3;

/** Remembers the disputes that this process has read in the last day; after a restart they are read again. */
function rememberMarks(now: () => Date) {
  const marks = new Map<string, { mark: string; at: Date; misses: number }>();
  const known = (key: string, mark: string) => {
    const one = marks.get(key);
    return one !== undefined && one.mark === mark && later(one.at, FRESH_SECONDS) > now() ? one : undefined;
  };
  return {
    has(key: string, mark: string): boolean {
      const one = known(key, mark);
      return one !== undefined && (one.misses === 0 || one.misses >= MOST_MISSES);
    },
    add(key: string, mark: string, isFound: boolean): void {
      const misses = isFound ? 0 : (known(key, mark)?.misses ?? 0) + 1;
      marks.delete(key);
      marks.set(key, { mark, at: now(), misses });
      const [oldest] = marks.keys();
      if (marks.size > MOST_MARKS && oldest !== undefined) marks.delete(oldest);
    },
  };
}
