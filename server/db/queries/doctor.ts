import type { ReadTx } from '../store.ts';
import { arrayText } from '../table.ts';

/** A channel configuration that is current, as far as `payctl doctor` must know it. */
export interface ChannelFact {
  project: string;
  payWay: string;
  mode: string;
  enabled: boolean;
  /** Fields and certificate kinds that it lacks. */
  missing: string[];
}

/** A key or certificate that verifies, of another mode than the configuration of its channel. */
export interface OtherModeFact {
  id: string;
  project: string;
  payWay: string;
  kind: string;
  mode: string;
  present: string;
  trusted: boolean;
}

/** The default certificate of a kind and when it ends. */
export interface CertFact {
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
export interface Waiting {
  openExceptions: number;
  abnormalRefunds: number;
  /** Orders that should have ended an hour ago; those of the simulator count only while Debug is on. */
  overdueOrders: number;
}

/** The current configuration of every channel of every project. */
export function currentChannels(tx: ReadTx): Promise<ChannelFact[]> {
  return tx.sql<ChannelFact>(
    `select s.project, s.pay_way as "payWay", c.mode, s.enabled, c.missing
       from channel_states s
       join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      order by s.project, s.pay_way`,
  );
}

/** The handlers of all skills on sale that are reached by HTTP. */
export function skillHandlers(tx: ReadTx): Promise<HandlerFact[]> {
  return tx.sql<HandlerFact>(
    `select project, code, resource->>'url' as url from products
      where enabled and resource->>'handler' = 'http' order by project, code`,
  );
}

/**
 * Keys of the simulator and, beside a live configuration, of the sandbox. Where the simulator is not in use also keys that are trusted
 * of its own configuration.
 */
export function keysOfOtherModes(
  tx: ReadTx,
  verifying: readonly string[],
  simulated: boolean,
): Promise<OtherModeFact[]> {
  return tx.sql<OtherModeFact>(
    `select k.id::text as id, k.project, k.pay_way as "payWay", k.kind, k.mode, c.mode as present, k.trusted_at is not null as trusted
       from certs k
       left join channel_states s on s.project = k.project and s.pay_way = k.pay_way
       left join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where k.deleted_at is null and k.kind = any(?::text[])
        and ((k.mode = 'simulator' and (c.mode <> 'simulator' or (not ?::boolean and k.trusted_at is not null))) or (k.mode = 'sandbox' and c.mode = 'live'))
      order by k.project, k.pay_way, k.kind, k.created_at`,
    [arrayText(verifying), simulated],
  );
}

/** The default certificates of the accounts in use that end some time. */
export function endingCerts(tx: ReadTx): Promise<CertFact[]> {
  return tx.sql<CertFact>(
    `select k.project, k.pay_way as "payWay", k.kind, k.not_after as "notAfter"
       from certs k
       left join channel_states s on s.project = k.project and s.pay_way = k.pay_way
       left join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where k.is_default and k.deleted_at is null and k.not_after is not null
        and (k.mode is null or c.id is null or (k.mode = c.mode and k.account = c.account))
      order by k.not_after`,
  );
}

/** Counts what waits. */
export async function countWaiting(
  tx: ReadTx,
  { now, simulated }: { now: Date; simulated: boolean },
): Promise<Waiting> {
  const overdue = new Date(now.getTime() - 3_600_000);
  const [row] = await tx.sql<Waiting>(
    `select (select count(*)::int from order_exceptions where state = 'open') as "openExceptions",
            (select count(*)::int from refunds where state = 'abnormal') as "abnormalRefunds",
            (select count(*)::int from orders where state in ('created', 'pending', 'closing') and expires_at < ?
                and (mode <> 'simulator' or ?)) as "overdueOrders"`,
    [overdue, simulated],
  );
  return row ?? { openExceptions: 0, abnormalRefunds: 0, overdueOrders: 0 };
}
