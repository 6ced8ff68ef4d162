import { randomUUID } from 'node:crypto';
import type { OrderExceptionRow, OrderRow } from '../../db/entities/orders.ts';
import { countNotice } from '../../db/queries/exceptions.ts';
import type { Tx } from '../../db/store.ts';
import { ask, orderRef } from '../ask.ts';
import type { Notice, Outcome, PayWay } from '../channel.ts';
import { later } from '../core/plan.ts';
import { jsonable } from '../follow-ups.ts';
import { type Money, exponentOf } from '../money.ts';
import { isOurNumber } from '../numbers.ts';
import type { NoticeChannel, Ports } from '../ports.ts';
import { lockOrder, ownerOf, settleLocked, settling } from '../settle.ts';

/** Where a genuine notice arrived, what it says, and whose keys and names it was read with. */
export interface Arrived {
  project: string;
  payWay: PayWay;
  from: NoticeChannel;
  notice: Notice;
}

/** Whether a notice may speak about an order: everything that says whose money it is must be what the order pins. */
export function speaksFor(
  { project, payWay, from, notice }: Omit<Arrived, 'notice'> & { notice: Pick<Notice, 'account' | 'appIds'> },
  order: Pick<OrderRow, 'project' | 'payWay' | 'account' | 'mode' | 'configVersion' | 'appId'>,
): boolean {
  const isHere = order.project === project && order.payWay === payWay;
  // An app that both name says it better than the version: it stays what it was, however the configuration changed. But one app
  // may serve several merchants of a partner, so the version must have had the same one.
  const isIts =
    order.appId !== null && notice.appIds !== undefined
      ? notice.appIds.includes(order.appId) && from.payeeVersions.has(order.configVersion)
      : from.versions.has(order.configVersion);
  return isHere && order.account === notice.account && order.mode === from.mode && isIts;
}

/** A key that was trusted less long ago than this vouches for no payment alone. */
const YOUNG_SECONDS = 24 * 3600;

type Paid = Extract<Outcome, { kind: 'paid' }>;

/** Whether a notice may be settled: one that says too much, or whose key is too young, only when the channel says the same. */
export type ConfirmNotice = (arrived: Arrived) => Promise<boolean>;

/**
 * The operation over its ports: asks outside any transaction. What the channel does not confirm is not settled; what it says
 * instead is, and the order is due for a check, as after silence.
 */
export function confirmNotice(ports: Ports): ConfirmNotice {
  return async (arrived) => {
    const { payWay, notice } = arrived;
    const { outcome } = notice;
    if (outcome?.kind !== 'paid' || !needsConfirmation(ports, payWay, notice, outcome.amount)) return true;
    const order = await pinnedOrder(ports, arrived);
    // The same success changes nothing for a paid order; another payment, or the payment of another order, is only listed.
    if (!order || order.paid > 0n || (await isAnothers(ports, order, outcome))) return true;
    const said = await ask(ports, order, (channel) => channel.query(orderRef(order)));
    ports.checkpoint('notice.asked');
    if (said.kind === 'paid' && isSame(said, outcome)) return true;
    await remember(ports, order.orderNo, said);
    ports.log('warn', 'a notification of a payment was not confirmed by the channel', {
      orderNo: order.orderNo,
      said: said.kind,
      certId: notice.verifiedBy?.certId,
    });
    return false;
  };
}

/** Whether a payment is of more than the limit, or vouched for by a key that is trusted since less than a day. */
export function needsConfirmation(
  { confirmAbove, now }: Pick<Ports, 'confirmAbove' | 'now'>,
  payWay: PayWay,
  { verifiedBy }: Pick<Notice, 'verifiedBy'>,
  { minor, currency }: Money,
): boolean {
  const exponent = exponentOf(currency, payWay);
  if (exponent === undefined || minor > BigInt(confirmAbove) * 10n ** BigInt(exponent)) return true;
  const since = verifiedBy?.since ?? null;
  return since !== null && now() < later(since, YOUNG_SECONDS);
}

