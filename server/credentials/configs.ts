import type { ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { ReadTx, Tx } from '../db/store.ts';
import { InvalidRequest, type FieldError } from '../errors.ts';
import { ChannelMisconfigured, type ChannelKind, type ProbeResult, type Scene } from '../payments/channel.ts';
import { bindToAccount, lockCredentials, type LockedCredentials } from './locked-credentials.ts';
import { openSecrets, SIMULATOR } from './build.ts';
import type { ConfiguredChannels } from './channels.ts';
import {
  accountNamed,
  applyCerts,
  bringsCerts,
  type ConfigChange,
  type ConfigInput,
  mergeFields,
  readChange,
  refused,
  simulatorsRefused,
  withoutAccount,
} from './config-change.ts';
import { readView, type ConfigView } from './config-view.ts';
import { NotAPair, requireNotSimulators } from './keep-cert.ts';
import { refuseMode } from './live-guard.ts';
import { PAIRS, publicKeyOf } from './cert-parse.ts';
import { kindOf, requireProject, whoDid, type Acting, type CredentialPorts } from './ports.ts';
import { NothingConfigured } from './refusals.ts';
import { leaveModes } from './other-modes.ts';
import { SealBroken } from './sealing.ts';
import { type Account, sameAccount, verifyingKinds } from './trust.ts';
import { draftVersion, insertVersion } from './versions.ts';

/** The operations on channel configurations. */
export interface ChannelConfigs {
  /** One entry for every channel, configured or not. */
  list(project: string): Promise<ConfigView[]>;
  read(project: string, payWay: string): Promise<ConfigView>;
  schema(payWay: string): ChannelKind;
  /** Whether what is to be written brings or clears certificates or keys; an application needs another scope for that. */
  bringsCerts(payWay: string, input: ConfigInput): boolean;
  /** Makes a new version; what is left out or `***` stays, null clears, a PEM becomes the default certificate of its kind. */
  write(acting: Acting, payWay: string, input: ConfigInput): Promise<ConfigView>;
  /** Without `enabled` it flips; orders in flight go on either way. */
  toggle(acting: Acting, payWay: string, enabled: boolean | undefined): Promise<ConfigView>;
  /** `products` = the scenes whose products are tried, too. */
  probe(project: string, payWay: string, products?: 'all' | readonly Scene[]): Promise<ProbeResult>;
}

/** Makes the operations; each change is one transaction, and those of one (project, payWay) come one after the other. */
export function createChannelConfigs(
  ports: CredentialPorts,
  channels: Pick<ConfiguredChannels, 'probe'>,
): ChannelConfigs {
  const { store, kinds, simulated, now } = ports;
  const view = (tx: ReadTx, project: string, kind: ChannelKind) =>
    readView(tx, project, kind, { simulated, now: now(), unseal: ports.sealing.open, publicUrl: ports.publicUrl });
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
        if (!state || !isUsable(config, simulated)) throw new NothingConfigured(kind.payWay);
        const enabled = wanted ?? !state.enabled;
        await tx.channelStates.update({ id: state.id }, { enabled, updatedAt: now() });
        const [before, after] = [{ enabled: state.enabled }, { enabled }];
        const action = 'channel-config.toggle';
        await ports.audit(tx, { ...whoDid(actor), action, target: `${project}/${payWay}`, before, after });
        return view(tx, project, kind);
      }),
    probe: async (project, payWay, products) => {
      await store.read((tx) => requireProject(tx, project));
      const kind = kindOf(ports, payWay);
      return channels.probe(project, kind.payWay, products && { products: scenesOf(kind, products) });
    },
  };
}

function scenesOf({ scenes, name }: ChannelKind, asked: 'all' | readonly Scene[]): Scene[] {
  if (asked === 'all') return Object.keys(scenes) as Scene[];
  const unknown = asked.findIndex((scene) => !scenes[scene]);
  if (unknown < 0) return [...new Set(asked)];
  const detail = `must be one of ${Object.keys(scenes).join(', ')}`;
  throw new InvalidRequest(`${name} has no scene ${asked[unknown]}.`, [
    { pointer: `/products/${unknown}`, code: 'unknown_scene', detail },
  ]);
}

/** Writes the next version of the locked credentials, with its audit line. Throws a 400 that names the field at fault. */
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
  // In another mode it is another channel: what the former one had is no reason to keep it.
  if (draft.missing.length > 0 && config?.missing.length === 0 && config.mode === mode)
    throw refused(draft.missing.map((name) => lacking(name, locked, of, config)));
  const row = await insertVersion(tx, ports, kind, locked, draft, actor.name);
  const after = facts(row, locked.state!);
  const target = `${project}/${kind.payWay}`;
  await ports.audit(tx, { ...whoDid(actor), action: 'channel-config.write', target, before, after });
  if (config && config.mode !== mode) await leaveModes(tx, ports, kind, locked, actor);
}

/**
 * The fields that a change starts from: the present ones, or for another account or mode the newest ones of that. What proves or verifies is
 * taken over from no other account.
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

/** Keys that were uploaded before there was a configuration belong to its account from now on. */
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
    const detail = `is there for ${mode} ${account} only, and belongs to no other account: send that of ${of.mode} ${of.account}`;
    return { pointer, code: 'required', detail };
  }
  if (ofKind.length === 0) return { pointer, code: 'required', detail: 'would be missing, but is required' };
  return { pointer, code: 'not_trusted', detail: 'must be uploaded, and trusted by an administrator, first' };
}

/** Secrets that no longer open are as good as missing: writing them anew is the way to repair a configuration. */
function readableSecrets({ sealing }: CredentialPorts, config: ChannelConfigRow): Record<string, string> {
  try {
    return openSecrets(config, sealing.open);
  } catch (error) {
    if (error instanceof SealBroken) return {};
    throw error;
  }
}

function requirePairs({ certs }: LockedCredentials, of: Account): void {
  const defaultOf = (kind: string) =>
    certs.find((cert) => cert.kind === kind && cert.isDefault && sameAccount(cert, of));
  for (const [certKind, keyKind] of PAIRS) {
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

function isUsable(config: ChannelConfigRow | undefined, simulated: boolean): boolean {
  return config !== undefined && config.missing.length === 0 && (simulated || config.mode !== 'simulator');
}

function facts(config: ChannelConfigRow, { enabled }: ChannelStateRow): object {
  const { version, mode, account, fields, fingerprints, certIds, missing } = config;
  return { version, mode, account, enabled, fields, fingerprints, certIds, missing };
}
