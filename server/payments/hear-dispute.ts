import type { OrderRow } from '../db/entities/orders.ts';
import type { ReadTx } from '../db/store.ts';
import { ask } from './ask.ts';
import type { Channel, ChannelDispute, Notice, PayWay } from './channel.ts';
import type { DisputeOutcome } from './dispute.ts';
import { madeAt } from './numbers.ts';
import type { NoticeChannel, Ports } from './ports.ts';
import { nextDisputeCheck } from './core/plan.ts';
import { settling } from './settle.ts';
import { settleDispute } from './settle-dispute.ts';
import { listUnmatched } from './unmatched-notice.ts';
import { speaksFor } from './whose-notice.ts';

/** Where a dispute was named: the channel that is asked about it. */
export interface DisputeSource {
  project: string;
  payWay: PayWay;
  from: NoticeChannel;
}

/** What became of a hint at a dispute. */
export type DisputeHeard = 'settled' | 'irrelevant' | 'unknown_order' | 'not_genuine' | 'unconfirmed';

/** A message only names a dispute: the channel is asked, outside any transaction, and what it says is settled. */
export function hearDispute(ports: Ports) {
  return async (source: DisputeSource, channelDisputeNo: string, notice?: Notice): Promise<DisputeHeard> => {
    const said = await readDispute(source.from.channel, channelDisputeNo);
    ports.checkpoint('dispute.asked');
    if (said.kind === 'unknown') return 'unconfirmed';
    if (said.kind === 'absent') return 'not_genuine';
    const result = await settleHeard(ports, source, said.dispute, notice);
    ports.checkpoint('dispute.settled');
    return result;
  };
}

function settleHeard(ports: Ports, source: DisputeSource, dispute: ChannelDispute, notice?: Notice) {
  const { project, payWay, from } = source;
  const { account } = from.channel;
  return settling(ports, async (tx): Promise<DisputeHeard> => {
    const found = await findDisputed(tx, source, dispute);
    if (!found) {
      // The account's messages tell of payments of its other systems, too.
      if (notice?.isShared && !madeAt(dispute.orderNo ?? '')) return 'irrelevant';
      const number = { orderNo: dispute.orderNo, channelOrderId: dispute.tradeNos[0] ?? dispute.channelDisputeNo };
      if (notice) await listUnmatched(ports, tx, { project, payWay }, { ...notice, ...number });
      return 'unknown_order';
    }
    const order = (await tx.orders.lock({ orderNo: found.orderNo }))!;
    if (!speaksFor({ project, payWay, from, notice: { account } }, order))
      return notice?.isShared && order.account === account && order.project !== project ? 'irrelevant' : 'not_genuine';
    await settleDispute(ports, tx, order, dispute, { cause: 'dispute', actor: `channel:${payWay}` });
    return 'settled';
  });
}

/** The order that is known to have it; else by the payment, or by our own number where the channel repeats it. */
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

/** What came of the look for the disputes of an order; `found`: the channel's numbers of those that were settled. */
export type DisputesSaid =
  | { kind: 'found'; disputes: readonly string[] }
  | { kind: 'absent' | 'pending' | 'not_asked' }
  | { kind: 'refused'; code: string; reason: string }
  | Extract<DisputeOutcome, { kind: 'unknown' }>;

/** Pages of the disputes of one payment that are read. */
const MOST_PAGES = 20;

/** Asks the channel for all disputes about the payment of an order, and settles what it says of each. Answers that say nothing end it. */
export function askForDisputes(ports: Ports) {
  return async (order: OrderRow): Promise<DisputesSaid> => {
    const { channelTradeNo } = order;
    // A payment that is not known yet is asked about elsewhere, and its disputes then.
    if (channelTradeNo === null) return { kind: 'pending' };
    const listed = await ask(ports, order, (channel) => listAll(channel, channelTradeNo));
    if (listed.kind !== 'found') return refusedOr(listed);
    const settled: string[] = [];
    for (const channelDisputeNo of listed.disputes) {
      const said = await ask(ports, order, (channel) => readDispute(channel, channelDisputeNo));
      ports.checkpoint('dispute.asked');
      if (said.kind === 'unknown') return refusedOr(said);
      if (said.kind === 'found' && said.dispute.tradeNos.includes(channelTradeNo)) {
        await settleOf(order, said.dispute);
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

async function listAll(channel: Channel, channelTradeNo: string): Promise<DisputesSaid> {
  const listOf = channel.disputes?.listOf;
  if (!listOf) return { kind: 'not_asked' };
  const disputes: string[] = [];
  let page: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const said = await listOf(channelTradeNo, page);
    if (said.kind === 'unknown') return said;
    disputes.push(...said.disputes.map(({ channelDisputeNo }) => channelDisputeNo));
    page = said.next;
    if (page === undefined) break;
  }
  return { kind: 'found', disputes };
}

/** That the account may not read disputes is an answer, which does not change by itself. */
function refusedOr<Said extends DisputesSaid>(said: Said): DisputesSaid {
  return said.kind === 'unknown' && said.refusal ? { kind: 'refused', ...said.refusal } : said;
}

/** Asks the channel what became of a dispute; the caller has claimed its row, or somebody wants to know now. */
export function checkDispute(ports: Ports) {
  return async (disputeNo: string): Promise<void> => {
    const read = await ports.store.read(async (tx) => {
      const dispute = await tx.disputes.find({ disputeNo });
      const order = dispute && (await tx.orders.find({ orderNo: dispute.orderNo }));
      return order && { order, dispute };
    });
    if (!read) return;
    const { channelDisputeNo } = read.dispute;
    const said = await ask(ports, read.order, (channel) => readDispute(channel, channelDisputeNo));
    ports.checkpoint('dispute-check.asked');
    await ports.store.transaction(async (tx) => {
      const order = (await tx.orders.lock({ orderNo: read.order.orderNo }))!;
      const via = { cause: 'dispute-check', actor: `channel:${order.payWay}` };
      if (said.kind === 'found') await settleDispute(ports, tx, order, said.dispute, via);
      else await askLater(tx.disputes, disputeNo, ports.now());
    });
  };
}

async function askLater(
  disputes: Parameters<Parameters<Ports['store']['transaction']>[0]>[0]['disputes'],
  disputeNo: string,
  now: Date,
): Promise<void> {
  const dispute = await disputes.lock({ disputeNo });
  if (!dispute || dispute.nextCheckAt === null) return;
  const checks = dispute.checks + 1;
  await disputes.update({ disputeNo }, { checks, nextCheckAt: nextDisputeCheck(checks, now), leasedUntil: null });
}
