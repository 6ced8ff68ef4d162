import type { OrderRow } from '../../db/entities/orders.ts';
import { callChannel, orderRef } from '../call-channel.ts';
import type { Notification, Outcome } from '../channel.ts';
import { later } from '../core/plan.ts';
import { type Money, exponentOf } from '../../money.ts';
import { type Arrived, type Ports, speaksFor } from '../ports.ts';
import { lockOrder, ownerOf, settleLocked, settling } from '../settle.ts';

/** A query must confirm a payment whose verifying key was trusted less than this many seconds ago. */
const YOUNG_SECONDS = 24 * 3600;

type Paid = Extract<Outcome, { kind: 'paid' }>;

type ConfirmNotification = (arrived: Arrived) => Promise<boolean>;

/**
 * Creates the function that confirms a notification. It queries the channel outside any transaction. If the channel
 * does not confirm the payment, its answer is stored instead of the notification, and a query of the order is
 * scheduled.
 */
export function confirmNotification(ports: Ports): ConfirmNotification {
  return async (arrived) => {
    const { notification } = arrived;
    const { outcome } = notification;
    if (outcome?.kind !== 'paid' || !needsConfirmation(ports, notification, outcome.amount)) return true;
    const order = await pinnedOrder(ports, arrived);
    // A query is not needed: a paid order does not change, and a payment of another order only opens an exception.
    if (!order || order.paid > 0n || (await isAnothers(ports, order, outcome))) return true;
    const answer = await callChannel(ports, order, (channel) => channel.query(orderRef(order)));
    ports.checkpoint('notice.asked');
    if (answer.kind === 'paid' && isSame(answer, outcome)) return true;
    await remember(ports, order.orderNo, answer);
    ports.log('warn', 'a notification of a payment was not confirmed by the channel', {
      orderNo: order.orderNo,
      answer: answer.kind,
      certId: notification.verifiedBy?.certId,
    });
    return false;
  };
}

/**
 * Whether a payment must be confirmed by a query: its amount is above `Channels.ConfirmAbove`, or the key that verified
 * it has been trusted for less than a day.
 */
export function needsConfirmation(
  { confirmAbove, now }: Pick<Ports, 'confirmAbove' | 'now'>,
  { verifiedBy }: Pick<Notification, 'verifiedBy'>,
  { minor, currency }: Money,
): boolean {
  const exponent = exponentOf(currency);
  if (exponent === undefined || minor > BigInt(confirmAbove) * 10n ** BigInt(exponent)) return true;
  const since = verifiedBy?.since ?? null;
  return since !== null && now() < later(since, YOUNG_SECONDS);
}

/** Undefined = the notification changes no order, so the channel is not queried. */
async function pinnedOrder({ store }: Ports, arrived: Arrived): Promise<OrderRow | undefined> {
  const { payWay, notification } = arrived;
  const { orderNo, notificationId, account } = notification;
  if (orderNo === null) return undefined;
  return store.read(async (tx) => {
    const order = await tx.orders.find({ orderNo });
    if (!order || !speaksFor(arrived, order) || (await tx.notifications.find({ payWay, account, notificationId })))
      return undefined;
    return order;
  });
}

async function isAnothers({ store }: Ports, order: OrderRow, { channelNo }: Paid): Promise<boolean> {
  return (await store.read((tx) => ownerOf(tx, order, channelNo))) !== null;
}

function isSame(one: Paid, other: Paid): boolean {
  const { minor, currency } = one.amount;
  return one.channelNo === other.channelNo && minor === other.amount.minor && currency === other.amount.currency;
}

async function remember(ports: Ports, orderNo: string, answer: Outcome): Promise<void> {
  await settling(ports, async (tx) => {
    const order = await lockOrder(tx, orderNo, 'any');
    const via = { cause: 'notice', actor: `channel:${order.payWay}` };
    const settled = answer.kind === 'unknown' ? order : await settleLocked(ports, tx, order, { outcome: answer }, via);
    await settleLocked(ports, tx, settled, { command: 'check_soon' }, via);
  });
}
