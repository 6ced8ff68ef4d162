import type { PayWay } from '../../payments/channel.ts';
import type { ReadTx } from '../store.ts';

/** Of anything no more rows are counted: a figure must not cost more than it tells. */
export const MOST_COUNTED = 10_000;

/** What waits for people and for receivers, and what time the database has. */
export interface WaitingFigures {
  exceptions: { kind: string; count: number }[];
  /** Deliveries that were never tried, those that are tried again, and of the last that ended within a day those that were given up. */
  deliveries: { waiting: number; retrying: number; failed: number };
  at: Date;
}

interface Raw {
  exceptions: Record<string, number> | null;
  waiting: number;
  retrying: number;
  failed: number;
  at: string;
}

/** Counts what waits, by indexes and at most `MOST_COUNTED` rows of each, in one statement. */
export async function waitingFigures(tx: ReadTx, now: Date): Promise<WaitingFigures> {
  const open = (tried: string) =>
    `(select count(*)::int from (
        select 1 from deliveries where state = 'pending' and attempts ${tried} limit ${MOST_COUNTED}) d)`;
  const [row] = await tx.prepared<Raw>(
    `select (select json_object_agg(kind, n) from (
               select kind, count(*) as n from (
                 select kind from order_exceptions where state = 'open' limit ${MOST_COUNTED}) e group by kind) k) as exceptions,
            ${open('= 0')} as waiting, ${open('> 0')} as retrying,
            (select count(*)::int from (
               select state, target from deliveries where finished_at > cast($1 as timestamptz) - interval '1 day'
                order by finished_at desc limit ${MOST_COUNTED}) d where state = 'failed' and target <> 'test') as failed,
            clock_timestamp()::text as at`,
    [now],
  );
  const { exceptions, waiting = 0, retrying = 0, failed = 0, at = '' } = row ?? {};
  return {
    exceptions: Object.entries(exceptions ?? {}).map(([kind, count]) => ({ kind, count })),
    deliveries: { waiting, retrying, failed },
    at: new Date(at),
  };
}

/** When the first default certificate of a kind ends, over all projects whose channel is enabled; `simulated` = those of the simulator, too. */
export function firstEnds(tx: ReadTx, simulated: boolean): Promise<{ payWay: PayWay; kind: string; end: string }[]> {
  return tx.prepared(
    `select k.pay_way as "payWay", k.kind, min(k.not_after)::text as end
       from certs k
       join channel_states s on s.project = k.project and s.pay_way = k.pay_way and s.enabled
       join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where k.is_default and k.deleted_at is null and k.not_after is not null
        and (c.mode <> 'simulator' or cast($1 as boolean))
      group by k.pay_way, k.kind`,
    [simulated],
  );
}
