import { sql } from 'kysely';
import type { Mode } from '../../domain.ts';
import type { OrderRow } from '../entities/orders.ts';
import type { SkillOrderRow } from '../entities/skillpay.ts';
import { batchedRead } from '../batched-reads.ts';
import type { ReadTx, Store } from '../store.ts';
import { ofProjects, type Projects } from './project-scope.ts';

/** A pay-per-call offer: the order for one paid call of a skill, and its pay-per-call row. */
export interface OfferPair {
  order: OrderRow;
  skill: SkillOrderRow;
}

/** Reads pay-per-call offers by order number in one statement. */
export async function offerPairs(tx: ReadTx, orderNos: readonly string[]): Promise<ReadonlyMap<string, OfferPair>> {
  const rows = await tx.skillOrders.listWith<{ orders: OrderRow }>(
    { orderNo: orderNos },
    { orders: { table: 'orders', by: 'orderNo' } },
  );
  const pairs = new Map<string, OfferPair>();
  for (const { orders, ...skill } of rows) {
    const [order] = orders;
    if (order) pairs.set(order.orderNo, { order, skill: skill as SkillOrderRow });
  }
  return pairs;
}

/** Creates the function that reads one offer, together with the offers of other requests. */
export function createReadOffer(store: Pick<Store, 'read'>): (orderNo: string) => Promise<OfferPair | undefined> {
  return batchedRead({
    idOf: String,
    read: (orderNos: readonly string[]) => store.read((tx) => offerPairs(tx, orderNos)),
  });
}

/** Counts the pay-per-call offers of an application that are not paid and have not expired. */
export async function countOpenOffers(tx: ReadTx, clientId: string, now: Date): Promise<number> {
  const [row] = await tx.sql<{ count: number }>`
    select count(*)::int as count from orders
     where client_id = ${clientId} and kind = 'skillpay' and state in ('created', 'pending') and expires_at > ${now}`;
  return row?.count ?? 0;
}

export interface SkillStatsFilter {
  from?: Date | undefined;
  to?: Date | undefined;
  project?: Projects | undefined;
  clientId?: string | undefined;
  mode?: string | undefined;
}

/** Counts of pay-per-call offers by their result; the revenue is in minor units. */
interface SkillStatsRow {
  project: string;
  clientId: string;
  resource: string;
  mode: Mode;
  currency: string;
  offered: number;
  paid: number;
  fulfilled: number;
  failed: number;
  refunded: number;
  revenueMinor: string;
}

/** Counts the offers of a period, including unpaid offers that retention has removed. */
export async function skillStats(tx: ReadTx, filter: SkillStatsFilter): Promise<SkillStatsRow[]> {
  const { from, to, project, clientId, mode } = filter;
  const conditions = (of: { at: string; offer: string; order: string }) =>
    sql.join(
      [
        sql`true`,
        ...(from ? [sql`${sql.ref(of.at)} >= ${from}`] : []),
        ...(to ? [sql`${sql.ref(of.at)} < ${to}`] : []),
        ...(project === undefined ? [] : [ofProjects(`${of.offer}.project`, project)]),
        ...(clientId === undefined ? [] : [sql`${sql.ref(`${of.offer}.client_id`)} = ${clientId}`]),
        ...(mode === undefined ? [] : [sql`${sql.ref(`${of.order}.mode`)} = ${mode}`]),
      ],
      sql` and `,
    );
  return tx.sql<SkillStatsRow>`
     select project, client_id, resource, mode, currency,
            sum(offered)::int as offered, sum(paid)::int as paid, sum(fulfilled)::int as fulfilled, sum(failed)::int as failed,
            sum(refunded)::int as refunded, sum(revenue)::text as revenue_minor
       from (
         select s.project, s.client_id, s.resource, o.mode, o.currency, count(*) as offered,
                count(*) filter (where o.paid > 0) as paid,
                count(*) filter (where s.fulfilment = 'done') as fulfilled,
                count(*) filter (where s.fulfilment = 'failed') as failed,
                count(*) filter (where o.paid > 0 and o.refunded >= o.paid) as refunded,
                coalesce(sum(o.paid - o.refunded), 0) as revenue
           from skill_orders s join orders o on o.order_no = s.order_no
          where ${conditions({ at: 's.offered_at', offer: 's', order: 'o' })}
          group by s.project, s.client_id, s.resource, o.mode, o.currency
         union all
         select g.project, g.client_id, g.resource, g.mode, g.currency, sum(g.count), 0, 0, 0, 0, 0
           from removed_orders g
          where g.resource <> '' and ${conditions({ at: 'g.period_at', offer: 'g', order: 'g' })}
          group by g.project, g.client_id, g.resource, g.mode, g.currency) offers
      group by project, client_id, resource, mode, currency
      order by project, client_id, resource, mode, currency
      limit 1000`;
}
