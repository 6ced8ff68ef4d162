import { randomUUID } from 'node:crypto';
import type { CoinAccountRow, CoinEntryRow, CoinRow, PayerRow, ProductRow, ProjectRow } from '../entities/catalog.ts';
import type { ReadTx, Tx } from '../store.ts';
import type { Statement } from './orders.ts';
import { type Projects, ofProjects } from './reach.ts';

/** Whether a project sells, and how a payer stands in it. */
interface Admission {
  enabled: boolean;
  status: 'active' | 'blocked';
}

/**
 * Reads project and payer, and writes the payer's row at first sight, in one statement.
 * Undefined when there is no such project. A payer that another transaction makes at the same moment is a new one: active.
 */
export async function admission(
  tx: Tx,
  project: string,
  userId: string | null,
  at: Date,
): Promise<Admission | undefined> {
  const [row] =
    userId === null
      ? await tx.prepared<Admission>(`select enabled, 'active' as status from projects where code = ?`, [project])
      : await tx.prepared<Admission>(
          `with project as (select code, enabled from projects where code = ?),
                payer as (select u.status from users u where u.project = ? and u.user_id = ?),
                fresh as (insert into users (id, project, user_id, status, created_at, updated_at)
                          select ?::uuid, code, ?, 'active', ?::timestamptz, ?::timestamptz from project
                           where enabled and not exists (select 1 from payer)
                          on conflict (project, user_id) do nothing)
           select enabled, coalesce((select status from payer), 'active') as status from project`,
          [project, project, userId, randomUUID(), userId, at, at],
        );
  return row;
}

/** Takes one piece of a product whose version is known; false when it is sold out or was changed meanwhile. */
export async function takeStock(
  tx: Tx,
  { project, code, version }: Pick<ProductRow, 'project' | 'code' | 'version'>,
): Promise<boolean> {
  const rows = await tx.sql(
    `update products set stock = stock - 1 where project = ? and code = ? and version = ? and stock > 0 returning stock`,
    [project, code, version],
  );
  return rows.length === 1;
}

/** Takes the piece of an order for late money again and notes that it is held: taken, not counted (no limit), or gone. */
export async function retakeStock(tx: Tx, orderNo: string): Promise<'taken' | 'uncounted' | 'gone'> {
  const [row] = await tx.sql<{ stock: number | null }>(
    `with piece as (
       update products p set stock = p.stock - 1 from orders o
        where o.order_no = ? and p.project = o.project and p.code = o.product_code and (p.stock is null or p.stock > 0)
       returning p.stock),
     held as (
       update orders set stock_held = true
        where order_no = ? and exists (select 1 from piece where piece.stock is not null))
     select stock from piece`,
    [orderNo, orderNo],
  );
  if (!row) return 'gone';
  return row.stock === null ? 'uncounted' : 'taken';
}

/** Gives the piece of an order that has ended back, once; a product that is no longer counted stays so. */
export async function releaseStock(tx: Tx, orderNo: string): Promise<void> {
  await tx.sql(
    `with held as (update orders set stock_held = false
                     where order_no = ? and stock_held and state in ('closed', 'failed') returning project, product_code)
     update products p set stock = p.stock + 1 from held h
      where p.project = h.project and p.code = h.product_code and p.stock is not null`,
    [orderNo],
  );
}

/** How many orders of a payer hold or have a product: all but the ended ones. */
export async function countPurchases(tx: ReadTx, project: string, code: string, userId: string): Promise<number> {
  const [row] = await tx.sql<{ count: string | number }>(
    `select count(*) as count from orders
      where project = ? and product_code = ? and user_id = ? and product_code is not null
        and state not in ('closed', 'failed')`,
    [project, code, userId],
  );
  return Number(row?.count ?? 0);
}

/** Whether any order was ever made of a product. */
export async function productHasOrders(tx: ReadTx, project: string, code: string): Promise<boolean> {
  const rows = await tx.sql(
    `select 1 from orders where project = ? and product_code = ? and product_code is not null limit 1`,
    [project, code],
  );
  return rows.length > 0;
}

/** The first product that grants a coin. */
export async function productOfCoin(tx: ReadTx, project: string, coin: string): Promise<string | undefined> {
  const [row] = await tx.sql<{ code: string }>(
    `select code from products where project = ? and (coin ->> 'code' = ? or coin_price ->> 'code' = ?) limit 1`,
    [project, coin, coin],
  );
  return row?.code;
}

/** What a project still has, in words; empty when nothing refers to it but its console application. */
export async function contentsOfProject(tx: ReadTx, project: string): Promise<string[]> {
  const [row] = await tx.sql<Record<string, boolean>>(
    `select exists(select 1 from api_apps where project = ? and kind <> 'console') as applications,
            exists(select 1 from products where project = ?) as products,
            exists(select 1 from coins where project = ?) as coins,
            exists(select 1 from users where project = ?) as users,
            exists(select 1 from channel_configs where project = ?) as configurations,
            exists(select 1 from certs where project = ?) as certificates,
            exists(select 1 from admins where ? = any(projects)) as administrators,
            exists(select 1 from orders o join api_apps a on a.client_id = o.client_id where a.project = ?) as orders`,
    Array.from({ length: 8 }, () => project),
  );
  return Object.entries(row ?? {}).flatMap(([what, there]) => (there ? [what] : []));
}

