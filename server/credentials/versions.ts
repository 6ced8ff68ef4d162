// Versions of a channel configuration: functions that read and write them, and that build channels from them.
import { hash, randomUUID } from 'node:crypto';
import type { CertRow, ChannelConfigRow } from '../db/entities/credentials.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import {
  type Channel,
  type ChannelInput,
  type ChannelKind,
  ChannelMisconfigured,
  type Download,
  type KeyOrigin,
  type Mode,
  type PayWay,
  type Transport,
} from '../payments/channel.ts';
import { isRoot } from './pem.ts';
import type { CredentialPorts } from './ports.ts';
import { ConfigurationBroken } from './errors.ts';
import { DecryptionFailed, type Encryption, privatePartPlace, secretsPlace } from '../db/encryption.ts';
import { type LockedCredentials, chosenCerts, isUsable, sameAccount, verifyingKinds } from './trust.ts';

/** Decrypts a text; throws DecryptionFailed. */
export type Decrypt = Encryption['open'];

interface Surroundings {
  simulatorUrl: string | null;
  /** Absent = the notification address of a message is not compared with the service's own. */
  publicUrl?: string | undefined;
  transportTo: (payWay: PayWay) => Transport;
  /** Downloads files that channels provide, such as certificates. Absent = files are not downloaded. */
  download?: Download | undefined;
  now: () => Date;
  keep?: ChannelInput['keep'];
}

export type Finder = Pick<ChannelConfigRow, 'project' | 'payWay' | 'mode' | 'account'>;

/** The author (`createdBy`) of the configurations and keys that the service created for the simulator. */
export const SIMULATOR = 'simulator';

export interface VersionRows {
  config: ChannelConfigRow;
  certs: CertRow[];
  /** All distrusted certificates of the account, including those that this version does not list. */
  distrusted: CertRow[];
}

/** Reads a version with its certificates, including deleted ones; undefined if the version does not exist. */
export async function readVersion(tx: ReadTx, configId: string): Promise<VersionRows | undefined> {
  const config = await tx.channelConfigs.find({ id: configId });
  if (!config) return undefined;
  const rows = config.certIds.length > 0 ? await tx.certs.list({ id: config.certIds }) : [];
  const byId = new Map(rows.map((cert) => [cert.id, cert]));
  const { project, payWay } = config;
  const untrusted = await tx.certs.list({ project, payWay, trustedAt: null });
  const distrusted = untrusted.filter((cert) => cert.trustedBy !== null && sameAccount(cert, config));
  return { config, certs: config.certIds.flatMap((id) => byId.get(id) ?? []), distrusted };
}

/**
 * Builds a channel: decrypts the secrets of the version and imports its keys. The parameter `identity` is the
 * configuration version whose payee account is used: the fields that identify this account come from it. All other
 * fields come from `rows`. Throws DecryptionFailed or ChannelMisconfigured.
 */
export function buildChannel(
  kind: ChannelKind,
  rows: VersionRows,
  identity: ChannelConfigRow,
  decrypt: Decrypt,
  surroundings: Surroundings,
): Channel {
  return kind.create(inputOf(kind, rows, identity, decrypt, surroundings));
}

/** The address to which a channel sends the notifications for a project. */
export function notifyUrlOf(publicUrl: string, payWay: PayWay, project: string): string {
  return `${publicUrl}/notify/${payWay}/${project}`;
}

/**
 * Returns the input for building a channel from a version. The parameter `identity` is the configuration version from
 * which the fields of the payee account come. Verification keys that are not trusted any more are left out. Keys of
 * another account are left out too.
 */
export function inputOf(
  kind: ChannelKind,
  { config, certs: all, distrusted }: VersionRows,
  identity: ChannelConfigRow,
  decrypt: Decrypt,
  { simulatorUrl, publicUrl, transportTo, download, now, keep }: Surroundings,
): ChannelInput {
  const verifying = verifyingKinds(kind);
  const certs = all.filter((cert) => isUsable(cert, verifying, config));
  return {
    mode: config.mode,
    fields: fieldsOf(kind, config, identity, decrypt),
    pems: pemsOf(certs, decrypt),
    origins: originsOf(config, certs),
    distrusted: pemsOf(distrusted, decrypt),
    simulatorUrl,
    notifyUrl: publicUrl && notifyUrlOf(publicUrl, kind.payWay, config.project),
    send: transportTo(kind.payWay),
    ...(download && { download }),
    now,
    ...(keep && { keep }),
  };
}

function fieldsOf(kind: ChannelKind, config: ChannelConfigRow, identity: ChannelConfigRow, decrypt: Decrypt) {
  const fields: Record<string, string> = { ...config.fields, ...openSecrets(config, decrypt) };
  if (identity.id === config.id) return fields;
  const pinned = kind.fields.filter((field) => field.pinned);
  const needsSecrets = pinned.some(({ name }) => name in identity.fingerprints);
  const kept: Record<string, string> = { ...identity.fields, ...(needsSecrets ? openSecrets(identity, decrypt) : {}) };
  for (const { name } of pinned) {
    const { [name]: value } = kept;
    if (value === undefined) delete fields[name];
    else fields[name] = value;
  }
  return fields;
}

