// Statements of `payctl doctor`, through the API and offline.

import { sql } from 'kysely';
import type { PayWay } from '../../domain.ts';
import { aheadOf } from '../clock.ts';
import type { ReadTx } from '../store.ts';
import { MOST_COUNTED } from './figures.ts';

/** An application that webhooks do not reach. */
interface FailingWebhooks {
  clientId: string;
  /** Deliveries that failed and are tried again. */
  retrying: number;
  /** Deliveries that were given up within a day. */
  givenUp: number;
  /** What was wrong the last time. */
  lastError: string | null;
}

/** A channel of whose payments no notification tells. */
interface SilentNotices {
  project: string;
  payWay: PayWay;
  /** How many of the newest payments were looked at. */
  payments: number;
}

/** How many enabled accounts of administrators there are, and how many of them have no second factor. */
export async function secondFactors(tx: ReadTx): Promise<{ administrators: number; without: number }> {
  const [row] = await tx.sql<{ administrators: number; without: number }>`
    select count(*)::int as administrators, (count(*) filter (where f.encrypted is null))::int as without
      from admins a left join second_factors f on f.admin_id = a.id where a.enabled`;
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
  const columns = sql.raw('client_id, state, target, last_error, last_status, created_at');
  return tx.sql`
    select client_id, (count(*) filter (where state = 'pending'))::int as retrying,
           (count(*) filter (where state = 'failed'))::int as given_up,
           (array_agg(coalesce(last_error, 'HTTP ' || last_status) order by created_at desc))[1] as last_error
      from ((select ${columns} from deliveries where state = 'pending' and attempts > 0 limit ${MOST_COUNTED})
            union all
            (select ${columns} from deliveries where finished_at > ${now}::timestamptz - interval '1 day'
              order by finished_at desc limit ${MOST_COUNTED})) d
     where state in ('pending', 'failed') and target <> 'test'
     group by client_id order by count(*) desc, client_id limit ${MOST_NAMED}`;
}

/**
 * Channels that are paid through and whose notifications stopped: none came for any of the newest payments of the last day. Codes read in shops are
 * asked about until they are paid, what an agent, a bill or a person told of needs no notification, and what was paid just now may yet be told. `simulated`: those of the simulator, too.
 */
export async function silentNotices(
  tx: ReadTx,
  { now, simulated }: { now: Date; simulated: boolean },
): Promise<SilentNotices[]> {
  const paid = (mode: string) => sql`(select order_no, project, pay_way, paid_at from orders o
       where mode = ${sql.lit(mode)} and scene <> 'code' and paid_at > ${now}::timestamptz - interval '1 day'
         and paid_at < ${now}::timestamptz - interval '2 minutes'
         and not exists (select 1 from transitions m where m.order_no = o.order_no and m.cause in ('agent', 'bill', 'resolve'))
       order by paid_at desc limit ${AMONG})`;
  const modes = ['live', 'sandbox', ...(simulated ? ['simulator'] : [])];
  return tx.sql`
    select project, pay_way, count(*)::int as payments
      from (select p.*, row_number() over (partition by project, pay_way order by paid_at desc) as age
              from (${sql.join(modes.map(paid), sql` union all `)}) p) newest
     where age <= ${LOOKED_AT}
     group by project, pay_way
    having count(*) >= ${SILENT_FROM} and not bool_or(exists (
             select 1 from channel_messages m where m.order_no = newest.order_no and m.direction = 'in'))
     order by project, pay_way`;
}

/** By how many seconds this machine's clock is ahead of the database's. */
export async function clockAhead(tx: ReadTx): Promise<number> {
  const asked = Date.now();
  const [row] = await tx.sql<{ at: Date }>`select clock_timestamp() as at`;
  return aheadOf({ asked, told: row!.at.getTime(), answered: Date.now() }) / 1000;
}

/** A channel configuration that is current, as far as `payctl doctor` must know it. */
interface ChannelFact {
  project: string;
  payWay: string;
  mode: string;
  enabled: boolean;
  /** Fields and certificate kinds that it lacks. */
  missing: string[];
}

/** A key or certificate that verifies, of another mode than the configuration of its channel. */
export interface OtherModeKey {
  id: string;
  project: string;
  payWay: string;
  kind: string;
  mode: string;
  /** That of the configuration. */
  present: string;
  trusted: boolean;
}

/** The default certificate of a kind and when it ends. */
interface CertFact {
  project: string;
  payWay: string;
  kind: string;
  notAfter: Date;
}

/** Where the handler of a skill on sale is. */
export interface HandlerFact {
  project: string;
  code: string;
  url: string;
}

/** What waits: for a person, or for a service that runs. */
interface Waiting {
  openExceptions: number;
  abnormalRefunds: number;
  /** Orders that should have ended an hour ago; those of the simulator count only while Debug is on. */
  overdueOrders: number;
}

/** The current configuration of every channel of every project. */
export function currentChannels(tx: ReadTx): Promise<ChannelFact[]> {
  return tx.sql`
    select s.project, s.pay_way, c.mode, s.enabled, c.missing
      from channel_states s
      join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
     order by s.project, s.pay_way`;
}

/** The handlers of all skills on sale that are reached by HTTP. */
export function skillHandlers(tx: ReadTx): Promise<HandlerFact[]> {
  return tx.sql`
    select project, code, resource->>'url' as url from products
     where enabled and resource->>'handler' = 'http' order by project, code`;
}

/**
 * Keys of the simulator and, beside a live configuration, of the sandbox. Where the simulator is not in use also keys that are trusted
 * of its own configuration.
 */
export function keysOfOtherModes(
  tx: ReadTx,
  verifying: readonly string[],
  simulated: boolean,
): Promise<OtherModeKey[]> {
  return tx.sql`
     select k.id::text as id, k.project, k.pay_way, k.kind, k.mode, c.mode as present, k.trusted_at is not null as trusted
       from certs k
       left join channel_states s on s.project = k.project and s.pay_way = k.pay_way
       left join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where k.deleted_at is null and k.kind = any(${verifying}::text[])
        and ((k.mode = 'simulator' and (c.mode <> 'simulator' or (not ${simulated}::boolean and k.trusted_at is not null))) or (k.mode = 'sandbox' and c.mode = 'live'))
      order by k.project, k.pay_way, k.kind, k.created_at`;
}

/** The default certificates of the accounts in use that end some time. */
export function endingCerts(tx: ReadTx): Promise<CertFact[]> {
  return tx.sql`
     select k.project, k.pay_way, k.kind, k.not_after
       from certs k
       left join channel_states s on s.project = k.project and s.pay_way = k.pay_way
       left join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where k.is_default and k.deleted_at is null and k.not_after is not null
        and (k.mode is null or c.id is null or (k.mode = c.mode and k.account = c.account))
      order by k.not_after`;
}

/** Counts what waits. */
export async function countWaiting(
  tx: ReadTx,
  { now, simulated }: { now: Date; simulated: boolean },
): Promise<Waiting> {
  const overdue = new Date(now.getTime() - 3_600_000);
  const [row] = await tx.sql<Waiting>`
    select (select count(*)::int from order_exceptions where state = 'open') as open_exceptions,
           (select count(*)::int from refunds where state = 'abnormal') as abnormal_refunds,
           (select count(*)::int from orders where state in ('created', 'pending', 'closing') and expires_at < ${overdue}
               and (mode <> 'simulator' or ${simulated}::boolean)) as overdue_orders`;
  return row ?? { openExceptions: 0, abnormalRefunds: 0, overdueOrders: 0 };
}
