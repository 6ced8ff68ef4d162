import { sql } from 'kysely';
import { randomUUID } from 'node:crypto';
import type { CoinAccountRow, CoinEntryRow, CoinRow, PayerRow, ProductRow, ProjectRow } from '../entities/catalog.ts';
import { batchedRead } from '../batched-reads.ts';
import type { ReadTx, Store, Tx } from '../store.ts';
import { allOf, equalities, newestFirst, type Position } from './lists.ts';
import { type Projects, ofProjects } from './project-scope.ts';

/** `enabled` is the state of the project, and `status` is the state of the payer. */
interface Admission {
  enabled: boolean;
  status: 'active' | 'blocked';
}

/**
 * Reads a project and a payer in one statement, and inserts a row for a new payer. Returns undefined if the project
 * does not exist. If another transaction inserts the same payer at the same time, this statement cannot see the new
 * row. It then returns `active`, which is the status of every new payer.
 */
export async function admission(
  tx: Tx,
  project: string,
  userId: string | null,
  at: Date,
): Promise<Admission | undefined> {
  if (userId === null) {
    const [alone] = await tx.sql<Admission>`select enabled, 'active' as status from projects where code = ${project}`;
    return alone;
  }
  const [row] = await tx.sql<Admission>`
    with project as (select code, enabled from projects where code = ${project}),
         payer as (select u.status from users u where u.project = ${project} and u.user_id = ${userId}),
         fresh as (insert into users (id, project, user_id, status, created_at, updated_at)
                   select ${randomUUID()}::uuid, code, ${userId}, 'active', ${at}::timestamptz, ${at}::timestamptz from project
                    where enabled and not exists (select 1 from payer)
                   on conflict (project, user_id) do nothing)
    select enabled, coalesce((select status from payer), 'active') as status from project`;
  return row;
}

export type ProductKey = Pick<ProductRow, 'project' | 'code'>;

/** Creates the function that reads one product, together with the products of other requests. */
export function createReadProduct(store: Pick<Store, 'read'>): (key: ProductKey) => Promise<ProductRow | undefined> {
  const idOf = ({ project, code }: ProductKey) => `${project} ${code}`;
  return batchedRead({
    idOf,
    read: async (keys: readonly ProductKey[]) => {
      const [projects, codes] = [keys.map(({ project }) => project), keys.map(({ code }) => code)];
      const isAsked = sql<boolean>`(project, code) in (select * from unnest(${projects}::text[], ${codes}::text[]))`;
      const rows = await store.read((tx) => tx.products.rows().where(isAsked).execute());
      return new Map(rows.map((row) => [idOf(row), row]));
    },
  });
}

/** Decrements the stock of a product. Returns false if the product is sold out or no longer has this version. */
export async function takeStock(
  tx: Tx,
  { project, code, version }: Pick<ProductRow, 'project' | 'code' | 'version'>,
): Promise<boolean> {
  const rows = await tx.sql`update products set stock = stock - 1
    where project = ${project} and code = ${code} and version = ${version} and stock > 0 returning stock`;
  return rows.length === 1;
}

/**
 * Decrements the stock again when an ended order is paid late. `taken` = one piece is reserved for the order;
 * `uncounted` = the stock is unlimited; `gone` = the product is sold out.
 */
export async function retakeStock(tx: Tx, orderNo: string): Promise<'taken' | 'uncounted' | 'gone'> {
  const [row] = await tx.sql<{ stock: number | null }>`
    with piece as (
       update products p set stock = p.stock - 1 from orders o
        where o.order_no = ${orderNo} and p.project = o.project and p.code = o.product_code and (p.stock is null or p.stock > 0)
       returning p.stock),
     held as (
       update orders set stock_held = true
        where order_no = ${orderNo} and exists (select 1 from piece where piece.stock is not null))
    select stock from piece`;
  if (!row) return 'gone';
  return row.stock === null ? 'uncounted' : 'taken';
}

/**
 * Adds the piece that was reserved for an ended order to the stock again, at most once. Unlimited stock stays
 * unlimited.
 */
