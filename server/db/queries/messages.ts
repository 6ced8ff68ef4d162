import type { ChannelMessageRow } from '../entities/orders.ts';
import { digestOf, type MessageTexts, packTexts, readTexts } from '../message-texts.ts';
import type { ReadTx, Tx } from '../store.ts';

/** A message to or from a channel, before it has a number. */
export type NewMessage = Omit<ChannelMessageRow, 'id' | 'times' | 'lastAt' | 'supportId' | 'texts' | 'digest'> &
  Partial<Pick<ChannelMessageRow, 'times' | 'lastAt' | 'supportId'>> &
  MessageTexts;

/** A message that waits to be written; `times` and `lastAt` grow while the same is said again. */
export type Waiting = NewMessage & Pick<ChannelMessageRow, 'times' | 'lastAt' | 'supportId'>;

/** A message as the timeline shows it. */
export type ReadMessage = Omit<ChannelMessageRow, 'texts' | 'digest'> & MessageTexts;

/** Messages of an order that were kept, oldest first. */
export async function listMessages(tx: ReadTx, orderNo: string, limit: number): Promise<ReadMessage[]> {
  const rows = await tx.messages.list({ orderNo }, { orderBy: { id: 'asc' }, limit });
  return rows.map(({ texts, digest: _digest, ...row }) => ({ ...row, ...readTexts(texts) }));
}

/** The call of a row that stands for messages that are not there. */
export const MISSING = 'missing';

/** Calls that ask, or ask for an end again: that they were answered as before is all that is to be known. */
export function isRepeatable({ direction, call }: Pick<NewMessage, 'direction' | 'call'>): boolean {
  return direction === 'out' && /query|close/.test(call);
}

/**
 * Writes messages in one statement. A question that was answered as the last one of its kind about the same order is
 * counted there; a row that another replica is just counting on is left alone, and the message written as it is.
 */
export async function writeMessages(tx: Tx, batch: readonly Waiting[]): Promise<void> {
  const seen = new Set<string>();
  const rows = batch.map(({ request, answer, ...message }, place) => {
    const topic = JSON.stringify([message.orderNo, message.refundNo, message.payWay, message.call]);
    const digest = isRepeatable(message) ? digestOf(answer) : null;
    // Behind another answer of this batch there is nothing to be counted on in the table.
    const asks = digest !== null && !seen.has(topic);
    seen.add(topic);
    return { ...message, place, asks, digest, texts: packTexts({ request, answer })?.toString('base64') ?? null };
  });
  await tx.prepared(
    `with fresh as materialized (
       select * from jsonb_to_recordset(cast($1 as jsonb)) as f
         ("place" int, "asks" boolean, "orderNo" text, "refundNo" text, "payWay" text, "direction" text, "call" text, "status" int,
          "durationMs" int, "supportId" text, "texts" text, "digest" bigint, "note" text, "at" timestamptz, "times" int, "lastAt" timestamptz)),
     last as materialized (
       select f.place, m.id from fresh f
        cross join lateral (
          select c.id, c.status, c.note, c.digest from channel_messages c
           where c.order_no = f."orderNo" and c.refund_no is not distinct from f."refundNo" and c.pay_way = f."payWay"
             and c.direction = f.direction and c.call = f.call
           order by c.id desc limit 1) m
        where f.asks and m.status is not distinct from f.status and m.note is not distinct from f.note
          and m.digest = f.digest),
     held as materialized (
       select id from channel_messages where id in (select id from last) order by id for update skip locked),
     counted as (
       update channel_messages m set times = m.times + f.times, last_at = greatest(m.last_at, coalesce(f."lastAt", f.at)),
             support_id = coalesce(f."supportId", m.support_id)
         from held h join last l on l.id = h.id join fresh f on f.place = l.place
        where m.id = h.id
       returning f.place)
     insert into channel_messages (order_no, refund_no, pay_way, direction, call, status, duration_ms, support_id, texts, digest, note, at, times, last_at)
     select "orderNo", "refundNo", "payWay", direction, call, status, "durationMs", "supportId", decode(texts, 'base64'), digest, note, at, times, "lastAt"
       from fresh where place not in (select place from counted) order by place`,
    [JSON.stringify(rows)],
  );
}
