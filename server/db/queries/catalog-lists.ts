import type { CoinRow, PayerRow, ProductRow, ProjectRow } from '../entities/catalog.ts';
import type { ReadTx } from '../store.ts';
import { ofProjects, type Projects } from './reach.ts';

/** A part of a list, newest first: one row more than `limit` is read. */
export interface Part {
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

/** A statement and its parameters. */
export interface Statement {
  sql: string;
  parameters: unknown[];
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
