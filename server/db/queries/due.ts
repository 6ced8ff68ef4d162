import type { Tx } from '../tx.ts';

/** A row that is due is somebody's for this long; afterwards another replica takes it. */
const LEASE_SECONDS = 60;

/** Claims rows whose next step is due, so that no other replica takes them too; returns their numbers. */
export type ClaimDue = (tx: Tx, now: Date, limit: number) => Promise<string[]>;

/** Claims of orders; without Debug the simulator's orders are frozen. */
export function dueOrders(debug: boolean): ClaimDue {
  return (tx, now, limit) => claim(tx, 'orders', 'order_no', now, limit, debug ? '' : `and mode <> 'simulator'`);
}

/** Claims of refunds; without Debug those of the simulator's orders are frozen. */
export function dueRefunds(debug: boolean): ClaimDue {
  const thawed = `and exists (select 1 from orders o where o.order_no = refunds.order_no and o.mode <> 'simulator')`;
  return (tx, now, limit) => claim(tx, 'refunds', 'refund_no', now, limit, debug ? '' : thawed);
}

/** Claims one order if it is due and nobody has it. */
export async function claimDueOrder(tx: Tx, orderNo: string, now: Date): Promise<boolean> {
  return (await claim(tx, 'orders', 'order_no', now, 1, '', orderNo)).length === 1;
}

/** Claims one refund if it is due and nobody has it. */
export async function claimDueRefund(tx: Tx, refundNo: string, now: Date): Promise<boolean> {
  return (await claim(tx, 'refunds', 'refund_no', now, 1, '', refundNo)).length === 1;
}

async function claim(
  tx: Tx,
  table: 'orders' | 'refunds',
  key: 'order_no' | 'refund_no',
  now: Date,
  limit: number,
  condition: string,
  only?: string,
): Promise<string[]> {
  const one = only === undefined ? '' : `and ${key} = ?`;
  const rows = await tx.sql<{ number: string }>(
    `update ${table} set leased_until = cast(? as timestamptz) + interval '${LEASE_SECONDS} seconds'
      where ${key} in (
        select ${key} from ${table}
         where next_check_at <= ? and (leased_until is null or leased_until <= ?) ${condition} ${one}
         order by next_check_at limit ${limit} for update skip locked)
      returning ${key} as number`,
    only === undefined ? [now, now, now] : [now, now, now, only],
  );
  return rows.map(({ number }) => number);
}
