import { createHmac, hash, hkdfSync } from 'node:crypto';
import { Readable } from 'node:stream';
import type { MasterKey, Place, Encryption } from '../db/encryption.ts';
import { csvLine } from '../csv.ts';
import type { AuditRow } from '../db/entities/identity.ts';
import { auditHashAfter } from '../db/queries/identity.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import type { Actor, AuditFilter, IdentityQueries } from './ports.ts';

/** An action for the audit log; secrets in `before` and `after` are masked when it is written. */
export interface AuditEntry {
  readonly actorKind: Actor['kind'];
  readonly actor: string;
  /** The action as `noun.verb`, such as `app.rotate-secret`. */
  readonly action: string;
  /** The target, such as a client id. */
  readonly target: string;
  readonly before?: object | null;
  readonly after?: object | null;
  readonly ip?: string | null;
  readonly requestId?: string | null;
}

/**
 * Appends a line to the audit log in the transaction of the action: both commit or neither does. Call it last in a transaction, because it
 * holds the log's lock until the commit.
 */
export type Audit = (tx: Tx, entry: AuditEntry) => Promise<void>;

/** The name under which `AfterCommit` reports the newest line of the audit log after its commit. */
export const NEW_TIP = 'audit-tip';
/** The payload of `NEW_TIP`. */
export type NewTip = AuditTip & Pick<AuditEntry, 'action'>;

/** The action of the line that every log must have if an administrator exists. */
export const FIRST_ADMIN = 'bootstrap.admin';
/** The action of a line with which a writer reports that a committed line is no longer in the log. */
export const LINES_LOST = 'audit.lines-lost';
/** The actor of lines that the service writes on its own. */
const SERVICE: Actor = { kind: 'system', name: 'service' };

/** Creates the writer of the audit log. If it finds a loss, it first writes a line about it, so that further lines do not hide the loss. */
export function createAudit({
  now,
  key,
  known = createKnownTip(),
}: {
  now: () => Date;
  key: AuditKey;
  known?: KnownTip;
}): Audit {
  return async (tx, entry) => {
    await tx.advisoryLock('audit');
    const last = await lastLine(tx);
    const lost = await known.lost(tx, last);
    if (!lost) return append(tx, last, entry);
    const { after, hash: tip } = lost;
    await append(tx, last, { ...by(SERVICE), action: LINES_LOST, target: `behind ${after}`, before: { tip } });
    await append(tx, await lastLine(tx), entry);
  };

  async function append(tx: Tx, last: AuditRow | undefined, entry: AuditEntry): Promise<void> {
    const line = { at: now(), ...toLine(entry), previousHash: last?.hash ?? firstHash, keyId: key.id };
    const hash = chainHash(line, key);
    await tx.audit.insert({ ...line, hash });
    const tip: NewTip = { after: String(last?.id ?? 0), hash, action: line.action };
    await tx.afterCommit(NEW_TIP, tip);
  }
}

async function lastLine(tx: Tx): Promise<AuditRow | undefined> {
  return (await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 }))[0];
}

/** The fields of an audit entry that describe the actor: `audit(tx, { ...by(actor), action, target })`. */
export function by({ kind, name, ip, requestId }: Actor): Pick<AuditEntry, 'actorKind' | 'actor' | 'ip' | 'requestId'> {
  return { actorKind: kind, actor: name, ip, requestId };
}

function toLine(entry: AuditEntry): Omit<AuditRow, 'id' | 'at' | 'previousHash' | 'hash' | 'keyId'> {
  return {
    actorKind: entry.actorKind,
    actor: entry.actor.slice(0, 128),
    action: entry.action.slice(0, 64),
    target: entry.target.slice(0, 256),
    before: mask(entry.before),
    after: mask(entry.after),
    ip: entry.ip?.slice(0, 64) ?? null,
    requestId: entry.requestId?.slice(0, 64) ?? null,
  } as Omit<AuditRow, 'id' | 'at' | 'previousHash' | 'hash' | 'keyId'>;
}

/** The previous hash of the first line. */
export const firstHash = '0'.repeat(64);

type Line = Omit<AuditRow, 'id' | 'hash'>;

