import type { Tx } from '../tx.ts';

/** A row that is due is somebody's for this long; afterwards another replica takes it. */
const LEASE_SECONDS = 60;

/** Claims orders whose next question is due, so that no other replica asks too; returns their numbers. */
export async function claimDueOrders(tx: Tx, now: Date, limit: number): Promise<string[]> {
  return claim(tx, 'orders', 'order_no', now, limit);
}

/** Claims refunds whose next step is due; returns their numbers. */
export async function claimDueRefunds(tx: Tx, now: Date, limit: number): Promise<string[]> {
  return claim(tx, 'refunds', 'refund_no', now, limit);
}

/** Claims one order if it is due and nobody has it. */
export async function claimDueOrder(tx: Tx, orderNo: string, now: Date): Promise<boolean> {
  return (await claim(tx, 'orders', 'order_no', now, 1, orderNo)).length === 1;
}

/** Claims one refund if it is due and nobody has it. */
export async function claimDueRefund(tx: Tx, refundNo: string, now: Date): Promise<boolean> {
  return (await claim(tx, 'refunds', 'refund_no', now, 1, refundNo)).length === 1;
}

async function claim(
  tx: Tx,
  table: 'orders' | 'refunds',
  key: 'order_no' | 'refund_no',
  now: Date,
  limit: number,
  only?: string,
): Promise<string[]> {
  const one = only === undefined ? '' : `and ${key} = ?`;
  const rows = await tx.sql<{ number: string }>(
    `update ${table} set leased_until = cast(? as timestamptz) + interval '${LEASE_SECONDS} seconds'
      where ${key} in (
        select ${key} from ${table}
         where next_check_at <= ? and (leased_until is null or leased_until <= ?) ${one}
         order by next_check_at limit ${limit} for update skip locked)
      returning ${key} as number`,
    only === undefined ? [now, now, now] : [now, now, now, only],
  );
  return rows.map(({ number }) => number);
}
