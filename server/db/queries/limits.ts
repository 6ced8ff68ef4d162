import type { LimitUseRow } from '../entities/identity.ts';
import type { Tx } from '../store.ts';

/** What limits are counted by: orders of an hour, their amounts of a day and of a month, refunds of a day. */
export type UseSpan = LimitUseRow['span'];

/** What is used in a span. */
export type Use = Pick<LimitUseRow, 'span' | 'beginsAt' | 'used'>;

type Whose = Pick<LimitUseRow, 'clientId' | 'currency'>;

/**
 * Adds to what is used and gives what it is then; the rows stay locked until the transaction ends, so nobody counts past
 * another. Every caller names the spans in the order of their names.
 */
export async function countUses(tx: Tx, { clientId, currency }: Whose, uses: readonly Use[]): Promise<Use[]> {
  const rows = await tx.prepared<{ span: UseSpan; used: string | number | bigint }>(
    `insert into limit_uses as held (client_id, currency, span, begins_at, used)
     values ${uses.map(() => '(?, ?, ?, ?::timestamptz, ?::bigint)').join(', ')}
     on conflict (client_id, currency, span, begins_at) do update set used = held.used + excluded.used
     returning span, used`,
    uses.flatMap(({ span, beginsAt, used }) => [clientId, currency, span, beginsAt, String(used)]),
  );
  return uses.map(({ span, beginsAt }) => ({
    span,
    beginsAt,
    used: BigInt(rows.find((row) => row.span === span)?.used ?? 0),
  }));
}

/** Changes what was used by spans that are still kept; locks in the same order as `countUses`. */
export async function shiftUses(tx: Tx, { clientId, currency }: Whose, uses: readonly Use[]): Promise<void> {
  const spans = uses.map(() => '(?::varchar, ?::timestamptz, ?::bigint)').join(', ');
  await tx.prepared(
    `with part as materialized (
       select u.span, u.begins_at, v.by
         from limit_uses u join (values ${spans}) v (span, begins_at, by) on v.span = u.span and v.begins_at = u.begins_at
        where u.client_id = ? and u.currency = ? order by u.span for update of u)
     update limit_uses u set used = u.used + part.by from part
      where u.client_id = ? and u.currency = ? and u.span = part.span and u.begins_at = part.begins_at`,
    [
      ...uses.flatMap(({ span, beginsAt, used }) => [span, beginsAt, String(used)]),
      clientId,
      currency,
      clientId,
      currency,
    ],
  );
}
