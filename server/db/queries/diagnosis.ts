// Statements of `payctl doctor`, which runs them through the API or directly on the database.

import { sql } from 'kysely';
import type { PayWay } from '../../domain.ts';
import { aheadOf } from '../clock.ts';
import type { ReadTx } from '../store.ts';
import { MOST_COUNTED } from './figures.ts';

interface FailingWebhooks {
  clientId: string;
  retrying: number;
  /** Deliveries that were given up within the last day, among the `MOST_COUNTED` that ended last. */
  givenUp: number;
  lastError: string | null;
}

interface SilentNotices {
  project: string;
  payWay: PayWay;
  /** How many of the newest payments were checked. */
  payments: number;
}

/** The number of enabled administrators; `without` = those without a second factor. */
export async function secondFactors(tx: ReadTx): Promise<{ administrators: number; without: number }> {
  const [row] = await tx.sql<{ administrators: number; without: number }>`
    select count(*)::int as administrators, (count(*) filter (where f.encrypted is null))::int as without
      from admins a left join second_factors f on f.admin_id = a.id where a.enabled`;
  return row ?? { administrators: 0, without: 0 };
}

const MOST_NAMED = 20;
/** A channel is reported if it has at least this many recent payments and no notification for any of them. */
const SILENT_FROM = 3;
const LOOKED_AT = 5;
/** Only this many of the newest payments of each mode are searched for the newest payments of each channel. */
const AMONG = 1000;

/** Applications whose webhook deliveries fail, most failures first. Test deliveries are ignored. */
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
 * Channels that received no notification for any of their newest payments of the last day. Payments of the last two
 * minutes are ignored. Payments that cause no notification are ignored too: the shop scanned the payer's code, or an
 * agent, a bill or an administrator reported the payment.
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

/** By how many seconds this machine's clock is ahead of the database's clock. */
export async function clockAhead(tx: ReadTx): Promise<number> {
  const sentAt = Date.now();
  const [row] = await tx.sql<{ at: Date }>`select clock_timestamp() as at`;
  return aheadOf({ sentAt, theirs: row!.at.getTime(), receivedAt: Date.now() }) / 1000;
}

interface ChannelFact {
  project: string;
  payWay: string;
  mode: string;
  enabled: boolean;
  /** Fields and certificate kinds that the configuration lacks. */
  missing: string[];
}

export interface OtherModeKey {
  id: string;
  project: string;
  payWay: string;
  kind: string;
  mode: string;
  /** The mode of the channel's current configuration; `mode` is the mode of the key. */
  present: string;
  trusted: boolean;
}

/** A default certificate of a channel: it is used if the channel's configuration names no certificate of this kind. */
interface CertFact {
  project: string;
  payWay: string;
  kind: string;
  notAfter: Date;
}

export interface HandlerFact {
  project: string;
  code: string;
  url: string;
}

interface Waiting {
  openExceptions: number;
  abnormalRefunds: number;
  /** Open orders that expired more than an hour ago. Orders of the simulator count only if the simulator is in use. */
  overdueOrders: number;
}

/** The current configurations of all channels of all projects. */
export function currentChannels(tx: ReadTx): Promise<ChannelFact[]> {
  return tx.sql`
    select s.project, s.pay_way, c.mode, s.enabled, c.missing
      from channel_states s
      join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
     order by s.project, s.pay_way`;
}

/** The handler URLs of all skills on sale that have an HTTP handler. */
export function skillHandlers(tx: ReadTx): Promise<HandlerFact[]> {
  return tx.sql`
    select project, code, resource->>'url' as url from products
     where enabled and resource->>'handler' = 'http' order by project, code`;
}

/**
 * Verification keys of the simulator in channels of other modes, and of the sandbox in live channels. If the simulator
 * is not in use, trusted keys of the simulator are also returned.
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

/**
 * The default certificates that have an expiry date, soonest first. A channel uses a default certificate if its
 * configuration names no certificate of this kind.
 */
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

/** Counts the open exceptions (cases for an operator), the abnormal refunds and the overdue orders. */
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
