import type { ExecutionContext } from 'ava';
import type { DisputeState, PayWay } from '../../server/payments/channel.ts';
import type { Requester } from '../../server/payments/ports.ts';
import type { Delivery } from '../../server/simulator/notification.ts';
import { ledgerOf } from '../support/merchant-ledger.ts';
import type { Service } from '../support/service.ts';

/** The operator who works disputes, refunds and exceptions. */
export const CLERK: Requester = { owner: 'any', actor: 'admin:clerk' };

/** The expected state of a disputed order once everything is known. */
export interface Standing {
  /** The state of each dispute, the oldest first. */
  states: readonly DisputeState[];
  /** The total refunded, in minor units, and the part that the disputes took. */
  refunded: bigint;
  lost?: bigint;
  /** The open exceptions besides the undecided disputes. */
  listed?: readonly string[];
}

/** Posts a message as the channel does; returns the status. */
export async function tell(url: string, payWay: PayWay, { headers, bodyBase64 }: Delivery): Promise<number> {
  const sent = { method: 'POST', headers, body: Buffer.from(bodyBase64, 'base64') };
  return (await fetch(`${url}/notify/${payWay}/default`, sent)).status;
}

/** Asserts the exact state of an order's disputes, refunds and exceptions. */
export async function assertStands(
  t: ExecutionContext,
  service: Service,
  orderNo: string,
  name: string,
  { states, refunded, lost = 0n, listed = [] }: Standing,
): Promise<void> {
  const { order, disputes, refunds, open } = await service.app.store.read(async (tx) => ({
    order: (await tx.orders.find({ orderNo }))!,
    disputes: await tx.disputes.list({ orderNo }, { orderBy: { openedAt: 'asc', channelDisputeNo: 'asc' } }),
    refunds: await tx.refunds.list({ orderNo }),
    open: await tx.exceptions.list({ orderNo, state: 'open' }),
  }));
  t.deepEqual(
    disputes.map(({ state }) => state),
    states,
    `${name}: states`,
  );
  t.deepEqual([order.state, order.refunded, order.refunding, order.overrun], ['paid', refunded, 0n, 0n], name);
  t.is((await ledgerOf(service)).get(orderNo)?.refunded, Number(refunded), `${name}: the ledger`);
  t.true(order.refunded + order.refunding <= order.paid + order.overrun, `${name}: no more than was paid`);

  const takenBy = disputes.flatMap(({ refundNo, amountLost }) =>
    refundNo !== null && amountLost > 0n ? [refundNo] : [],
  );
  t.is(new Set(takenBy).size, takenBy.length, `${name}: each loss has a refund of its own`);
  const sum = (amounts: readonly bigint[]) => amounts.reduce((all, one) => all + one, 0n);
  t.is(sum(disputes.map(({ amountLost }) => amountLost)), lost, `${name}: lost`);
  const done = refunds.filter(({ state }) => state === 'succeeded');
  const taken = done.filter(({ refundNo }) => takenBy.includes(refundNo));
  t.is(sum(taken.map(({ amount }) => amount)), lost, `${name}: the refunds of what was lost`);
  t.is(sum(done.map(({ amount }) => amount)), refunded, `${name}: a loss and a refund never count the same money`);

  const waiting = states.filter((state) => state !== 'won' && state !== 'lost').map(() => 'dispute');
  t.deepEqual(open.map(({ kind }) => kind).toSorted(), [...waiting, ...listed].toSorted(), `${name}: listed`);
  for (const { disputeNo, changes, state } of disputes) {
    const told = await wordsTold(service, disputeNo);
    const words = told.map(({ type, status }) => `${type} ${status}`).join(', ');
    const isDecided = (status: unknown) => status === 'won' || status === 'lost';
    // A dispute that was over at its first message is reported twice for one change.
    t.is(told.length, changes + (isDecided(told[0]?.status) ? 1 : 0), `${name}: ${words}`);
    t.deepEqual(
      told.filter(({ type }) => type === 'dispute.opened'),
      told.slice(0, 1),
      `${name}: ${words}`,
    );
    t.is(told.at(-1)?.status, state, `${name}: ${words}`);
    for (const [n, one] of told.entries()) {
      if (one.type !== 'dispute.opened')
        t.is(one.type === 'dispute.closed', isDecided(one.status), `${name}: ${words}`);
      if (n > 1 || !isDecided(one.status))
        t.not(one.said, told[n - 1]?.said, `${name}: one event for each move: ${words}`);
    }
  }
}

/** The reported dispute events, in order. */
async function wordsTold(service: Service, disputeNo: string) {
  const order = { orderBy: { sequence: 'asc' } } as const;
  const events = await service.app.store.read((tx) => tx.events.list({ objectNo: disputeNo }, order));
  return events.map(({ type, payload }) => {
    const { status, reason, amountMinor, dueAt } = payload;
    return { type, status, said: JSON.stringify([status, reason, amountMinor, dueAt]) };
  });
}
