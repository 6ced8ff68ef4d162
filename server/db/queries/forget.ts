import { sql } from 'kysely';
import type { ReadTx, Store, Tx } from '../store.ts';
import { inParts } from './retention.ts';

/** A payer whose data must be erased in all orders and coin entries that were created up to `since`. */
export interface Forgotten {
  project: string;
  userId: string;
  since: Date;
}

interface Walk {
  /** Number of orders that could not be erased, because they are open or locked. A later pass must erase them. */
  left: number;
  /** Whether the erasure reached the last order; false if it was stopped early. */
  isWhole: boolean;
}

interface OrderPlace {
  at: string;
  orderNo: string;
}

const PART_ORDERS = 100;
const PART_ENTRIES = 500;

/** JSON fields with personal data or free text of the channel, in stored transition results and exception details. */
const OUTCOME_WORDS = sql`array['payer', 'pay', 'reason', 'detail', 'message']`;
/** Columns that are set to null. `subject` is not among them, because it cannot be null and is set to an empty text. */
const ORDER_WORDS = [
  'extra',
  'payer',
  'client_ip',
  'open_id',
  'credential',
  'return_url',
  'failure_message',
  'pay_code',
  'channel_options',
].map((column) => sql.ref(column));
/** JSON fields that may contain data about the payer, in the object of an event or in a stored response. */
const PERSONAL_MEMBERS = ['subject', 'extra', 'payer', 'failure', 'reason', 'memo', 'payment'];

/** The payers whose data must be erased now, longest overdue first. */
export async function duePayers(tx: ReadTx, now: Date, limit: number): Promise<Forgotten[]> {
  const rows = await tx.users.rows().where('forgetAt', '<=', now).orderBy('forgetAt').limit(limit).execute();
  return rows.flatMap(({ project, userId, forgetSince: since }) => (since ? [{ project, userId, since }] : []));
}

/** Erases a payer's personal data in several commits. Amounts, order and refund numbers, and states are kept. */
export async function forgetPayer(store: Store, payer: Forgotten, goesOn?: () => boolean): Promise<Walk> {
  let isWhole = false;
  const coins = await inParts<string>(async (from) => {
    const next = await store.transaction((tx) => forgetEntries(tx, payer, from));
    return { removed: next === undefined ? 1 : 0, next };
  }, goesOn);
  if (coins === 0) return { left: 0, isWhole };
  const left = await inParts<OrderPlace>(async (from) => {
    const part = await store.transaction((tx) => forgetOrders(tx, payer, from));
    isWhole = part.next === undefined;
    return { removed: part.left, next: part.next };
  }, goesOn);
  return { left, isWhole };
}

async function forgetOrders(
  tx: Tx,
  { project, userId, since }: Forgotten,
  from: OrderPlace = { at: '-infinity', orderNo: '' },
): Promise<{ left: number; next: OrderPlace | undefined }> {
  const part = await tx.sql<OrderPlace>`
    select order_no, created_at::text as at from orders
     where user_id = ${userId} and project = ${project} and created_at <= ${since} and created_at >= ${from.at}::timestamptz
       and (created_at, order_no) > (${from.at}::timestamptz, ${from.orderNo})
     order by created_at, order_no limit ${PART_ORDERS}`;
  const last = part.at(-1);
  if (!last) return { left: 0, next: undefined };
  // The orders are locked first, so that the rows read afterwards cannot change.
  const locked = await tx.sql<{ orderNo: string }>`
    select order_no from orders where order_no = any(${part.map(({ orderNo }) => orderNo)})
     order by order_no for update skip locked`;
  const ended = await tx.sql<{ orderNo: string }>`
    select order_no from orders o
     where order_no = any(${locked.map(({ orderNo }) => orderNo)}) and state in ('paid', 'closed', 'failed') and not effects_due
       and not exists (select 1 from refunds r where r.order_no = o.order_no and r.state in ('pending', 'processing'))`;
  await eraseOrders(
    tx,
    ended.map(({ orderNo }) => orderNo),
  );
  return { left: part.length - ended.length, next: part.length < PART_ORDERS ? undefined : last };
}

