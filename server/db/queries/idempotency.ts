import type { Store, Tx } from '../store.ts';
import { inParts, type Part, PART_ROWS } from './parts.ts';

/** The last key that a part looked at. */
interface Place {
  at: string;
  scope: string;
  route: string;
  key: string;
}

const BEGINNING: Place = { at: '-infinity', scope: '', route: '', key: '' };

/** Forgets idempotency keys of more than seven days whose intent is final; returns how many. */
export function deleteOldKeys(store: Store, now: Date, goesOn?: () => boolean): Promise<number> {
  const before = new Date(now.getTime() - 7 * 86_400_000);
  return inParts<Place>((from) => store.transaction((tx) => deletePart(tx, before, from)), goesOn);
}

/** Each part begins behind the last one, so keys that have to stay are looked at once. */
async function deletePart(tx: Tx, before: Date, from: Place = BEGINNING): Promise<Part<Place>> {
  const [row] = await tx.prepared<{ removed: string; looked_at: string } & Place>(
    `with part as materialized (
       select scope, route, key, intent_no, created_at from idempotency_keys
        where created_at < $1 and created_at >= cast($2 as timestamptz)
          and (created_at, scope, route, key) > (cast($2 as timestamptz), $3, $4, $5)
        order by created_at, scope, route, key limit $6),
     final as materialized (
       select k.ctid as place from idempotency_keys k
         join part p on p.scope = k.scope and p.route = k.route and p.key = k.key
        where not exists (select 1 from orders o where o.order_no = p.intent_no and o.state in ('created', 'pending', 'closing'))
          and not exists (select 1 from refunds r where r.refund_no = p.intent_no and r.state in ('pending', 'processing', 'abnormal'))
        for update of k skip locked),
     gone as (delete from idempotency_keys where ctid = any (array(select place from final)) returning 1)
     select (select count(*) from gone) as removed, (select count(*) from part) as looked_at,
            cast(created_at as text) as at, scope, route, key
       from part order by created_at desc, scope desc, route desc, key desc limit 1`,
    [before, from.at, from.scope, from.route, from.key, PART_ROWS],
  );
  if (!row) return { removed: 0, next: undefined };
  const { at, scope, route, key } = row;
  return {
    removed: Number(row.removed),
    next: Number(row.looked_at) < PART_ROWS ? undefined : { at, scope, route, key },
  };
}
