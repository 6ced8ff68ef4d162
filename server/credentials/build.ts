import type { CertRow, ChannelConfigRow } from '../db/entities/credentials.ts';
import type { ReadTx } from '../db/store.ts';
import type {
  Channel,
  ChannelInput,
  ChannelKind,
  Download,
  KeyOrigin,
  PayWay,
  Transport,
} from '../payments/channel.ts';
import { privatePartPlace, secretsPlace } from './places.ts';
import type { Sealing } from './sealing.ts';
import { sameAccount, isUsable, verifyingKinds } from './trust.ts';

/** Opens a sealed text; throws SealBroken. */
export type Unseal = Sealing['open'];

/** What a channel is made from, beside its configuration. */
export interface Surroundings {
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
 * Opens a version's secrets and imports its keys; throws SealBroken or ChannelMisconfigured. Whose money it is comes from
 * `identity`, all the rest from the version itself.
 */
export function buildChannel(
  kind: ChannelKind,
  rows: VersionRows,
  identity: ChannelConfigRow,
  unseal: Unseal,
  surroundings: Surroundings,
): Channel {
  return kind.create(inputOf(kind, rows, identity, unseal, surroundings));
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
  unseal: Unseal,
  { simulatorUrl, publicUrl, transportTo, download, now, keep }: Surroundings,
): ChannelInput {
  const verifying = verifyingKinds(kind);
  const certs = all.filter((cert) => isUsable(cert, verifying, config));
  return {
    mode: config.mode,
    fields: fieldsOf(kind, config, identity, unseal),
    pems: pemsOf(certs, unseal),
    origins: originsOf(config, certs),
    distrusted: pemsOf(distrusted, unseal),
    simulatorUrl,
    notifyUrl: publicUrl && notifyUrlOf(publicUrl, kind.payWay, config.project),
    send: transportTo(kind.payWay),
    ...(download && { download }),
    now,
    ...(keep && { keep }),
  };
}

function fieldsOf(kind: ChannelKind, config: ChannelConfigRow, identity: ChannelConfigRow, unseal: Unseal) {
  const fields: Record<string, string> = { ...config.fields, ...openSecrets(config, unseal) };
  if (identity.id === config.id) return fields;
  const pinned = kind.fields.filter((field) => field.pinned);
  const needsSecrets = pinned.some(({ name }) => name in identity.fingerprints);
  const kept: Record<string, string> = { ...identity.fields, ...(needsSecrets ? openSecrets(identity, unseal) : {}) };
  for (const { name } of pinned) {
    const { [name]: value } = kept;
    if (value === undefined) delete fields[name];
    else fields[name] = value;
  }
  return fields;
}

/** The secret fields of a version; throws SealBroken. */
export function openSecrets(config: ChannelConfigRow, unseal: Unseal): Record<string, string> {
  if (!config.sealed) return {};
  return JSON.parse(unseal(secretsPlace(config), config.sealed)) as Record<string, string>;
}

/** The PEM texts of certificates by kind, in their order; throws SealBroken. */
export function pemsOf(certs: readonly CertRow[], unseal: Unseal): Record<string, string[]> {
  const pems: Record<string, string[]> = {};
  for (const cert of certs) {
    const pem = cert.sealed ? unseal(privatePartPlace(cert), cert.sealed) : cert.publicPem;
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