/** Decrypts the secret fields of a version. Throws DecryptionFailed. */
export function openSecrets(config: ChannelConfigRow, decrypt: Decrypt): Record<string, string> {
  if (!config.encrypted) return {};
  return JSON.parse(decrypt(secretsPlace(config), config.encrypted)) as Record<string, string>;
}

/** Returns the PEM texts by certificate kind, in the sequence of `certs`. Throws DecryptionFailed. */
export function pemsOf(certs: readonly CertRow[], decrypt: Decrypt): Record<string, string[]> {
  const pems: Record<string, string[]> = {};
  for (const cert of certs) {
    const pem = cert.encrypted ? decrypt(privatePartPlace(cert), cert.encrypted) : cert.publicPem;
    if (pem) (pems[cert.kind] ??= []).push(pem);
  }
  return pems;
}

/** Simulator keys have no date of trust, because their age is not checked. */
function originsOf({ mode }: ChannelConfigRow, certs: readonly CertRow[]): Map<string, KeyOrigin> {
  const origins = new Map<string, KeyOrigin>();
  for (const { id, publicPem, trustedAt, trustedBy } of certs) {
    const isSimulators = mode === 'simulator' && trustedBy === SIMULATOR;
    if (publicPem && trustedAt) origins.set(publicPem, { certId: id, since: isSimulators ? null : trustedAt });
  }
  return origins;
}

/** A draft's fields are not encrypted; the version lists the certificates in the sequence of `certs`. */
interface VersionDraft {
  mode: Mode;
  fields: Record<string, string>;
  certs: CertRow[];
  missing: string[];
}

/**
 * Creates the draft of a configuration version. If no field and no certificate is missing, the function builds a
 * channel from the draft as a test. Throws ChannelMisconfigured if the test fails.
 */
export function draftVersion(
  ports: CredentialPorts,
  kind: ChannelKind,
  locked: LockedCredentials,
  { mode, fields }: Pick<VersionDraft, 'mode' | 'fields'>,
  certs = chosenCerts(locked.certs, verifyingKinds(kind), { mode, account: kind.accountOf(fields) }),
): VersionDraft {
  const missing = kind.missing(mode, fields, new Set(certs.map((cert) => cert.kind)));
  if (missing.length === 0 && !(mode === 'simulator' && ports.simulatorUrl === null))
    tryOut(ports, kind, locked, mode, fields, certs);
  return { mode, fields, certs, missing };
}

/** Stores the draft as the current version; the first configuration of a channel also enables the channel. */
export async function insertVersion(
  tx: Tx,
  { encryption, now }: Pick<CredentialPorts, 'encryption' | 'now'>,
  kind: ChannelKind,
  locked: LockedCredentials,
  draft: VersionDraft,
  createdBy: string,
): Promise<ChannelConfigRow> {
  const { project, payWay, state } = locked;
  const isSecret = new Set(kind.fields.filter(({ secret }) => secret).map(({ name }) => name));
  const entries = Object.entries(draft.fields);
  const secrets = Object.fromEntries(entries.filter(([name]) => isSecret.has(name)));
  const at = now();
  const row: ChannelConfigRow = {
    id: randomUUID(),
    project,
    payWay,
    version: (state?.version ?? 0) + 1,
    mode: draft.mode,
    account: kind.accountOf(draft.fields),
    fields: Object.fromEntries(entries.filter(([name]) => !isSecret.has(name))),
    encrypted: null,
    fingerprints: Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, fingerprintOf(value)])),
    certIds: draft.certs.map(({ id }) => id),
    missing: draft.missing,
    createdBy: createdBy.slice(0, 128),
    createdAt: at,
  };
  row.encrypted = encryption.encrypt(secretsPlace(row), JSON.stringify(secrets));
  await tx.channelConfigs.insert(row);
  const current = { version: row.version, certsExpireAt: firstExpiry(draft.certs), updatedAt: at };
  if (state) {
    const unknownHealth = { lastFailureAt: null, lastFailure: null, refusedNotices: null };
    await tx.channelStates.update({ id: state.id }, { ...current, ...unknownHealth });
    locked.state = { ...state, ...current, ...unknownHealth };
  } else {
    const unknownHealth = {
      lastSuccessAt: null,
      lastFailureAt: null,
      lastFailure: null,
      lastNoticeAt: null,
      refusedNotices: null,
    };
    locked.state = { id: randomUUID(), project, payWay, enabled: true, trustRevision: 0, ...current, ...unknownHealth };
    await tx.channelStates.insert(locked.state);
  }
  locked.config = row;
  return row;
}

