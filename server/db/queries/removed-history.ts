import type { Store } from '../store.ts';

/** Says that rows of a table from before an instant may be missing from now on; it never goes back. */
export async function noteRemoved(store: Store, kind: string, before: Date): Promise<void> {
  await store.autocommit((tx) =>
    tx.prepared(
      `insert into removed_history (kind, before) values ($1, $2)
         on conflict (kind) do update set before = excluded.before where removed_history.before < excluded.before`,
      [kind, before],
    ),
  );
}

/** The SQL value of the instant from which all rows of a table are there. */
export function keptSince(kind: string): string {
  return `coalesce((select h.before from removed_history h where h.kind = '${kind}'), timestamptz '-infinity')`;
}
