// Removal of old rows in several commits, and the instant since which each table is complete.

import { sql } from 'kysely';
import { ORDER_STATUS } from '../entities/orders.ts';
import type { Sql } from '../kysely.ts';
import type { Store, Tx } from '../store.ts';

/** The result of one step of a clean-up. A step cleans up a limited number of rows, called a part. */
export interface PartDone<Place> {
  removed: number;
  /** Where the next part begins; undefined after the last part. */
  next: Place | undefined;
}

/** The number of rows in a part. It is small enough for the statement timeout, also on a slow disk. */
export const PART_ROWS = 2_000;

/**
 * Calls `clean` for part after part until `goesOn` returns false, and returns the number of removed rows. Each part is
 * committed separately, so that a table may have any size and finished parts stay finished.
 */
export async function inParts<Place>(
  clean: (from: Place | undefined) => Promise<PartDone<Place>>,
  goesOn: () => boolean = () => true,
): Promise<number> {
  let sum = 0;
  let from: Place | undefined;
  do {
    const { removed, next } = await clean(from);
    sum += removed;
    from = next;
  } while (from !== undefined && goesOn());
  return sum;
}

/** Removes rows from before an instant, part by part, until `goesOn` returns false; returns their number. */
export type Removal = (store: Store, before: Date, goesOn?: () => boolean) => Promise<number>;

/** The number of deliveries in a part. Each delivery is deleted together with its attempts, up to a dozen. */
const PART_DELIVERIES = 150;

/**
 * Removes old channel messages in the sequence of their ids. Ids grow with time, so the removal ends at the first part
 * without an old row, and no index on time is needed. `from` is the table or a monthly partition.
 */
export const removeMessages = (from = 'channel_messages'): Removal => byNumber(from, sql`coalesce(last_at, at)`);

/** Removes old transitions of orders and refunds. The orders and refunds are kept. */
export const removeTransitions = (from = 'transitions'): Removal => byNumber(from, sql`at`);

/** Removes old events. Their sequence numbers are never used again. */
export const removeEvents = (from = 'events'): Removal => byTime(from, 'created_at');

/**
 * Removes old notifications. A channel repeats a notification for days only, so a row that is months old is not needed.
 */
export const removeNotifications = (from = 'notifications'): Removal => byTime(from, 'received_at');

export const removeDeliveries =
  (from = 'deliveries'): Removal =>
  (store, before, goesOn) =>
    inParts<true>(async () => {
      const table = sql.table(from);
      const [done] = await store.autocommit(
        (tx) => tx.sql<{ removed: number }>`
          with gone as (
            delete from ${table} where ctid = any (array(
              select ctid from ${table} where finished_at < ${before} and state <> 'pending'
               order by finished_at limit ${PART_DELIVERIES} for update skip locked))
            returning id),
          tried as (delete from delivery_attempts where delivery_id in (select id from gone))
          select count(*)::int as removed from gone`,
      );
      const { removed } = done!;
      return { removed, next: removed < PART_DELIVERIES ? undefined : true };
    }, goesOn);

export const removeEffects = byTime('due_effects', 'finished_at', sql`state <> 'due'`);

export const removeRefundLookups = byTime('refund_lookups', 'finished_at', sql`state <> 'open'`);

export const removeLimitUses = byTime('limit_uses', 'begins_at');

/** The column `time` must have an index. */
function byTime(name: string, time: string, condition: Sql = sql`true`): Removal {
  const [table, at] = [sql.table(name), sql.ref(time)];
  return (store, before, goesOn) =>
    inParts<true>(async () => {
      const { length } = await store.autocommit(
        (tx) => tx.sql`delete from ${table} where ctid = any (array(
            select ctid from ${table} where ${at} < ${before} and ${condition} order by ${at} limit ${PART_ROWS}
               for update skip locked))
          returning 1`,
      );
      return { removed: length, next: length < PART_ROWS ? undefined : true };
    }, goesOn);
}

/** Removes old rows of a table whose ids grow with time. No index on `time` is needed. */
function byNumber(table: string, time: Sql): Removal {
  return (store, before, goesOn) =>
    inParts<string>((from) => store.transaction((tx) => removeNumbers(tx, { table, time }, before, from)), goesOn);
}