/**
 * Writes a new configuration version if the channel must use other certificates than the current version lists. Without
 * `anyhow`, an incomplete version does not replace a complete version. With `anyhow` it does. Callers set `anyhow`
 * after a certificate was removed or distrusted, because the current version cannot be used any more.
 */
export async function updateCerts(
  tx: Tx,
  ports: CredentialPorts,
  kind: ChannelKind,
  locked: LockedCredentials,
  createdBy: string,
  { anyhow = false } = {},
): Promise<void> {
  const { config } = locked;
  if (!config) return;
  const chosen = chosenCerts(locked.certs, verifyingKinds(kind), config).map(({ id }) => id);
  if (chosen.join() === config.certIds.join()) return;
  const draft = anyhow
    ? await draftOfRest(tx, ports, kind, locked, config)
    : draftVersion(ports, kind, locked, draftOf(ports, config));
  if (!draft || (!anyhow && draft.missing.length > 0 && config.missing.length === 0)) return;
  await insertVersion(tx, ports, kind, locked, draft, createdBy);
}

function draftOf(ports: CredentialPorts, config: ChannelConfigRow): Pick<VersionDraft, 'mode' | 'fields'> {
  return { mode: config.mode, fields: { ...config.fields, ...openOrRefuse(ports, config) } };
}

/**
 * Creates the draft of the next configuration version after a certificate was removed or distrusted. The first choice
 * is a draft with the default certificates. It is returned if it is complete. It is also returned if the current
 * version is incomplete. Otherwise the draft has the certificates of the current version that are still usable. Returns
 * undefined if all of these are still usable, or if the secrets cannot be decrypted.
 */
async function draftOfRest(
  tx: Tx,
  ports: CredentialPorts,
  kind: ChannelKind,
  locked: LockedCredentials,
  config: ChannelConfigRow,
): Promise<VersionDraft | undefined> {
  const verifying = verifyingKinds(kind);
  const rest = (await readVersion(tx, config.id))?.certs.filter((cert) => isUsable(cert, verifying, config)) ?? [];
  try {
    const draft = draftOf(ports, config);
    const whole = draftAnyhow(ports, kind, locked, draft, chosenCerts(locked.certs, verifying, config));
    if (whole.missing.length === 0 || config.missing.length > 0) return whole;
    if (rest.length === config.certIds.length) return undefined;
    return draftAnyhow(ports, kind, locked, draft, rest);
  } catch (error) {
    if (error instanceof ConfigurationBroken) return undefined;
    throw error;
  }
}

/**
 * Creates the draft of a configuration version like `draftVersion`, but does not throw ChannelMisconfigured. If the
 * test of the draft fails, the draft lists the invalid field as missing.
 */
function draftAnyhow(
  ports: CredentialPorts,
  kind: ChannelKind,
  locked: LockedCredentials,
  draft: Pick<VersionDraft, 'mode' | 'fields'>,
  certs: CertRow[],
): VersionDraft {
  try {
    return draftVersion(ports, kind, locked, draft, certs);
  } catch (error) {
    if (!(error instanceof ChannelMisconfigured)) throw error;
    return { ...draft, certs, missing: [error.field] };
  }
}

/** The first date on which all certificates of one kind are expired; root certificates are ignored. */
function firstExpiry(certs: readonly CertRow[]): Date | null {
  const dated = certs.filter(({ kind, notAfter }) => notAfter !== null && !isRoot(kind));
  const ends = [...Map.groupBy(dated, ({ kind }) => kind).values()].map((ofKind) =>
    Math.max(...ofKind.map(({ notAfter }) => notAfter!.getTime())),
  );
  return ends.length > 0 ? new Date(Math.min(...ends)) : null;
}

/** Decrypts the secret fields of a version. Throws ConfigurationBroken. */
function openOrRefuse({ encryption }: Pick<CredentialPorts, 'encryption'>, config: ChannelConfigRow) {
  return refusingBroken(config, () => openSecrets(config, encryption.open));
}

/**
 * Returns a text by which an administrator recognises a secret: eight hexadecimal digits of its hash. If the secret has
 * at least 16 characters, its last four characters follow.
 */
function fingerprintOf(secret: string): string {
  const digits = hash('sha256', secret).slice(0, 8);
  return secret.length >= 16 ? `${digits}…${secret.slice(-4)}` : digits;
}

function tryOut(
  { encryption, simulatorUrl, transportTo, now }: CredentialPorts,
  kind: ChannelKind,
  { project, payWay }: LockedCredentials,
  mode: Mode,
  fields: Record<string, string>,
  certs: CertRow[],
): void {
  const pems = refusingBroken({ project, payWay }, () => pemsOf(certs, encryption.open));
  kind.create({ mode, fields, pems, simulatorUrl, send: transportTo(kind.payWay), now });
}

function refusingBroken<T>({ project, payWay }: Pick<ChannelConfigRow, 'project' | 'payWay'>, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof DecryptionFailed ? new ConfigurationBroken(project, payWay, error) : error;
  }
}
