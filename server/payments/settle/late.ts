import type { OrderRow } from '../../db/entities/orders.ts';
import type { Tx } from '../../db/tx.ts';
import { moveOrder, raiseException, tellOrder } from '../journal.ts';
import type { Ports } from '../ports.ts';
import { openRefund } from '../refund-intent.ts';
import { runEffect } from './effect.ts';
import type { Said, Settling } from './order.ts';

/** O9: money for an order that has ended, or whose close was answered already. The app's policy decides, a sibling overrules it. */
export async function settleLate(
  ports: Ports,
  settling: Settling<Said<'paid'>>,
  paid: Partial<OrderRow>,
): Promise<OrderRow> {
  const { tx, order, outcome, via, now } = settling;
  const accepted = (await isAccepted(tx, order)) && (await isReadmitted(ports, tx, order));
  if (accepted) {
    const late = await moveOrder(tx, order, { ...paid, checks: 0 }, { rule: 'O9', via, outcome, at: now });
    await tellOrder(ports, tx, 'order.paid', late);
    await raiseException(ports, tx, late, 'late_paid', { dedupe: 'once', detail: { accepted: true } });
    await runEffect(ports, tx, late, 'paid', (part) => ports.effects.paid(part, late));
    return late;
  }
  return giveBack(ports, settling, paid);
}

/** The whole amount goes back with a fixed number, in the commit that learns of it; the wire status stays until the refund is done. */
async function giveBack(ports: Ports, settling: Settling<Said<'paid'>>, paid: Partial<OrderRow>): Promise<OrderRow> {
  const { tx, order, outcome, via, now } = settling;
  const ended = order.state === 'failed' ? 'failed' : 'closed';
  const patch: Partial<OrderRow> = { ...paid, state: ended, closedAt: order.closedAt ?? now };
  if (order.state === 'closing') patch.closeReason = order.closeReason ?? 'merchant';
  const late = await moveOrder(tx, order, patch, { rule: 'O9', via, outcome, at: now });
  await tellOrder(ports, tx, 'order.paid_late', late);
  if (order.state === 'closing') {
    await tellOrder(ports, tx, 'order.closed', late);
    await runEffect(ports, tx, late, 'ended', (part) => ports.effects.ended(part, late));
  }
  await raiseException(ports, tx, late, 'late_paid', { dedupe: 'once', detail: { accepted: false } });
  const { order: reserved } = await openRefund(ports, tx, late, {
    refundNo: `R${order.orderNo}L`,
    amount: outcome.amount.minor,
    origin: 'late',
    reason: 'The order had ended before the payment arrived.',
    merchantRefundNo: null,
    actor: 'service',
    cause: 'late',
    dueAt: now,
  });
  return reserved;
}

/** When the stock cannot even be asked, there is none. */
async function isReadmitted(ports: Ports, tx: Tx, order: OrderRow): Promise<boolean> {
  let admitted = false;
  await runEffect(ports, tx, order, 'readmit', async (part) => {
    admitted = await ports.effects.readmit(part, order);
  });
  return admitted;
}

async function isAccepted(tx: Tx, order: OrderRow): Promise<boolean> {
  if (await hasSibling(tx, order)) return false;
  if (order.state === 'failed') return order.latePayment.afterFailed === 'accept';
  const { afterExpiry, afterClose } = order.latePayment;
  return (order.closeReason === 'expired' ? afterExpiry : afterClose) === 'accept';
}

/** Another order of the same merchantOrderNo that is live or paid: the merchant wants one payment only. */
export async function hasSibling(tx: Tx, order: OrderRow): Promise<boolean> {
  if (order.merchantOrderNo === null) return false;
  const siblings = await tx.orders.list({ clientId: order.clientId, merchantOrderNo: order.merchantOrderNo });
  return siblings.some(
    ({ orderNo, state, paid }) =>
      orderNo !== order.orderNo && (state === 'created' || state === 'pending' || state === 'paid' || paid > 0n),
  );
}
