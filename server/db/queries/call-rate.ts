import type { Tx } from '../store.ts';
import { arrayText } from '../table.ts';

/**
 * The calls of a lane are a row of `rate_limits`, whichever replica makes them; `expire` is the instant up to which they are booked.
 * The rows are locked in the order of their keys, so that two replicas never wait for each other.
 */
const BOOK = `insert into rate_limits as booked (key, points, expire)
  select 'calls:' || c.lane, 0, cast($1 as bigint) + c.ms
    from unnest(cast($2 as text[]), cast($3 as bigint[])) as c(lane, ms) order by 1
  on conflict (key) do update set expire = greatest(booked.expire, cast($1 as bigint)) + excluded.expire - cast($1 as bigint)
  returning substr(key, 7) as lane, expire`;

/** Books calls of lanes that are made now at so many a second; gives the instants up to which each lane is booked (ms). */
export async function bookCalls(
  tx: Tx,
  perSecond: number,
  now: Date,
  calls: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const lanes = [...calls.keys()];
  const ms = lanes.map((lane) => String(Math.ceil(((calls.get(lane) ?? 0) * 1000) / perSecond)));
  const rows = await tx.prepared<{ lane: string; expire: unknown }>(BOOK, [
    now.getTime(),
    arrayText(lanes),
    arrayText(ms),
  ]);
  return new Map(rows.map(({ lane, expire }) => [lane, Number(expire)]));
}