/** A part of a list, newest first: one row more than `limit` is read. */
interface Part {
  limit: number;
  cursor?: { createdAt: Date; id: string } | undefined;
}

/** Which projects a list shows. */
export interface ProjectFilter extends Part {
  enabled?: boolean | undefined;
  project?: Projects | undefined;
}

/** Which payers a list shows; every filter is an equality that an index answers. */
export interface UserFilter extends Part {
  project: string;
  userId?: string | undefined;
  status?: string | undefined;
  email?: string | undefined;
  phone?: string | undefined;
}

/** Which products a list shows. */
export interface ProductFilter extends Part {
  project: string;
  kind?: string | undefined;
  enabled?: boolean | undefined;
}

/** Which coins a list shows. */
export interface CoinFilter extends Part {
  project: string;
  enabled?: boolean | undefined;
}

/** Projects, newest first. */
export async function listProjects(
  tx: ReadTx,
  { cursor, limit, enabled, project }: ProjectFilter,
): Promise<ProjectRow[]> {
  const within = project === undefined ? undefined : ofProjects('code', project);
  const { sql, parameters } = statement('projects', 'code', { enabled }, { cursor, limit }, within);
  const ids = await tx.sql<{ id: string }>(sql, parameters);
  if (ids.length === 0) return [];
  return tx.projects.list({ code: ids.map(({ id }) => id) }, { orderBy: { createdAt: 'desc', code: 'desc' } });
}

/** Payers of a project, newest first. */
export async function listUsers(tx: ReadTx, filter: UserFilter): Promise<PayerRow[]> {
  const { sql, parameters } = userListStatement(filter);
  const ids = await tx.sql<{ id: string }>(sql, parameters);
  if (ids.length === 0) return [];
  return tx.users.list({ id: ids.map(({ id }) => id) }, { orderBy: { createdAt: 'desc', id: 'desc' } });
}

/** The statement of the payer list, for the list and its EXPLAIN test. */
export function userListStatement({ project, userId, status, email, phone, ...part }: UserFilter): Statement {
  return statement('users', 'id', { project, user_id: userId, status, email, phone }, part);
}

/** Products of a project, newest first. */
export async function listProducts(
  tx: ReadTx,
  { project, kind, enabled, ...part }: ProductFilter,
): Promise<ProductRow[]> {
  const { sql, parameters } = statement('products', 'id', { project, kind, enabled }, part);
  const ids = await tx.sql<{ id: string }>(sql, parameters);
  if (ids.length === 0) return [];
  return tx.products.list({ id: ids.map(({ id }) => id) }, { orderBy: { createdAt: 'desc', id: 'desc' } });
}

/** Coins of a project, newest first. */
export async function listCoins(tx: ReadTx, { project, enabled, ...part }: CoinFilter): Promise<CoinRow[]> {
  const { sql, parameters } = statement('coins', 'id', { project, enabled }, part);
  const ids = await tx.sql<{ id: string }>(sql, parameters);
  if (ids.length === 0) return [];
  return tx.coins.list({ id: ids.map(({ id }) => id) }, { orderBy: { createdAt: 'desc', id: 'desc' } });
}

/** Tables and columns come from this file only; values are parameters. */
function statement(
  table: string,
  id: string,
  where: Record<string, unknown>,
  { cursor, limit }: Part,
  within?: [part: string, value: unknown],
): Statement {
  const sent = Object.entries(where).filter(([, value]) => value !== undefined);
  const parts = ['true', ...sent.map(([column]) => `${column} = ?`)];
  const parameters = sent.map(([, value]) => value);
  if (within) {
    parts.push(within[0]);
    parameters.push(within[1]);
  }
  if (cursor) {
    parts.push(`(created_at, ${id}) < (?::timestamptz, ?${id === 'id' ? '::uuid' : ''})`);
    parameters.push(cursor.createdAt, cursor.id);
  }
  const sql = `select ${id} as id from ${table} where ${parts.join(' and ')} order by created_at desc, ${id} desc limit ${limit + 1}`;
  return { sql, parameters };
}

/** What a payer has paid and got back in one mode, channel and currency; minor units. */
export interface UserTotal {
  mode: string;
  payWay: string;
  currency: string;
  orders: number;
  paidOrders: number;
  paid: bigint;
  refunded: bigint;
}

/** The sums of a payer's orders. */
export async function userTotals(
  tx: ReadTx,
  { project, userId }: { project: string; userId: string },
): Promise<UserTotal[]> {
  const rows = await tx.sql<{ mode: string; pay_way: string; currency: string } & Record<string, string>>(
    `select mode, pay_way, currency, count(*) as orders, count(*) filter (where paid > 0) as paid_orders,
            sum(paid)::text as paid, sum(refunded)::text as refunded
       from orders where project = ? and user_id = ? group by 1, 2, 3 order by 1, 2, 3`,
    [project, userId],
  );
  return rows.map((row) => ({
    mode: row.mode,
    payWay: row.pay_way,
    currency: row.currency,
    orders: Number(row['orders']),
    paidOrders: Number(row['paid_orders']),
    paid: BigInt(row['paid'] ?? 0),
    refunded: BigInt(row['refunded'] ?? 0),
  }));
}

/** A line of a coin ledger before it has its number. */
type NewEntry = Omit<CoinEntryRow, 'id'>;

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