async function removeNumbers(
  tx: Tx,
  of: { table: string; time: Sql },
  before: Date,
  from = '0',
): Promise<PartDone<string>> {
  const table = sql.table(of.table);
  const [row] = await tx.sql<{ removed: number; lookedAt: number; old: number; last: string | null }>`
    with part as materialized (
       select id, at, ${of.time} as since from ${table} where id > ${from}::bigint order by id limit ${PART_ROWS}),
     old as materialized (
       select id from ${table} where id in (select id from part where since < ${before}) for update skip locked),
     gone as (delete from ${table} where id in (select id from old) returning 1)
    select (select count(*)::int from gone) as removed, count(*)::int as looked_at,
           (count(*) filter (where at < ${before}))::int as old, max(id)::text as last
      from part`;
  if (!row || row.lookedAt === 0) return { removed: 0, next: undefined };
  const isLast = row.lookedAt < PART_ROWS || row.old === 0;
  return { removed: row.removed, next: isLast || row.last === null ? undefined : row.last };
}

/** Records that a table's rows from before an instant may be removed. An earlier instant never replaces a later one. */
export async function noteRemoved(store: Store, kind: string, before: Date): Promise<void> {
  await store.autocommit(
    (tx) => tx.sql`insert into removed_history (kind, before) values (${kind}, ${before})
      on conflict (kind) do update set before = excluded.before where removed_history.before < excluded.before`,
  );
}

/** SQL value: the instant since which retention has removed no rows of a table. */
export function keptSince(kind: string): Sql {
  return sql`coalesce((select h.before from removed_history h where h.kind = ${sql.lit(kind)}), timestamptz '-infinity')`;
}

/** The last Idempotency-Key that was checked; the next part of the clean-up begins after it. */
interface KeyPlace {
  at: string;
  scope: string;
  route: string;
  key: string;
}

const BEFORE_ALL_KEYS: KeyPlace = { at: '-infinity', scope: '', route: '', key: '' };

/** Deletes Idempotency-Keys older than seven days whose order or refund is final; returns their number. */
export function deleteOldKeys(store: Store, now: Date, goesOn?: () => boolean): Promise<number> {
  const before = new Date(now.getTime() - 7 * 86_400_000);
  return inParts<KeyPlace>((from) => store.transaction((tx) => deleteKeys(tx, before, from)), goesOn);
}

/** The next part begins after the last key of this part, so that keys that stay are read only once. */
async function deleteKeys(tx: Tx, before: Date, from: KeyPlace = BEFORE_ALL_KEYS): Promise<PartDone<KeyPlace>> {
  const [row] = await tx.sql<{ removed: number; lookedAt: number } & KeyPlace>`
    with part as materialized (
       select scope, route, key, intent_no, created_at from idempotency_keys
        where created_at < ${before} and created_at >= ${from.at}::timestamptz
          and (created_at, scope, route, key) > (${from.at}::timestamptz, ${from.scope}, ${from.route}, ${from.key})
        order by created_at, scope, route, key limit ${PART_ROWS}),
     final as materialized (
       select k.ctid as place from idempotency_keys k
         join part p on p.scope = k.scope and p.route = k.route and p.key = k.key
        where not exists (select 1 from orders o where o.order_no = p.intent_no and o.state in ('created', 'pending', 'closing'))
          and not exists (select 1 from refunds r where r.refund_no = p.intent_no and r.state in ('pending', 'processing', 'abnormal'))
        for update of k skip locked),
     gone as (delete from idempotency_keys where ctid = any (array(select place from final)) returning 1)
    select (select count(*)::int from gone) as removed, (select count(*)::int from part) as looked_at,
           created_at::text as at, scope, route, key
      from part order by created_at desc, scope desc, route desc, key desc limit 1`;
  if (!row) return { removed: 0, next: undefined };
  const { removed, lookedAt, ...last } = row;
  return { removed, next: lookedAt < PART_ROWS ? undefined : last };
}

interface OrderPlace {
  status: (typeof ENDS)[number];
  at: string;
  orderNo: string;
}

const ENDS = ['closed', 'failed'] as const;
const BEFORE_ALL_ORDERS: OrderPlace = { status: 'closed', at: '-infinity', orderNo: '' };
/** The number of orders in a part. Each order is deleted together with its rows in nine other tables. */
const PART_ORDERS = 100;

