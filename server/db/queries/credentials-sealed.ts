import type { ReadTx, Tx } from '../store.ts';

interface SealedColumn {
  table: string;
  key: string;
  column: string;
  /** The column and version that are sealed into the text, where they are not its own column and 1. */
  as?: string;
  version?: string;
}

/** Every column that holds sealed texts. */
const SEALED: readonly SealedColumn[] = [
  { table: 'channel_configs', key: 'id', column: 'sealed', version: 'version' },
  { table: 'certs', key: 'id', column: 'sealed' },
  { table: 'webhooks', key: 'client_id', column: 'sealed_secret', as: 'secret' },
  { table: 'webhooks', key: 'client_id', column: 'previous_sealed_secret', as: 'secret' },
  { table: 'signing_keys', key: 'kid', column: 'sealed' },
  { table: 'agent_pays', key: 'project', column: 'sealed' },
  { table: 'audit_keys', key: 'key_id', column: 'sealed' },
  { table: 'second_factors', key: 'admin_id', column: 'sealed' },
  { table: 'second_factors', key: 'admin_id', column: 'pending_sealed' },
];

/** One sealed text and where it stands. */
export interface SealedText {
  table: string;
  column: string;
  id: string;
  sealed: string;
  /** The place that was sealed into it. */
  place: { table: string; id: string; column: string; version: number };
}

/** Every sealed text of the database; the tables take no writes until the transaction ends. */
export async function holdSealedTexts(tx: Tx): Promise<SealedText[]> {
  const tables = [...new Set(SEALED.map(({ table }) => table))].toSorted();
  await tx.sql(`lock table ${tables.join(', ')} in share row exclusive mode`);
  return listSealedTexts(tx);
}

/** Every sealed text of the database as it is now; nothing is held. */
export async function listSealedTexts(tx: ReadTx): Promise<SealedText[]> {
  const texts: SealedText[] = [];
  for (const { table, key, column, as = column, version: versioned = '1' } of SEALED) {
    const rows = await tx.sql<{ id: string; sealed: string; version: number }>(
      `select ${key}::text as id, ${column} as sealed, ${versioned} as version from ${table} where ${column} is not null order by ${key}`,
    );
    for (const { id, sealed, version } of rows)
      texts.push({ table, column, id, sealed, place: { table, id, column: as, version } });
  }
  return texts;
}

/** Puts another text in the place of a sealed one. */
export async function replaceSealedText(tx: Tx, { table, column, id }: SealedText, sealed: string): Promise<void> {
  const place = SEALED.find((one) => one.table === table && one.column === column);
  if (!place) throw new TypeError(`${table}.${column} holds nothing sealed`);
  await tx.sql(`update ${place.table} set ${place.column} = ? where ${place.key}::text = ?`, [sealed, id]);
}
