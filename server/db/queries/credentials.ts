import { type RawBuilder, sql } from 'kysely';
import type { Mode, PayWay } from '../../domain.ts';
import { batchedRead } from '../batched-reads.ts';
import type { ReadTx, Store, Tx } from '../store.ts';

/**
 * The current configuration version of a channel, and whether the channel is enabled. Each use of the channel reads it
 * anew.
 */
export interface CurrentVersion {
  configId: string;
  version: number;
  mode: Mode;
  account: string;
  missing: string[];
  enabled: boolean;
  trustRevision: number;
}

type CurrentVersions = ReadonlyMap<PayWay, CurrentVersion>;

/**
 * Creates the function that reads the current configuration versions of a project's channels. Several requests share
 * one statement (`batchedRead`).
 */
export function createCurrentVersions(store: Pick<Store, 'read'>): (project: string) => Promise<CurrentVersions> {
  const readVersions = batchedRead({
    idOf: String,
    read: (projects: readonly string[]) => store.read((tx) => versionsOf(tx, projects)),
  });
  return async (project) => (await readVersions(project)) ?? new Map();
}

async function versionsOf(tx: ReadTx, projects: readonly string[]): Promise<ReadonlyMap<string, CurrentVersions>> {
  const rows = await tx.sql<CurrentVersion & { project: string; payWay: PayWay }>`
    select s.project, s.pay_way, c.id as config_id, c.version, c.mode, c.account, c.missing, s.enabled, s.trust_revision
      from channel_states s
      join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
     where s.project = any(${projects})`;
  const found = new Map<string, Map<PayWay, CurrentVersion>>();
  for (const { project, payWay, ...version } of rows) {
    const versions = found.get(project) ?? new Map<PayWay, CurrentVersion>();
    found.set(project, versions.set(payWay, version));
  }
  return found;
}

/** A configuration version without its secrets. */
export interface VersionName {
  configId: string;
  version: number;
  mode: Mode;
  account: string;
  /**
   * A number that increases when an administrator changes the trust in a certificate or key of the channel. If it has
   * changed, a cached channel object must not be used any more.
   */
  trustRevision: number;
}

/**
 * The configuration fields that identify the payee (the account that receives the money), for example a seller id.
 * `name` is the name of such a field. If the configuration has a value in the field that `unless` names, it only
 * matters whether the field `name` has a value.
 */
export type IdentityFields = readonly { name: string; unless: string }[];

/** Versions of one account with equal `identity` pay the same payee. */
interface VersionOfAccount extends VersionName {
  identity: string;
}

/** SQL: the values of the identity fields of `config`. Secrets are represented by their fingerprints. */
function identityOf(config: string, fields: IdentityFields): RawBuilder<string> {
  const of = sql.raw(config);
  return sql`(
  select coalesce(jsonb_agg(
           case when coalesce(${of}.fields->>f.beside, '') <> '' and said.value <> '' then 'given' else said.value end
           order by f.name), '[]')::text
    from unnest(${fields.map(({ name }) => name)}::text[], ${fields.map(({ unless }) => unless)}::text[]) as f(name, beside),
         lateral (select coalesce(${of}.fields->>f.name, ${of}.fingerprints->>f.name, '') as value) said)`;
}

/**
 * Returns up to three configuration versions of an order's channel account, newest first. A version is complete if no
 * required field is missing. The three are: the newest complete version, the newest complete version that pays the
 * order's payee, and the version with which the order was created.
 */
export async function versionsOfAccount(
  tx: ReadTx,
  order: { project: string; payWay: PayWay; account: string; mode: Mode; configVersion: number },
  fields: IdentityFields,
): Promise<VersionOfAccount[]> {
  const { project, payWay, account, mode, configVersion } = order;
  // This SQL fragment is shared by all four subqueries, because Kysely processes every fragment of a statement again on
  // each call.
  const asked = sql`(${project}, ${payWay}, ${account}, ${mode})`;
  // Each subquery scans from the newest version backwards and usually ends at the first row.
  return tx.sql<VersionOfAccount>`
    with own as (
       select ${identityOf('o', fields)} as identity from channel_configs o
        where (o.project, o.pay_way, o.account, o.mode) = ${asked} and o.version = ${configVersion})
    select c.id::text as config_id, c.version, c.mode, c.account, s.trust_revision, ${identityOf('c', fields)} as identity
      from channel_configs c
      join channel_states s on s.project = c.project and s.pay_way = c.pay_way
     where (c.project, c.pay_way, c.account, c.mode) = ${asked}
       and c.version in (${configVersion}::int,
         (select n.version from channel_configs n
           where (n.project, n.pay_way, n.account, n.mode) = ${asked} and cardinality(n.missing) = 0
           order by n.version desc limit 1),
         (select n.version from channel_configs n
           where (n.project, n.pay_way, n.account, n.mode) = ${asked} and cardinality(n.missing) = 0
             and ${identityOf('n', fields)} = (select identity from own)
           order by n.version desc limit 1))
     order by c.version desc`;
}

