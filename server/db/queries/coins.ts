import type { CoinAccountRow, CoinEntryRow } from '../entities/catalog.ts';
import type { ReadTx, Tx } from '../store.ts';

/** A line of a coin ledger before it has its number. */
export type NewEntry = Omit<CoinEntryRow, 'id'>;

/** Appends a line and gives its number; a source that happened before breaks the transaction. */
export async function appendEntry(tx: Tx, entry: NewEntry): Promise<bigint> {
  const [row] = await tx.sql<{ id: string | number }>(
    `insert into coin_entries
       (project, coin, user_id, delta, balance_after, kind, source, order_no, biz_no, memo, actor, created_at)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`,
    [
      entry.project,
      entry.coin,
      entry.userId,
      entry.delta,
      entry.balanceAfter,
      entry.kind,
      entry.source,
      entry.orderNo,
      entry.bizNo,
      entry.memo,
      entry.actor,
      entry.createdAt,
    ],
  );
  if (!row) throw new Error('an entry was not written');
  return BigInt(row.id);
}

/** Which lines of a ledger are wanted, the newest first; one more than `limit` is read. */
export interface EntryPart {
  project: string;
  coin: string;
  userId?: string | undefined;
  before?: string | undefined;
  limit: number;
}

/** Lines of a coin's ledger, the newest first. */
export async function listEntries(tx: ReadTx, part: EntryPart): Promise<CoinEntryRow[]> {
  const { project, coin, userId, before, limit } = part;
  const more = `${userId === undefined ? '' : 'and user_id = ? '}${before === undefined ? '' : 'and id < ?::bigint '}`;
  const given = [userId, before].filter((value) => value !== undefined);
  const ids = await tx.sql<{ id: string | number }>(
    `select id from coin_entries where project = ? and coin = ? ${more}order by id desc limit ${limit + 1}`,
    [project, coin, ...given],
  );
  if (ids.length === 0) return [];
  return tx.coinEntries.list({ id: ids.map(({ id }) => BigInt(id)) }, { orderBy: { id: 'desc' } });
}

/** Which accounts of a coin are wanted, the newest first; one more than `limit` is read. */
export interface AccountPart {
  project: string;
  coin: string;
  after?: { createdAt: Date; id: string } | undefined;
  limit: number;
}

/** Accounts of a coin, the newest first. */
export async function listAccounts(
  tx: ReadTx,
  { project, coin, after, limit }: AccountPart,
): Promise<CoinAccountRow[]> {
  const behind = after ? 'and (created_at, id) < (?::timestamptz, ?::uuid) ' : '';
  const ids = await tx.sql<{ id: string }>(
    `select id from coin_accounts where project = ? and coin = ? ${behind}order by created_at desc, id desc limit ${limit + 1}`,
    [project, coin, ...(after ? [after.createdAt, after.id] : [])],
  );
  if (ids.length === 0) return [];
  return tx.coinAccounts.list({ id: ids.map(({ id }) => id) }, { orderBy: { createdAt: 'desc', id: 'desc' } });
}

/** Accounts whose balance is not the sum of their entries; empty when the books are right. */
export function unbalancedAccounts(tx: ReadTx): Promise<{ project: string; coin: string; userId: string }[]> {
  return tx.sql(
    `select coalesce(a.project, e.project) as project, coalesce(a.coin, e.coin) as coin,
            coalesce(a.user_id, e.user_id) as "userId"
       from coin_accounts a
       full join (select project, coin, user_id, sum(delta) as total from coin_entries group by 1, 2, 3) e
         on e.project = a.project and e.coin = a.coin and e.user_id = a.user_id
      where coalesce(a.balance, 0) <> coalesce(e.total, 0)`,
  );
}
