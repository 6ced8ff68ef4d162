import { ORDER_STATUS } from '../entities/orders.ts';
import type { Store, Tx } from '../store.ts';
import { inParts, type Part } from './parts.ts';
import { noteRemoved } from './removed-history.ts';

/** The last order that a part looked at. */
interface Place {
  status: (typeof ENDS)[number];
  at: string;
  orderNo: string;
}

const ENDS = ['closed', 'failed'] as const;
const BEGINNING: Place = { status: 'closed', at: '-infinity', orderNo: '' };
/** With each of them go some rows of ten tables. */
const PART_ORDERS = 100;

/**
 * Removes orders that ended unpaid before a time, each with everything that hangs on it, and keeps their number for the
 * statistics. An order that ever saw money, or that somebody has still something to do about, stays.
 */
export async function removeUnpaidOrders(store: Store, before: Date, goesOn?: () => boolean): Promise<number> {
  // A bill that names one of them later is about an order that was here.
  await noteRemoved(store, 'orders', before);
  return inParts<Place>((from) => store.transaction((tx) => removePart(tx, before, from)), goesOn);
}

async function removePart(tx: Tx, before: Date, from: Place = BEGINNING): Promise<Part<Place>> {
  const part = await tx.prepared<{ order_no: string; at: string }>(
    `select order_no, cast(created_at as text) as at from orders
      where ${ORDER_STATUS} = $1 and created_at < $2 and created_at >= cast($3 as timestamptz)
        and (created_at, order_no) > (cast($3 as timestamptz), $4)
      order by created_at, order_no limit $5`,
    [from.status, before, from.at, from.orderNo, PART_ORDERS],
  );
  const removed =
    part.length === 0
      ? 0
      : await removeOrders(
          tx,
          before,
          part.map((row) => row.order_no),
        );
  const last = part.at(-1);
  if (last && part.length === PART_ORDERS)
    return { removed, next: { status: from.status, at: last.at, orderNo: last.order_no } };
  const status = ENDS[ENDS.indexOf(from.status) + 1];
  return { removed, next: status && { ...BEGINNING, status } };
}

async function removeOrders(tx: Tx, before: Date, orderNos: readonly string[]): Promise<number> {
  // The locks come first: what is read after them can no longer change.
  const locked = await tx.prepared<{ order_no: string }>(
    `select order_no from orders where order_no = any ($1) order by order_no for update skip locked`,
    [orderNos],
  );
  const ended = await tx.prepared<{ order_no: string }>(
    `select order_no from orders o
      where order_no = any ($1) and state in ('closed', 'failed') and coalesce(closed_at, created_at) < $2
        and paid = 0 and refunded = 0 and refunding = 0 and channel_trade_no is null
        and next_check_at is null and not effects_due and not stock_held
        and not exists (select 1 from refunds r where r.order_no = o.order_no)
        and not exists (select 1 from coin_entries c where c.order_no = o.order_no)
        and not exists (select 1 from refund_questions q where q.order_no = o.order_no and q.state = 'open')
        and not exists (select 1 from skill_orders s where s.order_no = o.order_no and s.fulfilment <> 'none')
        and not exists (select 1 from order_exceptions e
                         where e.order_no = o.order_no and (e.state = 'open' or e.received_minor is not null))
        and not exists (select 1 from events e join deliveries d on d.event_id = e.id
                         where e.object_no = o.order_no and d.state = 'pending')`,
    [locked.map((row) => row.order_no), before],
  );
  if (ended.length === 0) return 0;
  const [gone] = await tx.prepared<{ n: string }>(
    `with told as (delete from events where object_no = any ($1) returning id),
          sent as (delete from deliveries where event_id in (select id from told) returning id),
          tried as (delete from delivery_attempts where delivery_id in (select id from sent)),
          moved as (delete from moves where order_no = any ($1)),
          heard as (delete from channel_messages where order_no = any ($1)),
          listed as (delete from order_exceptions where order_no = any ($1)),
          done as (delete from due_effects where order_no = any ($1)),
          asked as (delete from refund_questions where order_no = any ($1)),
          offered as (delete from skill_orders where order_no = any ($1)),
          counted as (
            insert into removed_orders as r (period_at, mode, project, state, client_id, resource, pay_way, currency, count)
            select date_bin('15 minutes', o.created_at, timestamptz '2000-01-01 00:00:00Z'), o.mode, o.project, o.state,
                   case when s.order_no is null then '' else s.client_id end, coalesce(s.resource, ''), o.pay_way, o.currency, count(*)
              from orders o left join skill_orders s on s.order_no = o.order_no
             where o.order_no = any ($1)
             group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8
            on conflict (period_at, mode, project, state, client_id, resource, pay_way, currency)
              do update set count = r.count + excluded.count),
          gone as (delete from orders where order_no = any ($1) returning 1)
     select count(*) as n from gone`,
    [ended.map((row) => row.order_no)],
  );
  return Number(gone?.n ?? 0);
}