/** The order, if settling would touch it: everything else is refused or recognised there without a question. */
async function pinnedOrder({ store }: Ports, arrived: Arrived): Promise<OrderRow | undefined> {
  const { payWay, notice } = arrived;
  const { orderNo, noticeId, account } = notice;
  if (orderNo === null) return undefined;
  return store.read(async (tx) => {
    const order = await tx.orders.find({ orderNo });
    if (!order || !speaksFor(arrived, order) || (await tx.notices.find({ payWay, account, noticeId })))
      return undefined;
    return order;
  });
}

/** A payment belongs to one order only. */
async function isAnothers({ store }: Ports, order: OrderRow, { channelNo }: Paid): Promise<boolean> {
  return (await store.read((tx) => ownerOf(tx, order, channelNo))) !== null;
}

function isSame(one: Paid, other: Paid): boolean {
  const { minor, currency } = one.amount;
  return one.channelNo === other.channelNo && minor === other.amount.minor && currency === other.amount.currency;
}

async function remember(ports: Ports, orderNo: string, said: Outcome): Promise<void> {
  await settling(ports, async (tx) => {
    const order = await lockOrder(tx, orderNo, 'any');
    const via = { cause: 'notice', actor: `channel:${order.payWay}` };
    const heard = said.kind === 'unknown' ? order : await settleLocked(ports, tx, order, { outcome: said }, via);
    await settleLocked(ports, tx, heard, { wish: 'check_soon' }, via);
  });
}

/** More numbers than that share one exception, so that whoever can repeat messages cannot fill the list. */
const OWN_LINES = 100;

/**
 * Lists a genuine message about an order that nobody knows: money may have come, for example for an order that is younger than a
 * restored backup. Each number of our form has an exception of its own; those of other systems at the same account share one.
 */
export async function listUnmatched(
  ports: Ports,
  tx: Tx,
  { project, payWay }: { project: string; payWay: PayWay },
  notice: Notice,
): Promise<void> {
  const { outcome, refund, event, account, noticeId } = notice;
  if (outcome && outcome.kind !== 'paid') return;
  const number = notice.orderNo ?? notice.refundNo ?? notice.channelOrderId ?? '';
  const refunded = refund?.kind === 'succeeded' ? { refunded: refund.amount } : {};
  const told = { payWay, account, event, noticeId, number: number.slice(0, 64), lastAt: ports.now(), ...refunded };
  const shared = { orderNo: '', dedupe: `${payWay}:${account}`.slice(0, 128) };
  const own = { orderNo: number, dedupe: `${payWay}:${account}:${event}`.slice(0, 128) };
  const again = { kind: 'unmatched_notice', detail: jsonable(told) };
  const isOurs = isOurNumber(number);
  if (isOurs && (await countNotice(tx, { ...own, ...again }))) return;
  const isOwn = isOurs && (await hasRoom(tx));
  const paid = isOwn ? outcome : undefined;
  const row: OrderExceptionRow = {
    id: randomUUID(),
    ...(isOwn ? own : shared),
    refundNo: null,
    clientId: '',
    project,
    kind: again.kind,
    detail: jsonable({ ...told, ...(paid ? { tradeNo: paid.channelNo } : {}), notices: 1 }),
    receivedMinor: paid?.amount.minor ?? null,
    receivedCurrency: paid?.amount.currency.slice(0, 3) ?? null,
    blocksRefunds: false,
    state: 'open',
    resolution: null,
    reason: null,
    resolvedBy: null,
    createdAt: ports.now(),
    resolvedAt: null,
  };
  if (await tx.exceptions.insertIfNew(row)) ports.count('order_exception', { kind: row.kind });
  else await countNotice(tx, { ...row, ...again });
}

async function hasRoom(tx: Tx): Promise<boolean> {
  return (await tx.exceptions.count({ kind: 'unmatched_notice', state: 'open' })) < OWN_LINES;
}