/** Erases the payer's data in locked orders. Rows without such data are not written. */
async function eraseOrders(tx: Tx, orderNos: readonly string[]): Promise<void> {
  if (orderNos.length === 0) return;
  const refunds = await tx.refunds.list({ orderNo: orderNos });
  const numbers = [...orderNos, ...refunds.map(({ refundNo }) => refundNo)];
  const isOne = sql`any(${orderNos})`;
  await tx.sql`
     with o as (
       update orders set subject = '', ${sql.join(ORDER_WORDS.map((column) => sql`${column} = null`))}
        where order_no = ${isOne} and (subject <> '' or num_nonnulls(${sql.join(ORDER_WORDS)}) > 0)),
     r as (
       update refunds set reason = null, failure_message = null
        where order_no = ${isOne} and coalesce(reason, failure_message) is not null),
     a as (
       update approvals set reason = null, decision = null
        where coalesce(reason, decision) is not null and refund_no in (
          select refund_no from refunds where order_no = ${isOne}
          union all select dispute_no from disputes where order_no = ${isOne}
          union all select cast(id as text) from order_exceptions where order_no = ${isOne})),
     m as (
       update transitions set outcome = outcome - ${OUTCOME_WORDS} where order_no = ${isOne} and jsonb_exists_any(outcome, ${OUTCOME_WORDS})),
     x as (
       update order_exceptions set reason = null, detail = (detail - ${OUTCOME_WORDS})
              || case when jsonb_typeof(detail -> 'said') = 'object' then jsonb_build_object('said', (detail -> 'said') - ${OUTCOME_WORDS})
                      else '{}' end
        where order_no = ${isOne} and (reason is not null or detail is not null)),
     l as (
       select bill_no, reading, line, day from bill_lines where order_no = ${isOne} and raw <> '' order by bill_no, reading, line for update),
     b as (
       update bill_lines b set raw = '' from l
        where b.bill_no = l.bill_no and b.reading = l.reading and b.line = l.line and b.day = l.day),
     d as (update due_effects set last_error = null where order_no = ${isOne} and last_error is not null)
     update channel_messages set texts = null
      where order_no = ${isOne} and texts is not null`;
  await eraseEvents(tx, numbers, numbers);
}

/** Erases the payer's data in coin entries, and the inputs of pay-per-call orders that were paid with these entries. */
async function forgetEntries(tx: Tx, { project, userId, since }: Forgotten, from = '0'): Promise<string | undefined> {
  const rows = await tx.sql<{ id: string }>`
    select e.id::text as id from (select distinct coin from coin_accounts where project = ${project} and user_id = ${userId}) a
     cross join lateral (
       select id from coin_entries c
        where c.project = ${project} and c.coin = a.coin and c.user_id = ${userId} and c.id > ${from}::bigint and c.created_at <= ${since}
        order by c.id limit ${PART_ENTRIES}) e
     order by e.id limit ${PART_ENTRIES}`;
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) {
    await tx.sql`update coin_entries set memo = null where id = any(${ids}::bigint[]) and memo is not null`;
    // The input may contain personal data. The delivered content is kept, because the payer may request it again.
    await tx.sql`
      update coin_calls set input = null, subject = ''
       where order_no in (select order_no from coin_entries where id = any(${ids}::bigint[]) and source like 'skillpay:%')
         and fulfilment in ('done', 'failed') and (input is not null or subject <> '')`;
    await eraseEvents(
      tx,
      ids.map((id) => `coin_${id}`),
      ids,
    );
  }
  return ids.length < PART_ENTRIES ? undefined : ids.at(-1);
}

/**
 * Erases personal data in events and in the responses stored under Idempotency-Keys. The keys themselves are kept,
 * because they prevent a second payment.
 */
async function eraseEvents(tx: Tx, objects: readonly string[], intents: readonly string[]): Promise<void> {
  await tx.sql`
    update events e set payload = payload || c.clean
      from (select sequence, jsonb_object_agg(k, case k when 'subject' then '""'::jsonb else 'null'::jsonb end) as clean
              from events, jsonb_object_keys(payload) k
             where object_no = any(${objects}) and k = any(${PERSONAL_MEMBERS}) and payload -> k not in ('null', '""')
             group by sequence) c
     where e.sequence = c.sequence`;
  const keys = await tx.keys.list({ intentNo: intents });
  for (const { scope, route, key, body } of keys) {
    if (body === null) continue;
    const clean = JSON.stringify(JSON.parse(body), (name, value: unknown) =>
      PERSONAL_MEMBERS.includes(name) ? erased(name) : value,
    );
    if (clean !== body) await tx.keys.update({ scope, route, key }, { body: clean });
  }
}

/** The value that replaces an erased field, as the response schema allows; undefined = the field is omitted. */
function erased(name: string): string | null | undefined {
  if (name === 'payment') return undefined;
  return name === 'subject' ? '' : null;
}
