import { randomUUID } from 'node:crypto';
import type { ProductRow } from '../entities/catalog.ts';
import type { ReadTx, Tx } from '../store.ts';

/** Whether a project sells, and how a payer stands in it. */
export interface Admission {
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