/** Removes orders that ended unpaid before an instant and have no open work. The statistics still count them. */
export async function removeUnpaidOrders(store: Store, before: Date, goesOn?: () => boolean): Promise<number> {
  // The removal is recorded first, so that a later bill with one of these order numbers is not reported as unknown.
  await noteRemoved(store, 'orders', before);
  return inParts<OrderPlace>((from) => store.transaction((tx) => removeUnpaid(tx, before, from)), goesOn);
}

async function removeUnpaid(tx: Tx, before: Date, from: OrderPlace = BEFORE_ALL_ORDERS): Promise<PartDone<OrderPlace>> {
  const part = await tx.sql<{ orderNo: string; at: string }>`
    select order_no, created_at::text as at from orders
     where ${sql.raw(ORDER_STATUS)} = ${from.status} and created_at < ${before} and created_at >= ${from.at}::timestamptz
       and (created_at, order_no) > (${from.at}::timestamptz, ${from.orderNo})
     order by created_at, order_no limit ${PART_ORDERS}`;
  const numbers = part.map(({ orderNo }) => orderNo);
  const removed = numbers.length === 0 ? 0 : await removeOrders(tx, before, numbers);
  const last = part.at(-1);
  if (last && part.length === PART_ORDERS) return { removed, next: { status: from.status, ...last } };
  const status = ENDS[ENDS.indexOf(from.status) + 1];
  return { removed, next: status && { ...BEFORE_ALL_ORDERS, status } };
}

async function removeOrders(tx: Tx, before: Date, orderNos: readonly string[]): Promise<number> {
  // The orders are locked first, so that the rows read afterwards cannot change.
  const locked = await tx.sql<{ orderNo: string }>`
    select order_no from orders where order_no = any(${orderNos}) order by order_no for update skip locked`;
  const ended = await tx.sql<{ orderNo: string }>`
     select order_no from orders o
      where order_no = any(${locked.map(({ orderNo }) => orderNo)}) and state in ('closed', 'failed')
        and coalesce(closed_at, created_at) < ${before}
        and paid = 0 and refunded = 0 and refunding = 0 and channel_trade_no is null
        and next_check_at is null and not effects_due and not stock_held
        and not exists (select 1 from refunds r where r.order_no = o.order_no)
        and not exists (select 1 from coin_entries c where c.order_no = o.order_no)
        and not exists (select 1 from refund_lookups q where q.order_no = o.order_no and q.state = 'open')
        and not exists (select 1 from skill_orders s where s.order_no = o.order_no and s.fulfilment <> 'none')
        and not exists (select 1 from order_exceptions e
                         where e.order_no = o.order_no and (e.state = 'open' or e.received_minor is not null))
        and not exists (select 1 from events e join deliveries d on d.event_id = e.id
                         where e.object_no = o.order_no and d.state = 'pending')`;
  if (ended.length === 0) return 0;
  const isOne = sql`any(${ended.map(({ orderNo }) => orderNo)})`;
  const [gone] = await tx.sql<{ orders: number }>`
     with emitted as (delete from events where object_no = ${isOne} returning id),
          sent as (delete from deliveries where event_id in (select id from emitted) returning id),
          tried as (delete from delivery_attempts where delivery_id in (select id from sent)),
          moved as (delete from transitions where order_no = ${isOne}),
          messages as (delete from channel_messages where order_no = ${isOne}),
          listed as (delete from order_exceptions where order_no = ${isOne}),
          done as (delete from due_effects where order_no = ${isOne}),
          asked as (delete from refund_lookups where order_no = ${isOne}),
          offered as (delete from skill_orders where order_no = ${isOne}),
          counted as (
            insert into removed_orders as r (period_at, mode, project, state, client_id, resource, pay_way, currency, count)
            select date_bin('15 minutes', o.created_at, timestamptz '2000-01-01 00:00:00Z'), o.mode, o.project, o.state,
                   case when s.order_no is null then '' else s.client_id end, coalesce(s.resource, ''), o.pay_way, o.currency, count(*)
              from orders o left join skill_orders s on s.order_no = o.order_no
             where o.order_no = ${isOne}
             group by 1, 2, 3, 4, 5, 6, 7, 8 order by 1, 2, 3, 4, 5, 6, 7, 8
            on conflict (period_at, mode, project, state, client_id, resource, pay_way, currency)
              do update set count = r.count + excluded.count),
          gone as (delete from orders where order_no = ${isOne} returning 1)
     select count(*)::int as orders from gone`;
  return gone!.orders;
}
