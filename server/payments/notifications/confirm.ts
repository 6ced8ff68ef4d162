import type { OrderRow } from '../../db/entities/orders.ts';
import { ask, orderRef } from '../ask.ts';
import type { Notice, Outcome } from '../channel.ts';
import { later } from '../core/plan.ts';
import { type Money, exponentOf } from '../../money.ts';
import { type Arrived, type Ports, speaksFor } from '../ports.ts';
import { lockOrder, ownerOf, settleLocked, settling } from '../settle.ts';

/** A key that was trusted less long ago than this vouches for no payment alone. */
const YOUNG_SECONDS = 24 * 3600;

type Paid = Extract<Outcome, { kind: 'paid' }>;

/** Whether a notice may be settled: one that says too much, or whose key is too young, only when the channel says the same. */
type ConfirmNotice = (arrived: Arrived) => Promise<boolean>;

/**
 * The operation over its ports: asks outside any transaction. What the channel does not confirm is not settled; what it says
 * instead is, and the order is due for a check, as after silence.
 */
export function confirmNotice(ports: Ports): ConfirmNotice {
  return async (arrived) => {
    const { notice } = arrived;
    const { outcome } = notice;
    if (outcome?.kind !== 'paid' || !needsConfirmation(ports, notice, outcome.amount)) return true;
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
  { verifiedBy }: Pick<Notice, 'verifiedBy'>,
  { minor, currency }: Money,
): boolean {
  const exponent = exponentOf(currency);
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
