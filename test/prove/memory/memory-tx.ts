import type { Tx } from '../../../server/db/store.ts';
import { fakeSql } from '../../support/fake-sql.ts';
import { MemoryTable, type Shelf } from './memory-table.ts';
import { type AnyRow, TABLE_NAMES, type TableName } from './tables.ts';

/** Row storage that can be rolled back. */
export interface Shelves {
  of(name: TableName): Shelf;
  /** Saves the current state; the returned function restores it. */
  remember(): () => void;
}

/** A transaction over row storage; the caller rolls it back on failure. */
export function memoryTx(shelves: Shelves): Tx {
  const tables = Object.fromEntries(
    TABLE_NAMES.map((name) => [name, new MemoryTable(name, shelves.of(name), (table) => others[table]!)]),
  ) as Record<TableName, MemoryTable>;
  // No bills are fetched here, so no order has fees.
  const nobody = { list: async () => [], insert: async () => {} };
  const others: Record<string, Pick<MemoryTable, 'list' | 'insert'>> = { ...tables, orderFees: nobody };
  const tx = {
    ...others,
    // No application has limits here.
    apps: { find: async () => undefined },
    sql: fakeSql((text, values) => runSql(tables, text, values)),
    async savepoint<T>(part: (tx: Tx) => Promise<T>): Promise<T> {
      const putBack = shelves.remember();
      try {
        return await part(tx as unknown as Tx);
      } catch (error) {
        putBack();
        throw error;
      }
    },
    advisoryLock: async () => {},
    afterCommit: async () => {},
  };
  return tx as unknown as Tx;
}

/** The only SQL statement of payments: another message about an open exception (db/queries/exceptions.ts). */
async function runSql(
  { exceptions }: Record<TableName, MemoryTable>,
  statement: string,
  parameters: readonly unknown[],
): Promise<AnyRow[]> {
  if (!/^\s*update order_exceptions\s+set detail = detail/.test(statement))
    throw new TypeError(`no such statement in memory: ${statement.slice(0, 80)}`);
  const [detail, orderNo, kind, dedupe] = parameters as string[];
  const where = { orderNo, kind, dedupe };
  const found = await exceptions.list(where);
  exceptions.change(where, (row) => {
    const known = row['detail'] as { notices?: string | number };
    return { detail: { ...known, ...(JSON.parse(detail!) as object), notices: Number(known.notices) + 1 } };
  });
  return found.map(({ id }) => ({ id }));
}