export async function releaseStock(tx: Tx, orderNo: string): Promise<void> {
  await tx.sql`
    with held as (update orders set stock_held = false
                   where order_no = ${orderNo} and stock_held and state in ('closed', 'failed') returning project, product_code)
     update products p set stock = p.stock + 1 from held h
      where p.project = h.project and p.code = h.product_code and p.stock is not null`;
}

/** Counts a payer's orders for a product. Closed and failed orders are not counted. */
export async function countPurchases(tx: ReadTx, project: string, code: string, userId: string): Promise<number> {
  const [row] = await tx.sql<{ count: number }>`
    select count(*)::int as count from orders
     where project = ${project} and product_code = ${code} and user_id = ${userId} and product_code is not null
       and state not in ('closed', 'failed')`;
  return row?.count ?? 0;
}

/** Whether there is any order for a product. */
export async function productHasOrders(tx: ReadTx, project: string, code: string): Promise<boolean> {
  const rows = await tx.sql`select 1 from orders
    where project = ${project} and product_code = ${code} and product_code is not null limit 1`;
  return rows.length > 0;
}

/** The code of a product that grants a coin or is priced in it; undefined = no product uses the coin. */
export async function productOfCoin(tx: ReadTx, project: string, coin: string): Promise<string | undefined> {
  const [row] = await tx.sql<{ code: string }>`select code from products
    where project = ${project} and (coin ->> 'code' = ${coin} or coin_price ->> 'code' = ${coin}) limit 1`;
  return row?.code;
}

/** The kinds of data that prevent the deletion of a project. The application of the admin console is not counted. */
export async function contentsOfProject(tx: ReadTx, project: string): Promise<string[]> {
  const [row] = await tx.sql<Record<string, boolean>>`
    select exists(select 1 from api_apps where project = ${project} and kind <> 'console') as applications,
           exists(select 1 from products where project = ${project}) as products,
           exists(select 1 from coins where project = ${project}) as coins,
           exists(select 1 from users where project = ${project}) as users,
           exists(select 1 from channel_configs where project = ${project}) as configurations,
           exists(select 1 from certs where project = ${project}) as certificates,
           exists(select 1 from admins where ${project} = any(projects)) as administrators,
           exists(select 1 from orders o join api_apps a on a.client_id = o.client_id where a.project = ${project}) as orders`;
  return Object.entries(row ?? {}).flatMap(([kind, exists]) => (exists ? [kind] : []));
}

/** One row more than `limit` is read, to know whether there is a next page. */
interface Part {
  limit: number;
  cursor?: Position | undefined;
}

export interface ProjectFilter extends Part {
  enabled?: boolean | undefined;
  project?: Projects | undefined;
}

/** Every field of the filter is compared for equality and has an index. */
export interface UserFilter extends Part {
  project: string;
  userId?: string | undefined;
  status?: string | undefined;
  email?: string | undefined;
  phone?: string | undefined;
}

export interface ProductFilter extends Part {
  project: string;
  kind?: string | undefined;
  enabled?: boolean | undefined;
}

export interface CoinFilter extends Part {
  project: string;
  enabled?: boolean | undefined;
}

/** Projects, newest first. */
export function listProjects(tx: ReadTx, { cursor, limit, enabled, project }: ProjectFilter): Promise<ProjectRow[]> {
  const parts = equalities('projects', { enabled }, ['enabled']);
  if (project !== undefined) parts.push(ofProjects('code', project));
  return newestFirst(tx.projects, sql`code`, parts, cursor, limit + 1).execute();
}

/** Payers of a project, newest first. */
export function listUsers(tx: ReadTx, filter: UserFilter): Promise<PayerRow[]> {
  return userList(tx, filter).execute();
}

/** The statement of the payer list. It is exported for the test that checks its EXPLAIN output. */
export function userList(tx: Pick<ReadTx, 'users'>, { cursor, limit, ...filter }: UserFilter) {
  const parts = equalities('users', filter, ['project', 'userId', 'status', 'email', 'phone']);
  return newestFirst(tx.users, sql`id`, parts, cursor, limit + 1);
}