/**
 * `versions` are the numbers of all complete configuration versions that pay this payee. The other fields are those of
 * the newest of them.
 */
interface IdentityVersions extends VersionOfAccount {
  versions: number[];
  /** The values of the fields that identify the payee, without the app id. Every order stores its own app id. */
  payee: string;
}

/**
 * For each payee, its newest complete version, if one of its versions was current at `since` or later; newest first.
 * Older payees have no orders for which the channel could still send a notification.
 */
export async function identitiesSince(
  tx: ReadTx,
  { project, payWay, since }: { project: string; payWay: PayWay; since: Date },
  fields: IdentityFields,
  payeeFields: IdentityFields,
): Promise<IdentityVersions[]> {
  return tx.sql<IdentityVersions>`
    select (array_agg(c.id order by c.version desc))[1]::text as config_id, max(c.version) as version, c.mode, c.account,
           s.trust_revision, c.identity, c.payee, jsonb_agg(c.version) as versions
      from (select v.*, lead(v.created_at) over (order by v.version) as ended_at, ${identityOf('v', fields)} as identity,
                   ${identityOf('v', payeeFields)} as payee
              from channel_configs v
             where v.project = ${project} and v.pay_way = ${payWay}) c
      join channel_states s on s.project = c.project and s.pay_way = c.pay_way
     where cardinality(c.missing) = 0
     group by c.account, c.mode, c.identity, c.payee, s.trust_revision
    having bool_or(c.ended_at is null or c.ended_at >= ${since})
     order by version desc`;
}

/** The result of a channel call with one configuration version: success (`failure` = null) or failure. */
export interface HealthNote {
  project: string;
  payWay: PayWay;
  version: number;
  at: Date;
  failure: string | null;
}

/** Stores a call's result, if its version is still current. A stored time is never replaced with an earlier one. */
export async function noteHealth(tx: Tx, { project, payWay, version, at, failure }: HealthNote): Promise<void> {
  if (failure === null)
    await tx.sql`update channel_states set last_success_at = greatest(last_success_at, ${at}::timestamptz)
      where project = ${project} and pay_way = ${payWay} and version = ${version}`;
  else
    await tx.sql`update channel_states
        set last_failure = case when last_failure_at > ${at}::timestamptz then last_failure else ${failure} end,
            last_failure_at = greatest(last_failure_at, ${at}::timestamptz)
      where project = ${project} and pay_way = ${payWay} and version = ${version}`;
}

/** Stores when a genuine notification was received. The stored time is never replaced with an earlier time. */
export async function noteNotification(tx: Tx, note: { project: string; payWay: PayWay; at: Date }): Promise<void> {
  await tx.sql`update channel_states set last_notice_at = greatest(last_notice_at, ${note.at}::timestamptz)
    where project = ${note.project} and pay_way = ${note.payWay}`;
}

/**
 * Stores why notifications were refused; the same reason within a day is counted together. `signed` contains the
 * reasons that only a notification with a valid signature of the channel can cause. Anyone can cause the other reasons
 * with a forged notification, so for one day they do not replace a reason in `signed`.
 */
export async function noteRefusedNotifications(
  tx: Tx,
  note: {
    project: string;
    payWay: PayWay;
    at: Date;
    why: string;
    detail: string;
    count: number;
    signed: ReadonlySet<string>;
  },
): Promise<void> {
  const { project, payWay, at, why, detail, count, signed } = note;
  const isOfDay = sql`(refused_notices->>'at')::timestamptz > ${at}::timestamptz - interval '1 day'`;
  const isSame = sql`refused_notices->>'why' = ${why} and ${isOfDay}`;
  await tx.sql`
    update channel_states set refused_notices = jsonb_build_object(
        'why', ${why}::text, 'detail', ${detail}::text, 'at', ${at}::timestamptz,
        'since', case when ${isSame} then refused_notices->'since' else to_jsonb(${at}::timestamptz) end,
        'count', ${count}::int + case when ${isSame} then (refused_notices->>'count')::int else 0 end)
     where project = ${project} and pay_way = ${payWay}
       and (${signed.has(why)} or refused_notices is null
            or not (refused_notices->>'why' = any(${[...signed]}::text[]) and ${isOfDay}))`;
}

