import type { PayWay } from '../../payments/channel.ts';
import type { ReadTx } from '../store.ts';
import { MOST_COUNTED } from './figures.ts';

/** An application that webhooks do not reach. */
export interface FailingWebhooks {
  clientId: string;
  /** Deliveries that failed and are tried again. */
  retrying: number;
  /** Deliveries that were given up within a day. */
  givenUp: number;
  /** What was wrong the last time. */
  lastError: string | null;
}

/** A channel of whose payments no notification tells. */
export interface SilentNotices {
  project: string;
  payWay: PayWay;
  /** How many of the newest payments were looked at. */
  payments: number;
}

/** How many enabled accounts of administrators there are, and how many of them have no second factor. */
export async function secondFactors(tx: ReadTx): Promise<{ administrators: number; without: number }> {
  const [row] = await tx.sql<{ administrators: number; without: number }>(
    `select count(*)::int as administrators, (count(*) filter (where f.sealed is null))::int as without
       from admins a left join second_factors f on f.admin_id = a.id where a.enabled`,
  );
  return row ?? { administrators: 0, without: 0 };
}

/** So many applications are named. */
const MOST_NAMED = 20;
/** So many of the newest payments of a channel without a notification mean that none comes any more. */
const SILENT_FROM = 3;
const LOOKED_AT = 5;
/** Newest payments among which those of each channel are looked for. */
const AMONG = 1000;

/** Applications whose webhooks fail, those with the most first; messages that only test a webhook do not count. */
export function failingWebhooks(tx: ReadTx, now: Date): Promise<FailingWebhooks[]> {
  const columns = 'client_id, state, target, last_error, last_status, created_at';
  return tx.sql<FailingWebhooks>(
    `select client_id as "clientId",
            (count(*) filter (where state = 'pending'))::int as retrying,
            (count(*) filter (where state = 'failed'))::int as "givenUp",
            (array_agg(coalesce(last_error, 'HTTP ' || last_status) order by created_at desc))[1] as "lastError"
       from ((select ${columns} from deliveries where state = 'pending' and attempts > 0 limit ${MOST_COUNTED})
             union all
             (select ${columns} from deliveries where finished_at > cast(? as timestamptz) - interval '1 day'
               order by finished_at desc limit ${MOST_COUNTED})) d
      where state in ('pending', 'failed') and target <> 'test'
      group by client_id order by count(*) desc, client_id limit ${MOST_NAMED}`,
    [now],
  );
}

/**
 * Channels that are paid through and whose notifications stopped: none came for any of the newest payments of the last day. Codes read in shops are
 * asked about until they are paid, what an agent, a bill or a person told of needs no notification, and what was paid just now may yet be told. `simulated`: those of the simulator, too.
 */
export async function silentNotices(
  tx: ReadTx,
  { now, simulated }: { now: Date; simulated: boolean },
): Promise<SilentNotices[]> {
  const paid = (mode: string) =>
    `(select order_no, project, pay_way, paid_at from orders o
       where mode = '${mode}' and scene <> 'code' and paid_at > cast(? as timestamptz) - interval '1 day'
         and paid_at < cast(? as timestamptz) - interval '2 minutes'
         and not exists (select 1 from moves m where m.order_no = o.order_no and m.cause in ('agent', 'bill', 'resolve'))
       order by paid_at desc limit ${AMONG})`;
  const modes = ['live', 'sandbox', ...(simulated ? ['simulator'] : [])];
  return tx.sql<SilentNotices>(
    `select project, pay_way as "payWay", count(*)::int as payments
       from (select p.*, row_number() over (partition by project, pay_way order by paid_at desc) as age
               from (${modes.map(paid).join(' union all ')}) p) newest
      where age <= ${LOOKED_AT}
      group by project, pay_way
     having count(*) >= ${SILENT_FROM} and not bool_or(exists (
              select 1 from channel_messages m where m.order_no = newest.order_no and m.direction = 'in'))
      order by project, pay_way`,
    modes.flatMap(() => [now, now]),
  );
}

/** By how many seconds this machine's clock is ahead of the database's. */
export async function clockAhead(tx: ReadTx): Promise<number> {
  const asked = Date.now();
  const [row] = await tx.sql<{ at: string }>('select clock_timestamp()::text as at');
  return ((asked + Date.now()) / 2 - Date.parse(row?.at ?? '')) / 1000;
}