/** Products of a project, newest first. */
export function listProducts(tx: ReadTx, { cursor, limit, ...filter }: ProductFilter): Promise<ProductRow[]> {
  const parts = equalities('products', filter, ['project', 'kind', 'enabled']);
  return newestFirst(tx.products, sql`id`, parts, cursor, limit + 1).execute();
}

/** Coins of a project, newest first. */
export function listCoins(tx: ReadTx, { cursor, limit, ...filter }: CoinFilter): Promise<CoinRow[]> {
  const parts = equalities('coins', filter, ['project', 'enabled']);
  return newestFirst(tx.coins, sql`id`, parts, cursor, limit + 1).execute();
}

/** A payer's paid and refunded amounts for one mode, channel and currency, in minor units. */
export interface UserTotal {
  mode: string;
  payWay: string;
  currency: string;
  orders: number;
  paidOrders: number;
  paid: bigint;
  refunded: bigint;
}

/** The paid and refunded amounts of a payer's orders. */
export async function userTotals(
  tx: ReadTx,
  { project, userId }: { project: string; userId: string },
): Promise<UserTotal[]> {
  const rows = await tx.sql<Omit<UserTotal, 'paid' | 'refunded'> & { paid: string; refunded: string }>`
    select mode, pay_way, currency, count(*)::int as orders, (count(*) filter (where paid > 0))::int as paid_orders,
           sum(paid)::text as paid, sum(refunded)::text as refunded
      from orders where project = ${project} and user_id = ${userId} group by 1, 2, 3 order by 1, 2, 3`;
  return rows.map((row) => ({ ...row, paid: BigInt(row.paid), refunded: BigInt(row.refunded) }));
}

type NewEntry = Omit<CoinEntryRow, 'id'>;

/**
 * Appends a ledger entry. Throws if the coin already has an entry with this `source`, so that nothing is booked twice.
 */
export async function appendEntry(tx: Tx, entry: NewEntry): Promise<bigint> {
  return (await tx.db.insertInto('coin_entries').values(entry).returning('id').executeTakeFirstOrThrow()).id;
}

/** `before` is the id of the last entry of the previous page. */
export interface EntryPart {
  project: string;
  coin: string;
  userId?: string | undefined;
  before?: string | undefined;
  limit: number;
}

/** Entries of a coin's ledger, newest first. */
export function listEntries(tx: ReadTx, { before, limit, ...filter }: EntryPart): Promise<CoinEntryRow[]> {
  const parts = equalities('coin_entries', filter, ['project', 'coin', 'userId']);
  if (before !== undefined) parts.push(sql`id < ${before}::bigint`);
  return tx.coinEntries
    .rows()
    .where(allOf(parts))
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
}

export interface AccountPart {
  project: string;
  coin: string;
  after?: { createdAt: Date; id: string } | undefined;
  limit: number;
}

/** Lists the payers' balances of a coin, newest first. */
export function listAccounts(tx: ReadTx, { after, limit, ...filter }: AccountPart): Promise<CoinAccountRow[]> {
  const parts = equalities('coin_accounts', filter, ['project', 'coin']);
  return newestFirst(tx.coinAccounts, sql`id`, parts, after, limit + 1).execute();
}

/** Finds payers whose coin balance is not the sum of their ledger entries. */
export function unbalancedAccounts(tx: ReadTx): Promise<{ project: string; coin: string; userId: string }[]> {
  return tx.sql`
    select coalesce(a.project, e.project) as project, coalesce(a.coin, e.coin) as coin,
           coalesce(a.user_id, e.user_id) as user_id
       from coin_accounts a
       full join (select project, coin, user_id, sum(delta) as total from coin_entries group by 1, 2, 3) e
         on e.project = a.project and e.coin = a.coin and e.user_id = a.user_id
      where coalesce(a.balance, 0) <> coalesce(e.total, 0)`;
}
