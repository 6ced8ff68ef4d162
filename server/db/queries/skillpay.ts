import type { Mode, PayWay } from '../../payments/channel.ts';
import type { ReadTx } from '../tx.ts';

/** How many unpaid offers of an app can still be paid. */
export async function countOpenOffers(tx: ReadTx, clientId: string, now: Date): Promise<number> {
  const [row] = await tx.sql<{ count: number }>(
    `select count(*)::int as count from orders
      where client_id = ? and kind = 'skillpay' and state in ('created', 'pending') and expires_at > ?`,
    [clientId, now],
  );
  return row?.count ?? 0;
}

/** What to count. */
export interface SkillStatsFilter {
  from?: Date | undefined;
  to?: Date | undefined;
  project?: string | undefined;
  clientId?: string | undefined;
  mode?: string | undefined;
}

/** Figures of one app and resource; money in minor units. */
export interface SkillStatsRow {
  project: string;
  clientId: string;
  resource: string;
  mode: Mode;
  payWay: PayWay;
  currency: string;
  offered: number;
  paid: number;
  fulfilled: number;
  failed: number;
  refunded: number;
  revenueMinor: string;
}

/** Offers made within a time, by app, resource, mode and currency. */
export async function skillStats(tx: ReadTx, filter: SkillStatsFilter): Promise<SkillStatsRow[]> {
  const parts = ['true'];
  const parameters: unknown[] = [];
  const add = (part: string, value: unknown) => {
    if (value === undefined) return;
    parts.push(part);
    parameters.push(value);
  };
  add('s.offered_at >= ?', filter.from);
  add('s.offered_at < ?', filter.to);
  add('s.project = ?', filter.project);
  add('s.client_id = ?', filter.clientId);
  add('o.mode = ?', filter.mode);
  return tx.sql<SkillStatsRow>(
    `select s.project, s.client_id as "clientId", s.resource, o.mode, min(o.pay_way) as "payWay", o.currency,
            count(*)::int as offered,
            (count(*) filter (where o.paid > 0))::int as paid,
            (count(*) filter (where s.fulfilment = 'done'))::int as fulfilled,
            (count(*) filter (where s.fulfilment = 'failed'))::int as failed,
            (count(*) filter (where o.paid > 0 and o.refunded >= o.paid))::int as refunded,
            coalesce(sum(o.paid - o.refunded), 0)::text as "revenueMinor"
       from skill_orders s join orders o on o.order_no = s.order_no
      where ${parts.join(' and ')}
      group by s.project, s.client_id, s.resource, o.mode, o.currency
      order by s.project, s.client_id, s.resource, o.mode, o.currency
      limit 1000`,
    parameters,
  );
}
