import type { Mode, PayWay } from '../../payments/channel.ts';
import type { Tx } from '../tx.ts';

/** What every request asks about a channel: its current version and switch, one indexed read. */
export interface CurrentVersion {
  configId: string;
  version: number;
  mode: Mode;
  account: string;
  missing: string[];
  enabled: boolean;
}

/** The current version of (project, payWay). */
export async function currentVersion(tx: Tx, project: string, payWay: PayWay): Promise<CurrentVersion | undefined> {
  const [row] = await tx.sql<CurrentVersion>(
    `select c.id::text as "configId", c.version, c.mode, c.account, c.missing, s.enabled
       from channel_states s
       join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      where s.project = ? and s.pay_way = ?`,
    [project, payWay],
  );
  return row;
}

/** A configuration version by name, without its secrets. */
export interface VersionName {
  configId: string;
  version: number;
  mode: Mode;
  account: string;
}

/** Usable versions of one account, the newest first, then the one that an order pins. */
export async function versionsOfAccount(
  tx: Tx,
  order: { project: string; payWay: PayWay; account: string; mode: Mode; configVersion: number },
): Promise<VersionName[]> {
  const { project, payWay, account, mode, configVersion } = order;
  return tx.sql<VersionName>(
    `select c.id::text as "configId", c.version, c.mode, c.account
       from channel_configs c
      where c.project = ? and c.pay_way = ? and c.account = ? and c.mode = ?
        and (c.version = ? or c.version = (
          select max(n.version) from channel_configs n
           where n.project = ? and n.pay_way = ? and n.account = ? and n.mode = ? and cardinality(n.missing) = 0))
      order by c.version desc`,
    [project, payWay, account, mode, configVersion, project, payWay, account, mode],
  );
}

/**
 * For every account that is current, or was until `since` or later, its newest usable version; the newest first. An account
 * that stopped being current earlier has no order left that a notice could still be about.
 */
export async function versionsSince(tx: Tx, project: string, payWay: PayWay, since: Date): Promise<VersionName[]> {
  return tx.sql<VersionName>(
    `select "configId", version, mode, account from (
       select distinct on (c.account, c.mode) c.id::text as "configId", c.version, c.mode, c.account
         from (select v.*, lead(v.created_at) over (order by v.version) as ended_at from channel_configs v
                where v.project = ? and v.pay_way = ?) c
        where cardinality(c.missing) = 0 and (c.ended_at is null or c.ended_at >= ?)
        order by c.account, c.mode, c.version desc) newest
      order by version desc`,
    [project, payWay, since],
  );
}

/** Notes how a channel did; the times only move forward. */
export async function noteHealth(
  tx: Tx,
  { project, payWay, at, failure }: { project: string; payWay: PayWay; at: Date; failure: string | null },
): Promise<void> {
  if (failure === null)
    await tx.sql(
      `update channel_states set last_success_at = greatest(last_success_at, ?::timestamptz) where project = ? and pay_way = ?`,
      [at, project, payWay],
    );
  else
    await tx.sql(
      `update channel_states set last_failure = ?, last_failure_at = greatest(last_failure_at, ?::timestamptz)
        where project = ? and pay_way = ?`,
      [failure, at, project, payWay],
    );
}
