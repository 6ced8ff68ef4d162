import { hash, randomUUID } from 'node:crypto';
import type { CertRow, ChannelConfigRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import { ChannelMisconfigured, type ChannelKind, type Mode } from '../payments/channel.ts';
import { chosenCerts, type LockedCredentials } from './locked-credentials.ts';
import { openSecrets, pemsOf, readVersion } from './build.ts';
import { isRoot } from './cert-parse.ts';
import { secretsPlace } from './places.ts';
import type { CredentialPorts } from './ports.ts';
import { ConfigurationBroken } from './refusals.ts';
import { SealBroken } from './sealing.ts';
import { isUsable, verifyingKinds } from './trust.ts';

/** What a new version is to be: all fields in the clear, and the certificates in their order. */
export interface VersionDraft {
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
  { sealing, now }: Pick<CredentialPorts, 'sealing' | 'now'>,
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
    sealed: null,
    fingerprints: Object.fromEntries(Object.entries(secrets).map(([name, value]) => [name, fingerprintOf(value)])),
    certIds: draft.certs.map(({ id }) => id),
    missing: draft.missing,
    createdBy: createdBy.slice(0, 128),
    createdAt: at,
  };
  row.sealed = sealing.seal(secretsPlace(row), JSON.stringify(secrets));
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
export function firstExpiry(certs: readonly CertRow[]): Date | null {
  const dated = certs.filter(({ kind, notAfter }) => notAfter !== null && !isRoot(kind));
  const ends = [...Map.groupBy(dated, ({ kind }) => kind).values()].map((ofKind) =>
    Math.max(...ofKind.map(({ notAfter }) => notAfter!.getTime())),
  );
  return ends.length > 0 ? new Date(Math.min(...ends)) : null;
}

/** The secret fields of a version; throws ConfigurationBroken. */
export function openOrRefuse({ sealing }: Pick<CredentialPorts, 'sealing'>, config: ChannelConfigRow) {
  return refusingBroken(config, () => openSecrets(config, sealing.open));
}

/** A secret as it may be shown: eight digits of its hash, and its end when it is long enough to spare it. */
export function fingerprintOf(secret: string): string {
  const digits = hash('sha256', secret).slice(0, 8);
  return secret.length >= 16 ? `${digits}…${secret.slice(-4)}` : digits;
}

function tryOut(
  { sealing, simulatorUrl, transportTo, now }: CredentialPorts,
  kind: ChannelKind,
  { project, payWay }: LockedCredentials,
  mode: Mode,
  fields: Record<string, string>,
  certs: CertRow[],
): void {
  const pems = refusingBroken({ project, payWay }, () => pemsOf(certs, sealing.open));
  kind.create({ mode, fields, pems, simulatorUrl, send: transportTo(kind.payWay), now });
}

function refusingBroken<T>({ project, payWay }: Pick<ChannelConfigRow, 'project' | 'payWay'>, open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw error instanceof SealBroken ? new ConfigurationBroken(project, payWay, error) : error;
  }
}