/** The hash of a line over the previous hash and every column: HMAC-SHA-256 with the key that the line names. */
export function chainHash(line: Line, { id, key }: AuditKey): string {
  const { previousHash, at, actorKind, actor, action, target, before, after, ip, requestId } = line;
  const facts = [id, previousHash, at.toISOString(), actorKind, actor, action, target, before, after, ip, requestId];
  const text = JSON.stringify(facts.map((fact) => ordered(fact ?? null)));
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Sorts the properties, because the database stores the properties of JSON in its own sequence. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, ordered(member)]),
  );
}

/** A line of the audit log: its hash, and the id of the line before it. */
export interface AuditTip {
  readonly after: string;
  readonly hash: string;
}

/** The newest line of the audit log that this process saw committed; it is in memory, so a writer of the database cannot change it. */
export interface KnownTip {
  /** Stores a committed line. */
  note(tip: AuditTip): void;
  /** Stores the last line of the log if none is known yet. */
  learn(tx: ReadTx): Promise<void>;
  /**
   * Returns the known line if the log no longer contains it, otherwise undefined. `last` is the log's last line, if the caller has already
   * read it.
   */
  lost(tx: ReadTx, last?: { hash: string }): Promise<AuditTip | undefined>;
}

/** Creates an empty `KnownTip`. */
export function createKnownTip(): KnownTip {
  let known: AuditTip | undefined;
  return {
    note: ({ after, hash }) => void (known = { after, hash }),
    async learn(tx) {
      const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
      if (last) known ??= { after: String(BigInt(last.id) - 1n), hash: last.hash };
    },
    async lost(tx, last) {
      const tip = known;
      if (!tip || last?.hash === tip.hash) return undefined;
      return (await auditHashAfter(tx, tip.after)) === tip.hash ? undefined : tip;
    },
  };
}

const secretName = /pass(word|phrase)?|secret|token|hash|private|credential|authorization|cookie|^key$|apiv3key|pem$/i;
const shownNames = /^(passwordChanged|secretHint|secretCreatedAt|tokensRevoked|previousSecretExpiresAt)$/;
const secretText =
  /-----BEGIN [A-Z ]+-----[\s\S]*?(-----END [A-Z ]+-----|$)|\b(pays|whsec)_[\w+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g;
const masked = '***';
const maxText = 2000;

/** A copy for permanent storage: plain JSON, secrets masked by name and by pattern, long text cut. */
export function mask(value: unknown): Record<string, unknown> | null {
  if (typeof value !== 'object' || value === null) return null;
  return maskMember('', value, 0) as Record<string, unknown>;
}

function maskMember(name: string, value: unknown, depth: number): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value instanceof Date) return value.toISOString();
  if (isSecret(name)) return masked;
  if (typeof value === 'string') return value.replaceAll(secretText, masked).replaceAll('\0', '').slice(0, maxText);
  if (typeof value !== 'object') return String(value);
  if (depth >= 8) return masked;
  if (Array.isArray(value)) return value.map((member) => maskMember('', member, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, maskMember(key, member, depth + 1)]),
  );
}

function isSecret(name: string): boolean {
  return secretName.test(name) && !shownNames.test(name);
}

/** A key that authenticates lines of the audit log; each line contains the id, which reveals nothing about the key. */
export interface AuditKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** The keys of the audit log. New lines use the newest key; every key can verify lines. */
export interface AuditKeys {
  readonly newest: AuditKey;
  /** The audit log keys that belong to the configured master keys, and the audit log keys of former master keys. */
  all(): Promise<{ configured: readonly AuditKey[]; former: readonly AuditKey[] }>;
}

/** Derives the audit log's key from a master key (HKDF-SHA-256), so that a reader of the database cannot compute it. */
export function deriveAuditKey({ key: master }: Pick<MasterKey, 'key'>): AuditKey {
  const key = new Uint8Array(hkdfSync('sha256', master, 'unified-payment-service', 'audit-log', 32));
  return { id: hash('sha256', key).slice(0, 16), key };
}

/** Dependencies of the keys. */
interface AuditKeyParts {
  store: Store;
  masterKeys: readonly MasterKey[];
  encryption: Pick<Encryption, 'open'>;
}

/** Creates the audit log's keys of this configuration. */
export function createAuditKeys({ store, masterKeys, encryption }: AuditKeyParts): AuditKeys {
  const configured = masterKeys.map(deriveAuditKey);
  const [newest] = configured;
  if (!newest) throw new TypeError('There is no master key.');
  return {
    newest,
    async all() {
      const rows = await store.read((tx) => tx.auditKeys.list({}));
      const former = rows.filter(({ keyId }) => keyId !== newest.id);
      return {
        configured,
        former: former.map(({ keyId, encrypted }) => ({
          id: keyId,
          key: Buffer.from(encryption.open(placeOf(keyId), encrypted), 'base64'),
        })),
      };
    },
  };
}