/** Whether there is an open order whose configuration version contains this certificate. */
export async function hasOpenOrders(
  tx: ReadTx,
  { id, project, payWay }: { id: string; project: string; payWay: PayWay },
): Promise<boolean> {
  const [row] = await tx.sql<{ found: boolean }>`
    select exists (
       select 1 from channel_configs c
         join orders o on o.project = c.project and o.pay_way = c.pay_way and o.config_version = c.version
        where c.project = ${project} and c.pay_way = ${payWay} and c.cert_ids @> jsonb_build_array(${id}::text)
          and o.next_check_at is not null) as found`;
  return row?.found === true;
}

interface StateOfChannel {
  configId: string;
  project: string;
  payWay: PayWay;
  enabled: boolean;
  mode: Mode;
  missing: string[];
  lastSuccessAt: Date | null;
  lastFailureAt: Date | null;
  certsExpireAt: Date | null;
  /** Whether an administrator must still decide about the trust in a verification key or certificate. */
  awaitsTrust: boolean;
}

/** The states of a project's channels; null = of all projects. */
export async function channelStates(
  tx: ReadTx,
  project: string | null,
  verifying: readonly string[],
): Promise<StateOfChannel[]> {
  return tx.sql<StateOfChannel>`
    select c.id as config_id, s.project, s.pay_way, s.enabled, c.mode, c.missing, s.last_success_at, s.last_failure_at,
           s.certs_expire_at,
           exists (
             select 1 from certs k
              where k.project = s.project and k.pay_way = s.pay_way and k.deleted_at is null
                and k.trusted_at is null and k.trusted_by is null and k.kind = any(${verifying}::text[])
                and (k.mode is null or (k.mode = c.mode and k.account = c.account))) as awaits_trust
      from channel_states s
      join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
     where ${project}::text is null or s.project = ${project}
     order by s.project, s.pay_way`;
}

/** Whether real money is or was received: a current configuration or any order is in mode `live`. */
export async function hasLiveMoney(tx: ReadTx): Promise<boolean> {
  const [row] = await tx.sql<{ found: boolean }>`
    select exists (
       select 1 from channel_states s
         join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
        where c.mode = 'live'
     ) or exists (select 1 from orders where mode = 'live') as found`;
  return row?.found === true;
}

/**
 * Certificates of current configuration versions that expire before `until`. A certificate is omitted if the version
 * has another certificate of the same kind that is still valid at `until`.
 */
export async function endingCerts(
  tx: ReadTx,
  until: Date,
): Promise<{ id: string; project: string; payWay: PayWay; kind: string; notAfter: Date }[]> {
  return tx.sql`
    select k.id::text as id, k.project, k.pay_way, k.kind, k.not_after
      from channel_states s
      join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
      join certs k on c.cert_ids @> jsonb_build_array(k.id::text)
     where k.not_after < ${until}
       and not exists (select 1 from certs l
             where c.cert_ids @> jsonb_build_array(l.id::text) and l.kind = k.kind and l.not_after >= ${until})
     order by k.not_after`;
}

/** Whether a channel account has an open order or refund. */
export async function hasOpenWork(
  tx: ReadTx,
  { project, payWay, mode, account }: { project: string; payWay: PayWay; mode: Mode; account: string },
): Promise<boolean> {
  const ofAccount = sql`o.project = ${project} and o.pay_way = ${payWay} and o.mode = ${mode} and o.account = ${account}`;
  const [row] = await tx.sql<{ found: boolean }>`
    select exists (select 1 from orders o where ${ofAccount} and o.next_check_at is not null)
        or exists (select 1 from refunds r join orders o on o.order_no = r.order_no
                    where ${ofAccount} and r.next_check_at is not null) as found`;
  return row?.found === true;
}

/**
 * Channels that trust a simulator key in sandbox or live mode, or a sandbox key in live mode. If `simulated` is false,
 * every channel that trusts a simulator key is returned.
 */
