import type { ExecutionContext } from 'ava';
import { ledgerOf } from '../support/merchant-ledger.ts';
import { stateOf } from '../support/orders.ts';
import type { RacedScene, Shops } from './scenes.ts';
import type { Service } from '../support/service.ts';

/** A close that a merchant requested, and its response. */
export interface Closed {
  on: RacedScene;
  orderNo: string;
  status: number;
  /** The error code of a refusal. */
  code?: string;
  /** The status of the order, or the code of a refusal. */
  answer: string;
}

/** Closes an order as its merchant. */
export async function closeIn({ shopOf }: Shops, on: RacedScene, orderNo: string): Promise<Closed> {
  const { status, body } = await shopOf(on).call('POST', `/api/v2/payment/close/${orderNo}`);
  return { on, orderNo, status, code: body.code, answer: body.data?.status ?? body.code };
}

/**
 * Asserts that a close response agrees with the money. Refused as paid: the order is paid and reported as paid once. Otherwise no
 * money stays: closed and never paid; or paid and refunded, by the service if the response was `closing`, by the channel's own
 * cancel of a payer's code if it was `refunded`.
 */
export async function agreesWithLedger(t: ExecutionContext, service: Service, close: Closed): Promise<void> {
  const { on, orderNo, status, code, answer } = close;
  const about = `${on.title} ${orderNo}: the close was answered ${answer}`;
  const state = await stateOf(service, orderNo);
  const { paid = 0, refunded = 0 } = (await ledgerOf(service)).get(orderNo) ?? {};
  const { refunds, told } = await service.app.store.read(async (tx) => ({
    refunds: (await tx.refunds.list({ orderNo })).map(({ state: ended, origin, elsewhere, amount }) => ({
      ended,
      origin,
      elsewhere,
      amount: Number(amount),
    })),
    told: (await tx.events.list({ objectNo: orderNo, type: ['order.paid', 'order.closed'] })).map(({ type }) => type),
  }));
  if (code !== undefined) {
    t.deepEqual([status, code, state], [409, 'order_already_paid', 'paid'], about);
    t.deepEqual([paid, refunded, refunds, told], [1000, 0, [], ['order.paid']], about);
    return;
  }
  t.is(status, 200, about);
  const isLate = answer === 'closing' && paid > 0;
  const isCancelled = answer === 'refunded';
  if (isCancelled) t.is(on.scene, 'code', about);
  const origin = isLate ? 'late' : 'channel';
  const gone = { ended: 'succeeded', origin, elsewhere: isCancelled, amount: 1000 };
  const back = isLate || isCancelled ? 1000 : 0;
  t.deepEqual([paid, refunded, refunds], [back, back, back > 0 ? [gone] : []], about);
  // Only a cancel can refund a payment that was reported as paid meanwhile; then both events were sent.
  if (isCancelled && state === 'paid') t.deepEqual(told, ['order.paid'], about);
  else t.deepEqual([state, told], ['closed', ['order.closed']], about);
}
