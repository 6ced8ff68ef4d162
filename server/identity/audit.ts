import { createHmac, hash, hkdfSync } from 'node:crypto';
import { Readable } from 'node:stream';
import type { MasterKey, Place, Encryption } from '../db/encryption.ts';
import { csvLine } from '../csv.ts';
import type { AuditRow } from '../db/entities/identity.ts';
import { auditHashAfter } from '../db/queries/identity.ts';
import type { ReadTx, Store, Tx } from '../db/store.ts';
import type { Actor, AuditFilter, IdentityQueries } from './ports.ts';

/** Secrets in `before` and `after` are masked in the log. */
export interface AuditEntry {
  readonly actorKind: Actor['kind'];
  readonly actor: string;
  /** The action in the form `noun.verb`, for example `app.rotate-secret`. */
  readonly action: string;
  readonly target: string;
  readonly before?: object | null;
  readonly after?: object | null;
  readonly ip?: string | null;
  readonly requestId?: string | null;
}

/**
 * Appends a line to the audit log in the transaction of the action, so that either both are committed or neither. Call
 * it last in a transaction, because the log stays locked until the commit.
 */
export type Audit = (tx: Tx, entry: AuditEntry) => Promise<void>;

/** A transaction announces a new audit line under this name (`tx.afterCommit`). This process remembers the line. */
export const NEW_TIP = 'audit-tip';
export type NewTip = AuditTip & Pick<AuditEntry, 'action'>;

/** If an administrator exists, every log must contain a line with this action. */
export const FIRST_ADMIN = 'bootstrap.admin';
/** The action of a line that reports a loss: a line that was committed before is no longer in the log. */
export const LINES_LOST = 'audit.lines-lost';
/** The actor of lines that the service writes without a request. */
const SERVICE: Actor = { kind: 'system', name: 'service' };

/**
 * Creates the function that writes the audit log. If it detects that lines were lost, it writes a line about the loss
 * first. Without that line, new lines would hide the loss.
 */
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

/** Returns the fields of an audit entry that describe the actor. Use: `audit(tx, { ...by(actor), action, target })`. */
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

/** The first line has no line before it and uses this value as previous hash. */
export const firstHash = '0'.repeat(64);

type Line = Omit<AuditRow, 'id' | 'hash'>;

/** Returns the hash of a line: an HMAC-SHA-256 over the previous hash and every column. */
export function chainHash(line: Line, { id, key }: AuditKey): string {
  const { previousHash, at, actorKind, actor, action, target, before, after, ip, requestId } = line;
  const facts = [id, previousHash, at.toISOString(), actorKind, actor, action, target, before, after, ip, requestId];
  const text = JSON.stringify(facts.map((fact) => ordered(fact ?? null)));
  return createHmac('sha256', key).update(text).digest('hex');
}

/** Sorts the properties of objects, because the database may return those of JSON values in another sequence. */
function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, ordered(member)]),
  );
}

/** A line of the audit log. `after` is the id of the line before it. */
export interface AuditTip {
  readonly after: string;
  readonly hash: string;
}

/** The newest committed line that this process knows, in memory, so that a database attacker cannot change it. */
export interface KnownTip {
  /** Stores a line after its commit. */
  note(tip: AuditTip): void;
  /** Reads the last line of the log and stores it, if no line is known yet. */
  learn(tx: ReadTx): Promise<void>;
  /** Returns the known line if the log no longer contains it. `last`: the last line of the log, if already read. */
  lost(tx: ReadTx, last?: { hash: string }): Promise<AuditTip | undefined>;
}

/** Creates a `KnownTip` that knows no line yet. */
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

/** Returns a copy for the permanent log: secrets, found by field name or form, are masked, long texts are cut. */
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

/** Each audit line contains the id of its key. The key cannot be derived from this id. */
export interface AuditKey {
  readonly id: string;
  readonly key: Uint8Array;
}

/** New lines use the newest key. Older lines are verified with the key whose id they contain. */
export interface AuditKeys {
  readonly newest: AuditKey;
  all(): Promise<{ configured: readonly AuditKey[]; former: readonly AuditKey[] }>;
}

/**
 * Derives an audit log key from a master key (HKDF-SHA-256). The master key is not in the database, so a reader of the
 * database cannot compute the audit log key.
 */
export function deriveAuditKey({ key: master }: Pick<MasterKey, 'key'>): AuditKey {
  const key = new Uint8Array(hkdfSync('sha256', master, 'unified-payment-service', 'audit-log', 32));
  return { id: hash('sha256', key).slice(0, 16), key };
}

interface AuditKeyParts {
  store: Store;
  masterKeys: readonly MasterKey[];
  encryption: Pick<Encryption, 'open'>;
}

/** Creates the audit log keys that belong to the configured master keys. */
export function createAuditKeys({ store, masterKeys, encryption }: AuditKeyParts): AuditKeys {
  const configured = masterKeys.map(deriveAuditKey);
  const [newest] = configured;
  if (!newest) throw new TypeError('The configuration contains no master key (Security.MasterKey).');
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

/**
 * Stores the audit log keys of older master keys, so that lines with these keys can still be verified after the master
 * keys are removed from the configuration.
 */
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
 * Appends a line with the newest key if the last line has a former key. The new line protects the lines before it
 * against changes with the former key. Also appends a line if this process detects that lines were lost. Returns the
 * hash of the last line, or undefined if the log is empty.
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

export const AUDIT_FORMATS = ['csv', 'ndjson'] as const;
type AuditFormat = (typeof AUDIT_FORMATS)[number];

type ShownLine = Record<string, unknown>;

interface AuditExportPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'auditLines'>;
  audit: Audit;
}

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
 * Exports all matching lines of the audit log, the newest first. The export itself is recorded first, so an export
 * without a filter begins with its own audit line.
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

export type ExportAudit = ReturnType<typeof exportAudit>;

function toCsv(shown: ShownLine): string {
  return csvLine(
    COLUMNS.map((name) => {
      const value = shown[name];
      return typeof value === 'object' && value !== null ? JSON.stringify(value) : (value as string | null);
    }),
  );
}
