import type { Store, Tx } from '../store.ts';
import { inParts, type Part, PART_ROWS } from './parts.ts';

/** Removes what is older than a time, part by part; returns how many rows. `goesOn` is asked before each part. */
export type Removal = (store: Store, before: Date, goesOn?: () => boolean) => Promise<number>;

/** Deliveries are tried a dozen times at most. */
const PART_DELIVERIES = 150;

/**
 * Channel messages by their numbers, which grow with their time: no index is needed, and it ends at the first young part. Of a table
 * of months this and the next ones take one part at a time (`from`): places of rows are those of a part.
 */
export const removeMessages = (from = 'channel_messages'): Removal => byNumber(from, 'coalesce(last_at, at)');

/** Histories of orders and refunds, likewise; orders and refunds stay. */
export const removeMoves = (from = 'moves'): Removal => byNumber(from, 'at');

/** What merchants were told; numbers are never given again. */
export const removeEvents = (from = 'events'): Removal => byTime(from, 'created_at');

/** The rows that say which notices were settled; channels repeat a notice for days, and these are kept for months. */
export const removeNotices = (from = 'notices'): Removal => byTime(from, 'received_at');

/** Deliveries that came to an end, with their attempts; the events stay. */
export const removeDeliveries =
  (from = 'deliveries'): Removal =>
  (store, before, goesOn) =>
    inParts<true>(async () => {
      const [done] = await store.autocommit((tx) =>
        tx.prepared<{ n: string }>(
          `with gone as (
           delete from ${from} where ctid = any (array(
             select ctid from ${from} where finished_at < $1 and state <> 'pending'
              order by finished_at limit $2 for update skip locked))
           returning id),
         tried as (delete from delivery_attempts where delivery_id in (select id from gone))
         select count(*) as n from gone`,
          [before, PART_DELIVERIES],
        ),
      );
      const removed = Number(done?.n ?? 0);
      return { removed, next: removed < PART_DELIVERIES ? undefined : true };
    }, goesOn);

/** Effects that are done or given up. */
export const removeEffects = byTime('due_effects', 'finished_at', `state <> 'due'`);

/** Questions about refunds that have their answer or were given up. */
export const removeRefundQuestions = byTime('refund_questions', 'finished_at', `state <> 'open'`);

/** What was counted for limits in spans of time that are long over. */
export const removeLimitUses = byTime('limit_uses', 'begins_at');

/** Rows of a table whose time has an index. */
function byTime(table: string, column: string, condition = 'true'): Removal {
  const text = `delete from ${table} where ctid = any (array(
      select ctid from ${table} where ${column} < $1 and ${condition} order by ${column} limit $2 for update skip locked))
    returning 1`;
  return (store, before, goesOn) =>
    inParts<true>(async () => {
      const { length } = await store.autocommit((tx) => tx.prepared(text, [before, PART_ROWS]));
      return { removed: length, next: length < PART_ROWS ? undefined : true };
    }, goesOn);
}

/** Rows of a table whose numbers grow with their time; `time` says how old one is. */
function byNumber(table: string, time: string): Removal {
  const text = `with part as materialized (
       select id, at, ${time} as since from ${table} where id > $2 order by id limit $3),
     old as materialized (
       select id from ${table} where id in (select id from part where since < $1) for update skip locked),
     gone as (delete from ${table} where id in (select id from old) returning 1)
     select (select count(*) from gone) as removed, count(*) as looked_at, count(*) filter (where at < $1) as old,
            max(id) as last
       from part`;
  return (store, before, goesOn) =>
    inParts<string>((from) => store.transaction((tx) => removeNumbers(tx, text, before, from)), goesOn);
}

async function removeNumbers(tx: Tx, text: string, before: Date, from = '0'): Promise<Part<string>> {
  const [row] = await tx.prepared<{ removed: string; looked_at: string; old: string; last: string }>(text, [
    before,
    from,
    PART_ROWS,
  ]);
  if (!row || Number(row.looked_at) === 0) return { removed: 0, next: undefined };
  const isLast = Number(row.looked_at) < PART_ROWS || Number(row.old) === 0;
  return { removed: Number(row.removed), next: isLast ? undefined : String(row.last) };
}