/** Stores the audit keys of former master keys before these are removed, because their lines must stay verifiable. */
export async function keepFormerAuditKeys(
  tx: Tx,
  [, ...older]: readonly MasterKey[],
  { encrypt }: Pick<Encryption, 'encrypt'>,
  createdAt: Date,
): Promise<void> {
  for (const { id, key } of older.map(deriveAuditKey)) {
    if (await tx.auditKeys.find({ keyId: id })) continue;
    const encrypted = encrypt(placeOf(id), Buffer.from(key).toString('base64'));
    await tx.auditKeys.insert({ keyId: id, encrypted, createdAt });
  }
}

function placeOf(id: string): Place {
  return { table: 'audit_keys', id, column: 'encrypted', version: 1 };
}

/**
 * Appends a line with the newest key if the last line has a former key, so that later changes of the lines before it are detected. Also
 * appends a line if this process detects that lines were lost. Returns the hash of the last line, undefined for an empty log.
 */
export async function anchorAudit({
  store,
  audit,
  auditKeys,
  known,
}: {
  store: Store;
  audit: Audit;
  auditKeys: AuditKeys;
  known: KnownTip;
}): Promise<string | undefined> {
  return store.transaction(async (tx) => {
    const [last] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    const isLost = (await known.lost(tx, last)) !== undefined;
    if (!isLost && (!last || last.keyId === auditKeys.newest.id)) return last?.hash;
    await audit(tx, { ...by(SERVICE), action: 'audit.anchor', target: String(last?.id ?? 0) });
    const [anchor] = await tx.audit.list({}, { orderBy: { id: 'desc' }, limit: 1 });
    return anchor?.hash;
  });
}

/** Formats of the export. */
export const AUDIT_FORMATS = ['csv', 'ndjson'] as const;
/** A format of the export. */
type AuditFormat = (typeof AUDIT_FORMATS)[number];

/** A line of the audit log as exported. */
type ShownLine = Record<string, unknown>;

/** Dependencies of the export. */
interface AuditExportPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'auditLines'>;
  audit: Audit;
}

/** The filter of the exported lines. */
type ExportedLines = Omit<AuditFilter, 'limit' | 'cursor'>;

const COLUMNS = [
  'id',
  'at',
  'actorKind',
  'actor',
  'action',
  'target',
  'before',
  'after',
  'ip',
  'requestId',
  'previousHash',
  'hash',
] as const;

const BATCH = 500;

/**
 * Exports all matching lines, newest first, as CSV or NDJSON, in batches at the reader's speed. The export's own audit entry is committed
 * first, so it is the first line of an export without a filter.
 */
export function exportAudit({ store, queries, audit }: AuditExportPorts) {
  return async (
    actor: Actor,
    { show, ...filter }: ExportedLines & { show: (row: AuditRow) => ShownLine },
    format: AuditFormat,
  ): Promise<Readable> => {
    const auditEntry = { action: 'audit-log.exported', target: '*', after: { format, filter } };
    await store.transaction((tx) => audit(tx, { ...by(actor), ...auditEntry }));
    const line = format === 'csv' ? toCsv : (shown: ShownLine) => `${JSON.stringify(shown)}\n`;
    return Readable.from(parts(), { objectMode: false, highWaterMark: 64 * 1024 });

    async function* parts(): AsyncGenerator<Buffer> {
      if (format === 'csv') yield Buffer.from(csvLine(COLUMNS));
      let cursor: AuditFilter['cursor'];
      for (;;) {
        const place = cursor && { cursor };
        const rows = await store.read((tx) => queries.auditLines(tx, { ...filter, ...place, limit: BATCH }));
        const batch = rows.slice(0, BATCH);
        if (batch.length > 0) yield Buffer.from(batch.map((row) => line(show(row))).join(''));
        const last = batch.at(-1);
        if (!last || rows.length <= BATCH) return;
        cursor = { createdAt: last.at, id: String(last.id) };
      }
    }
  };
}

/** The export operation for routes. */
export type ExportAudit = ReturnType<typeof exportAudit>;

function toCsv(shown: ShownLine): string {
  return csvLine(
    COLUMNS.map((name) => {
      const value = shown[name];
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | null);
    }),
  );
}
