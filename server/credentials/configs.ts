// The operations on channel configurations, how the API shows a configuration, and the registration of notifications at
// a channel.
import { type ShownRefusal, refusedOf } from '../payments/notification-refusal.ts';
import { CERT_PAIRS } from '../domain.ts';
import type { CertRow, ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { type FieldError, InvalidRequest } from '../errors.ts';
import {
  type ChannelKind,
  ChannelMisconfigured,
  type Mode,
  type NotificationsRegistered,
  type PayWay,
  type ProbeResult,
  type Registration,
  type Scene,
} from '../payments/channel.ts';
import { NotAPair, requireNotSimulators } from './certs.ts';
import type { ConfiguredChannels } from './channels.ts';
import {
  type ConfigChange,
  type ConfigInput,
  MASKED,
  accountNamed,
  applyCerts,
  bringsCerts,
  mergeFields,
  readChange,
  refused,
  simulatorsRefused,
  withoutAccount,
} from './config-change.ts';
import { refuseMode } from './live-guard.ts';
import { leaveModes } from './other-modes.ts';
import { publicKeyOf } from './pem.ts';
import { type Acting, type CredentialPorts, kindOf, requireProject, actorColumns } from './ports.ts';
import { NothingConfigured } from './errors.ts';
import { DecryptionFailed } from '../db/encryption.ts';
import { type ChannelStatus, decryptionFaultOf, statusOf } from './status.ts';
import {
  type Account,
  type LockedCredentials,
  bindToAccount,
  isUsable,
  lockCredentials,
  sameAccount,
  trustOf,
  verifyingKinds,
} from './trust.ts';
import {
  SIMULATOR,
  type Decrypt,
  type VersionRows,
  draftVersion,
  inputOf,
  insertVersion,
  notifyUrlOf,
  openSecrets,
  readVersion,
} from './versions.ts';

export interface ChannelConfigs {
  /** Returns one entry for every channel, including channels that are not configured. */
  list(project: string): Promise<ConfigView[]>;
  read(project: string, payWay: string): Promise<ConfigView>;
  schema(payWay: string): ChannelKind;
  /** Whether a request sets or clears certificates or keys, for which an application needs an additional scope. */
  bringsCerts(payWay: string, input: ConfigInput): boolean;
  /**
   * Writes a new version of the configuration. Absent fields and fields with `***` keep their value, and null clears a
   * field. A PEM text becomes the default certificate of its kind.
   */
  write(acting: Acting, payWay: string, input: ConfigInput): Promise<ConfigView>;
  /** Enables or disables the channel for new orders; without `enabled`, toggles it. Orders in progress continue. */
  toggle(acting: Acting, payWay: string, enabled: boolean | undefined): Promise<ConfigView>;
  /** Tests the current configuration, and the products that the given scenes (ways to pay) need. */
  probe(project: string, payWay: string, products?: 'all' | readonly Scene[]): Promise<ProbeResult>;
}

/**
 * Creates the operations on channel configurations. Each change is one transaction. Changes of the same project and
 * channel run one after another.
 */
export function createChannelConfigs(
  ports: CredentialPorts,
  channels: Pick<ConfiguredChannels, 'probe'>,
): ChannelConfigs {
  const { store, kinds, simulated, now } = ports;
  const view = (tx: ReadTx, project: string, kind: ChannelKind) =>
    readView(tx, project, kind, { simulated, now: now(), decrypt: ports.encryption.open, publicUrl: ports.publicUrl });
  return {
    list: (project) =>
      store.read(async (tx) => {
        await requireProject(tx, project);
        const views: ConfigView[] = [];
        for (const kind of kinds.values()) views.push(await view(tx, project, kind));
        return views;
      }),
    read: (project, payWay) =>
      store.read(async (tx) => {
        await requireProject(tx, project);
        return view(tx, project, kindOf(ports, payWay));
      }),
    schema: (payWay) => kindOf(ports, payWay),
    bringsCerts: (payWay, input) => bringsCerts(kindOf(ports, payWay), input),
    write: (acting, payWay, input) =>
      store.transaction(async (tx) => {
        await requireProject(tx, acting.project);
        const kind = kindOf(ports, payWay);
        const locked = await lockCredentials(tx, acting.project, kind.payWay);
        await writeVersion(tx, ports, kind, locked, acting, input);
        return view(tx, acting.project, kind);
      }),
    toggle: ({ actor, project }, payWay, wanted) =>
      store.transaction(async (tx) => {
        const kind = kindOf(ports, payWay);
        const { state, config } = await lockCredentials(tx, project, kind.payWay);
        if (!state || !countsAsUsable(config, simulated)) throw new NothingConfigured(kind.payWay);
        const enabled = wanted ?? !state.enabled;
        await tx.channelStates.update({ id: state.id }, { enabled, updatedAt: now() });
        const [before, after] = [{ enabled: state.enabled }, { enabled }];
        const action = 'channel-config.toggle';
        await ports.audit(tx, { ...actorColumns(actor), action, target: `${project}/${payWay}`, before, after });
        return view(tx, project, kind);
      }),
    probe: async (project, payWay, products) => {
      await store.read((tx) => requireProject(tx, project));
      const kind = kindOf(ports, payWay);
      return channels.probe(project, kind.payWay, products && { products: scenesOf(kind, products) });
    },
  };
}

function scenesOf({ scenes, name }: ChannelKind, requested: 'all' | readonly Scene[]): Scene[] {
  if (requested === 'all') return Object.keys(scenes) as Scene[];
  const unknown = requested.findIndex((scene) => !scenes[scene]);
  if (unknown < 0) return [...new Set(requested)];
  const detail = `must be one of ${Object.keys(scenes).join(', ')}`;
  throw new InvalidRequest(`${name} has no scene ${requested[unknown]}.`, [
    { pointer: `/products/${unknown}`, code: 'unknown_scene', detail },
  ]);
}

/**
 * Writes the next version of a configuration and its audit entry. The caller holds the lock of the configuration.
 * Throws a 400 that lists the invalid fields.
 */
export async function writeVersion(
  tx: Tx,
  ports: CredentialPorts,
  kind: ChannelKind,
  locked: LockedCredentials,
  { actor, project }: Acting,
  input: ConfigInput,
): Promise<void> {
  const { state, config } = locked;
  const change = readChange(ports, kind, input, config?.mode);
  const { mode } = change;
  refuseMode(ports.purpose, mode);
  const fields = mergeFields(kind, await fieldsBefore(tx, ports, kind, config, change), change);
  const of = { mode, account: kind.accountOf(fields) };
  const before = config && state ? facts(config, state) : null;
  if (actor.name !== SIMULATOR) await takeUnbound(tx, kind, locked, of, ports.now());
  await applyCerts(tx, ports, locked, change, { actor, of });
  requirePairs(locked, of);
  const draft = tryDraft(() => draftVersion(ports, kind, locked, { mode, fields }));
  // After a change of mode the configuration may be incomplete although the former version was complete, because each
  // mode has its own keys.
  if (draft.missing.length > 0 && config?.missing.length === 0 && config.mode === mode)
    throw refused(draft.missing.map((name) => lacking(name, locked, of, config)));
  const row = await insertVersion(tx, ports, kind, locked, draft, actor.name);
  const after = facts(row, locked.state!);
  const target = `${project}/${kind.payWay}`;
  await ports.audit(tx, { ...actorColumns(actor), action: 'channel-config.write', target, before, after });
  if (config && config.mode !== mode) await leaveModes(tx, ports, kind, locked, actor);
}

/**
 * Returns the fields that a change modifies. Usually these are the fields of the current version. If the change selects
 * another account or mode, they are the fields of the newest version with this account and mode. Secrets and
 * account-specific fields of one account are never copied to another account.
 */
async function fieldsBefore(
  tx: Tx,
  ports: CredentialPorts,
  kind: ChannelKind,
  config: ChannelConfigRow | undefined,
  change: ConfigChange,
): Promise<Record<string, string>> {
  if (!config) return {};
  const fieldsOf = (row: ChannelConfigRow) => ({ ...row.fields, ...readableSecrets(ports, row) });
  const { project, payWay } = config;
  const { mode } = change;
  const account = accountNamed(kind, change);
  if (mode === config.mode && (account === '' || account === config.account)) return fieldsOf(config);
  const where = { project, payWay, mode, ...(account !== '' && { account }) };
  const [newest] = await tx.channelConfigs.list(where, { orderBy: { version: 'desc' }, limit: 1 });
  return newest ? fieldsOf(newest) : withoutAccount(kind, fieldsOf(config));
}

/** Assigns certificates that were uploaded before the first configuration to the account of that configuration. */
async function takeUnbound(tx: Tx, kind: ChannelKind, locked: LockedCredentials, of: Account, at: Date): Promise<void> {
  const verifying = verifyingKinds(kind);
  for (const cert of locked.certs.filter((one) => one.mode === null && verifying.has(one.kind)))
    await requireNotSimulators(tx, { ...cert, mode: of.mode }).catch(simulatorsRefused(cert.kind));
  await bindToAccount(tx, locked, of, { verifying, at });
}

function lacking(name: string, { certs }: LockedCredentials, of: Account, former: Account): FieldError {
  const pointer = `/${name}`;
  const ofKind = certs.filter(({ kind, isDefault }) => kind === name && isDefault);
  if (ofKind.length > 0 && !ofKind.some((cert) => sameAccount(cert, of))) {
    const { mode, account } = ofKind.find((cert) => sameAccount(cert, former)) ?? ofKind[0]!;
    const detail = `is stored only for ${mode} ${account} and cannot be used for another account: send the one of ${of.mode} ${of.account}`;
    return { pointer, code: 'required', detail };
  }
  if (ofKind.length === 0)
    return { pointer, code: 'required', detail: 'is required, but the changed configuration has no value for it' };
  return { pointer, code: 'not_trusted', detail: 'must first be uploaded and then trusted by an administrator' };
}

/** If the stored secrets cannot be decrypted, they count as missing. A new write can then replace them. */
function readableSecrets({ encryption }: CredentialPorts, config: ChannelConfigRow): Record<string, string> {
  try {
    return openSecrets(config, encryption.open);
  } catch (error) {
    if (error instanceof DecryptionFailed) return {};
    throw error;
  }
}

function requirePairs({ certs }: LockedCredentials, of: Account): void {
  const defaultOf = (kind: string) =>
    certs.find((cert) => cert.kind === kind && cert.isDefault && sameAccount(cert, of));
  for (const [certKind, keyKind] of CERT_PAIRS) {
    const [cert, key] = [defaultOf(certKind), defaultOf(keyKind)];
    if (!cert || !key || publicKeyOf(cert) === publicKeyOf(key)) continue;
    const { code, message } = new NotAPair(keyKind);
    throw new InvalidRequest(message, [{ pointer: `/${certKind}`, code, detail: `does not match ${keyKind}` }]);
  }
}

function tryDraft<T>(draft: () => T): T {
  try {
    return draft();
  } catch (error) {
    if (!(error instanceof ChannelMisconfigured)) throw error;
    throw refused([
      { pointer: `/${error.field}`, code: 'unusable', detail: `cannot be used: ${error.message.replace(/\.$/, '')}` },
    ]);
  }
}

function countsAsUsable(config: ChannelConfigRow | undefined, simulated: boolean): boolean {
  return config !== undefined && config.missing.length === 0 && (simulated || config.mode !== 'simulator');
}

function facts(config: ChannelConfigRow, { enabled }: ChannelStateRow): object {
  const { version, mode, account, fields, fingerprints, certIds, missing } = config;
  return { version, mode, account, enabled, fields, fingerprints, certIds, missing };
}

export type ShownCert = Pick<CertRow, 'id' | 'kind' | 'name' | 'serialNumber' | 'fingerprint' | 'notAfter'>;

/** A certificate that the configuration cannot use, because the certificate belongs to another account or mode. */
type ForeignCert = ShownCert & Pick<CertRow, 'mode' | 'account'>;

/** A configuration as the API shows it: secrets appear only as `***` and a fingerprint. */
export interface ConfigView {
  project: string;
  payWay: PayWay;
  name: string;
  configured: boolean;
  enabled: boolean;
  mode: Mode | null;
  account: string | null;
  version: number | null;
  fields: Record<string, string>;
  fingerprints: Record<string, string>;
  certificates: ShownCert[];
  /** Verification keys that verify no messages before an administrator trusts them. */
  untrusted: ShownCert[];
  missing: string[];
  /** Certificates whose kind the configuration lacks. They exist, but belong to another account or mode. */
  ofOtherAccounts: ForeignCert[];
  /** Values to register at the channel, with the scenes that need them; empty if the public URL is unknown. */
  registrations: readonly Registration<Scene>[];
  status: ChannelStatus;
  /** Why the secrets of the configuration cannot be decrypted. null = they can be decrypted. */
  fault: string | null;
  lastSuccessAt: Date | null;
  lastFailureAt: Date | null;
  lastFailure: string | null;
  lastNoticeAt: Date | null;
  refusedNotices: ShownRefusal | null;
  updatedAt: Date | null;
  updatedBy: string | null;
}

interface ViewSurroundings {
  simulated: boolean;
  now: Date;
  decrypt: Decrypt;
  publicUrl?: string | undefined;
}

async function readView(
  tx: ReadTx,
  project: string,
  kind: ChannelKind,
  surroundings: ViewSurroundings,
): Promise<ConfigView> {
  const { payWay } = kind;
  const state = await tx.channelStates.find({ project, payWay });
  const config = state && (await tx.channelConfigs.find({ project, payWay, version: state.version }));
  const verifying = verifyingKinds(kind);
  const certs = await tx.certs.list({ project, payWay, deletedAt: null });
  const waiting = certs.filter((cert) => trustOf(cert, verifying) === 'waiting');
  if (!state || !config) return { ...nothing(project, kind), untrusted: waiting };
  // A distrusted certificate is listed as waiting for trust again if the configuration has no usable certificate of
  // this kind. This happens for example if the mode is changed and then changed back.
  const isLacked = (cert: CertRow) => trustOf(cert, verifying) === 'distrusted' && config.missing.includes(cert.kind);
  const untrusted = certs.filter((cert) =>
    sameAccount(cert, config) ? waiting.includes(cert) || isLacked(cert) : cert.mode === null && waiting.includes(cert),
  );
  const ofOtherAccounts = certs.filter(
    (cert) => config.missing.includes(cert.kind) && cert.mode !== null && !sameAccount(cert, config),
  );
  // The configuration version may list verification keys that were distrusted after the version was written.
  const used = config.certIds.length > 0 ? await tx.certs.list({ id: config.certIds }) : [];
  const usable = used.filter((cert) => isUsable(cert, verifying, config));
  const fault = decryptionFaultOf({ config, certs: used }, surroundings.decrypt);
  return show(kind, state, config, { usable, untrusted, ofOtherAccounts, fault }, surroundings);
}

function show(
  kind: ChannelKind,
  state: ChannelStateRow,
  config: ChannelConfigRow,
  {
    usable,
    untrusted,
    ofOtherAccounts,
    fault,
  }: Pick<ConfigView, 'ofOtherAccounts' | 'fault'> & {
    usable: readonly CertRow[];
    untrusted: CertRow[];
  },
  { simulated, now, publicUrl }: Omit<ViewSurroundings, 'decrypt'>,
): ConfigView {
  const { project, payWay, mode, account, version, fields, fingerprints, missing } = config;
  const secrets = Object.fromEntries(Object.keys(fingerprints).map((name) => [name, MASKED]));
  const isWhole = missing.length === 0 && (simulated || mode !== 'simulator');
  return {
    project,
    payWay,
    name: kind.name,
    configured: isWhole && fault === null,
    enabled: state.enabled,
    mode,
    account,
    version,
    fields: { ...fields, ...secrets },
    fingerprints,
    certificates: config.certIds.flatMap((id) => usable.find((cert) => cert.id === id) ?? []),
    untrusted,
    missing,
    ofOtherAccounts,
    registrations: registrationsOf(kind, config, publicUrl),
    status: statusOf(
      { ...state, configured: isWhole, awaitsTrust: untrusted.length > 0, isUndecryptable: fault !== null },
      now,
    ),
    fault,
    lastSuccessAt: state.lastSuccessAt,
    lastFailureAt: state.lastFailureAt,
    lastFailure: state.lastFailure,
    lastNoticeAt: state.lastNoticeAt,
    refusedNotices: refusedOf(kind, state, now),
    updatedAt: config.createdAt,
    updatedBy: config.createdBy,
  };
}

function registrationsOf(
  kind: ChannelKind,
  { project, fields }: ChannelConfigRow,
  publicUrl: string | undefined,
): readonly Registration<Scene>[] {
  if (publicUrl === undefined) return [];
  return kind.registrations(fields, { publicUrl, notifyUrl: notifyUrlOf(publicUrl, kind.payWay, project) });
}

function nothing(project: string, { payWay, name }: ChannelKind): ConfigView {
  return {
    project,
    payWay,
    name,
    configured: false,
    enabled: false,
    mode: null,
    account: null,
    version: null,
    fields: {},
    fingerprints: {},
    certificates: [],
    untrusted: [],
    missing: [],
    ofOtherAccounts: [],
    registrations: [],
    status: 'unconfigured',
    fault: null,
    lastSuccessAt: null,
    lastFailureAt: null,
    lastFailure: null,
    lastNoticeAt: null,
    refusedNotices: null,
    updatedAt: null,
    updatedBy: null,
  };
}

/**
 * Registers the service's notification address at the channel, and stores the returned fields in a new configuration
 * version. The channel is called outside any transaction. If the configuration changed during the call, nothing is
 * written.
 */
export async function registerNotifications(
  ports: CredentialPorts,
  acting: Acting,
  payWay: string,
): Promise<ProbeResult> {
  const kind = kindOf(ports, payWay);
  if (!kind.registerNotifications)
    throw new InvalidRequest(
      'The notification address needs no registration at this channel, because every order contains it.',
    );
  const rows = await currentRows(ports, acting.project, kind);
  const result = await requestRegistration(ports, kind, rows);
  if (!result.ok) return result;
  return (await keepRegistered(ports, acting, kind, rows.config, result.fields)) ?? { ok: true };
}

/** Returns the current version with its certificates. Throws NothingConfigured if no configuration exists. */
export async function currentRows(ports: CredentialPorts, project: string, kind: ChannelKind): Promise<VersionRows> {
  const rows = await ports.store.transaction(async (tx) => {
    await requireProject(tx, project);
    const { config } = await lockCredentials(tx, project, kind.payWay);
    return config && (await readVersion(tx, config.id));
  });
  if (!rows) throw new NothingConfigured(kind.payWay);
  return rows;
}

async function requestRegistration(
  ports: CredentialPorts,
  kind: ChannelKind,
  rows: VersionRows,
): Promise<NotificationsRegistered> {
  try {
    return await kind.registerNotifications!(inputOf(kind, rows, rows.config, ports.encryption.open, ports));
  } catch (error) {
    if (!(error instanceof ChannelMisconfigured)) throw error;
    return { ok: false, field: error.field, code: 'misconfigured', message: error.message };
  }
}

/** If the fields that the channel returned are unchanged, no new version is written. */
async function keepRegistered(
  ports: CredentialPorts,
  acting: Acting,
  kind: ChannelKind,
  requested: ChannelConfigRow,
  fields: Readonly<Record<string, string>>,
): Promise<ProbeResult | undefined> {
  return ports.store.transaction(async (tx) => {
    const locked = await lockCredentials(tx, acting.project, kind.payWay);
    if (locked.config?.id !== requested.id) {
      const message = 'The configuration changed during the registration. Try again.';
      return { ok: false, field: null, code: 'changed', message };
    }
    if (Object.entries(fields).every(([name, value]) => requested.fields[name] === value)) return undefined;
    await writeVersion(tx, ports, kind, locked, acting, { mode: requested.mode, ...fields });
    return undefined;
  });
}
