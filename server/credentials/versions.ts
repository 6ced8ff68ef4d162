// Versions of a channel configuration: read, made into a channel, drafted and written.
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

/** Opens a sealed text; throws DecryptionFailed. */
export type Decrypt = Encryption['open'];

/** What a channel is made from, beside its configuration. */
interface Surroundings {
  simulatorUrl: string | null;
  /** Where this service is reached; left out = nobody looks where notices go. */
  publicUrl?: string | undefined;
  transportTo: (payWay: PayWay) => Transport;
  /** Fetches the files that channels hand out; left out = none can be had. */
  download?: Download | undefined;
  now: () => Date;
  keep?: ChannelInput['keep'];
}

/** Whose channel handed a certificate out: the configuration that it was built from. */
export type Finder = Pick<ChannelConfigRow, 'project' | 'payWay' | 'mode' | 'account'>;

/** The name under which the simulator's own configurations and keys are stored. */
export const SIMULATOR = 'simulator';

/** One configuration version with the certificates it was made with. */
export interface VersionRows {
  config: ChannelConfigRow;
  certs: CertRow[];
  /** What an administrator distrusts at this channel, of this version or not. */
  distrusted: CertRow[];
}

/** Reads a version; undefined when there is none. Certificates that were deleted since are still read. */
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
 * Opens a version's secrets and imports its keys; throws DecryptionFailed or ChannelMisconfigured. Whose money it is comes from
 * `identity`, all the rest from the version itself.
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

/** Where a channel sends its notices about a project. */
export function notifyUrlOf(publicUrl: string, payWay: PayWay, project: string): string {
  return `${publicUrl}/notify/${payWay}/${project}`;
}

/**
 * The input that a channel is made from: a version as it is, or for another identity. Even if the version lists others, only the keys of its
 * own account are used, and of what verifies only what is trusted now.
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

/** The secret fields of a version; throws DecryptionFailed. */
export function openSecrets(config: ChannelConfigRow, decrypt: Decrypt): Record<string, string> {
  if (!config.encrypted) return {};
  return JSON.parse(decrypt(secretsPlace(config), config.encrypted)) as Record<string, string>;
}

/** The PEM texts of certificates by kind, in their order; throws DecryptionFailed. */
export function pemsOf(certs: readonly CertRow[], decrypt: Decrypt): Record<string, string[]> {
  const pems: Record<string, string[]> = {};
  for (const cert of certs) {
    const pem = cert.encrypted ? decrypt(privatePartPlace(cert), cert.encrypted) : cert.publicPem;
    if (pem) (pems[cert.kind] ??= []).push(pem);
  }
  return pems;
}

/** What is known of each key that verifies, by its PEM text. The age of a key that Debug's own simulator brought says nothing. */
function originsOf({ mode }: ChannelConfigRow, certs: readonly CertRow[]): Map<string, KeyOrigin> {
  const origins = new Map<string, KeyOrigin>();
  for (const { id, publicPem, trustedAt, trustedBy } of certs) {
    const isSimulators = mode === 'simulator' && trustedBy === SIMULATOR;
    if (publicPem && trustedAt) origins.set(publicPem, { certId: id, since: isSimulators ? null : trustedAt });
  }
  return origins;
}

/** What a new version is to be: all fields in the clear, and the certificates in their order. */
interface VersionDraft {
  mode: Mode;
  fields: Record<string, string>;
  certs: CertRow[];
  missing: string[];
}

/** Puts a draft together and tries it; throws ChannelMisconfigured when it is complete and cannot be used. */
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

/** Writes the draft as the next version and makes it current; a new configuration is enabled. */
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
 * After a change of certificates: the current version stays as it was made, and a new one takes over as soon as the new set
 * is complete. A set that is still lacking something never replaces a version that works, unless something was taken away:
 * `anyhow` = the new version takes over and says what it lacks, for the present one lacks it from now on too.
 */
export async function followCerts(
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
 * What takes over when something was taken away: the whole new set if it is complete, else what is left of the present version.
 * Undefined when nothing of it was taken away, or when the secrets do not open.
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

/** A draft that is complete and cannot be used lacks what is at fault. */
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

/** When the first of the certificates expires that must not; of a kind that has several the last one, which takes over. */
function firstExpiry(certs: readonly CertRow[]): Date | null {
  const dated = certs.filter(({ kind, notAfter }) => notAfter !== null && !isRoot(kind));
  const ends = [...Map.groupBy(dated, ({ kind }) => kind).values()].map((ofKind) =>
    Math.max(...ofKind.map(({ notAfter }) => notAfter!.getTime())),
  );
  return ends.length > 0 ? new Date(Math.min(...ends)) : null;
}

/** The secret fields of a version; throws ConfigurationBroken. */
function openOrRefuse({ encryption }: Pick<CredentialPorts, 'encryption'>, config: ChannelConfigRow) {
  return refusingBroken(config, () => openSecrets(config, encryption.open));
}

/** A secret as it may be shown: eight digits of its hash, and its end when it is long enough to spare it. */
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