export async function trustedOfOtherModes(
  tx: ReadTx,
  verifying: readonly string[],
  simulated: boolean,
): Promise<{ project: string; payWay: PayWay }[]> {
  return tx.sql`
    select distinct k.project, k.pay_way
      from certs k
      left join channel_states s on s.project = k.project and s.pay_way = k.pay_way
      left join channel_configs c on c.project = s.project and c.pay_way = s.pay_way and c.version = s.version
     where k.deleted_at is null and k.trusted_at is not null and k.kind = any(${verifying}::text[])
       and ((k.mode = 'simulator' and (not ${simulated}::boolean or c.mode <> 'simulator')) or (k.mode = 'sandbox' and c.mode = 'live'))
     order by 1, 2`;
}

interface EncryptedColumn {
  table: string;
  key: string;
  column: string;
  /**
   * An encrypted text can be decrypted only with the table, row, column name and version number that were used for its
   * encryption. `as` is this column name; absent = the name in `column`. `version` is the column with the version
   * number; absent = the number is 1.
   */
  as?: string;
  version?: string;
}

const ENCRYPTED_COLUMNS: readonly EncryptedColumn[] = [
  { table: 'channel_configs', key: 'id', column: 'encrypted', version: 'version' },
  { table: 'certs', key: 'id', column: 'encrypted' },
  { table: 'webhooks', key: 'client_id', column: 'encrypted_secret', as: 'secret' },
  { table: 'webhooks', key: 'client_id', column: 'previous_encrypted_secret', as: 'secret' },
  { table: 'signing_keys', key: 'kid', column: 'encrypted' },
  { table: 'agent_pays', key: 'project', column: 'encrypted' },
  { table: 'audit_keys', key: 'key_id', column: 'encrypted' },
  { table: 'second_factors', key: 'admin_id', column: 'encrypted' },
  { table: 'second_factors', key: 'admin_id', column: 'pending_encrypted' },
];

export interface EncryptedText {
  table: string;
  column: string;
  id: string;
  encrypted: string;
  /** The text can be decrypted only with these values (db/encryption.ts). */
  place: { table: string; id: string; column: string; version: number };
}

/** Locks the tables with encrypted texts against writes until the transaction ends, and returns every text. */
export async function lockEncryptedTexts(tx: Tx): Promise<EncryptedText[]> {
  const tables = [...new Set(ENCRYPTED_COLUMNS.map(({ table }) => table))].toSorted();
  await tx.sql`lock table ${sql.join(tables.map((table) => sql.table(table)))} in share row exclusive mode`;
  return listEncryptedTexts(tx);
}

/** Returns every encrypted text of the database, without locks. */
export async function listEncryptedTexts(tx: ReadTx): Promise<EncryptedText[]> {
  const texts: EncryptedText[] = [];
  for (const { table, key, column, as = column, version: versioned } of ENCRYPTED_COLUMNS) {
    const [id, text] = [sql.ref(key), sql.ref(column)];
    const rows = await tx.sql<{ id: string; encrypted: string; version: number }>`
      select ${id}::text as id, ${text} as encrypted, ${versioned === undefined ? sql`1` : sql.ref(versioned)} as version
        from ${sql.table(table)} where ${text} is not null order by ${id}`;
    for (const row of rows)
      texts.push({
        table,
        column,
        id: row.id,
        encrypted: row.encrypted,
        place: { table, id: row.id, column: as, version: row.version },
      });
  }
  return texts;
}

/** The ids of the master keys that the encrypted texts of the database need. */
export async function masterKeysNeeded(tx: ReadTx): Promise<string[]> {
  const ids = new Set<string>();
  for (const { table, column } of ENCRYPTED_COLUMNS) {
    const text = sql.ref(column);
    const rows = await tx.sql<{ id: string }>`
      select distinct split_part(${text}, '.', 2) as id from ${sql.table(table)} where ${text} ~ '^s1[.][0-9a-f]{8}[.]'`;
    for (const { id } of rows) ids.add(id);
  }
  return [...ids].toSorted();
}

/** Stores a new encrypted text in place of an old one. */
export async function replaceEncryptedText(
  tx: Tx,
  { table, column, id }: EncryptedText,
  encrypted: string,
): Promise<void> {
  const place = ENCRYPTED_COLUMNS.find((one) => one.table === table && one.column === column);
  if (!place) throw new TypeError(`${table}.${column} is not a column with encrypted texts.`);
  await tx.sql`update ${sql.table(place.table)} set ${sql.ref(place.column)} = ${encrypted} where ${sql.ref(place.key)}::text = ${id}`;
}
