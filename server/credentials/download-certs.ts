// Certificates that a channel provides. An administrator or application downloads them, or the service finds them while
// it uses the channel.
import type { CertRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import { InvalidRequest } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import { type CertsDownloaded, type ChannelKind, ChannelMisconfigured, type ProbeNote } from '../payments/channel.ts';
import { facts, keepCert, mayBeDefault } from './certs.ts';
import type { HealthPorts } from './channels.ts';
import { simulatorsRefused } from './config-change.ts';
import { currentRows } from './configs.ts';
import { parseCert } from './pem.ts';
import { type Acting, type CredentialPorts, kindOf, actorColumns } from './ports.ts';
import { type TrustWord, lockCredentials, makeDefault, trustOf, verifyingKinds } from './trust.ts';
import { type Finder, type VersionRows, updateCerts, inputOf } from './versions.ts';

type HandedCert = Pick<CertRow, 'id' | 'kind' | 'serialNumber' | 'notAfter'> & {
  isNew: boolean;
  /** The trust state. null = certificates of this kind verify no messages and need no trust. */
  trust: TrustWord | 'deleted' | null;
};

/** `byHand` tells the operator which files the channel does not provide by download, and where to get them. */
export type Download = { ok: true; certs: HandedCert[]; byHand: string | null } | ({ ok: false } & ProbeNote);

/**
 * Downloads the certificates that a channel provides, verifies them and stores them. New certificates are trusted if an
 * administrator requested the download. If an application requested it, they are not used before an administrator
 * trusts them. Certificates that are already stored keep their trust state.
 */
export async function downloadCerts(ports: CredentialPorts, acting: Acting, payWay: string): Promise<Download> {
  const kind = kindOf(ports, payWay);
  if (!kind.downloadCerts)
    throw new InvalidRequest(
      'This channel offers no certificates for download: each notification contains the address of its certificate.',
    );
  const rows = await currentRows(ports, acting.project, kind);
  const result = await requestCerts(ports, kind, rows);
  if (!result.ok) return result;
  const certs: HandedCert[] = [];
  for (const { kind: name, pem } of result.certs) {
    const cert = await keep(ports, acting, kind, rows, { name, pem });
    if (cert) certs.push(cert);
  }
  return { ok: true, certs, byHand: result.byHand };
}

async function requestCerts(ports: CredentialPorts, kind: ChannelKind, rows: VersionRows): Promise<CertsDownloaded> {
  try {
    return await kind.downloadCerts!(inputOf(kind, rows, rows.config, ports.encryption.open, ports));
  } catch (error) {
    if (!(error instanceof ChannelMisconfigured)) throw error;
    return { ok: false, field: error.field, code: 'misconfigured', message: error.message };
  }
}

async function keep(
  ports: CredentialPorts,
  { actor, project }: Acting,
  kind: ChannelKind,
  { config }: VersionRows,
  { name, pem }: { name: string; pem: string },
): Promise<HandedCert | undefined> {
  const { payWay } = kind;
  const { mode, account } = config;
  return ports.store.transaction(async (tx) => {
    const finder = { project, payWay, mode, account };
    const kept = await keepFound(tx, ports, finder, name, pem, actor).catch(simulatorsRefused(name));
    const spec = kind.certKinds.find((one) => one.kind === name)!;
    const { serialNumber } = parseCert(
      spec,
      { bytes: Buffer.from(pem) },
      { now: ports.now(), serialOf: ports.serialOf },
    );
    const same = await tx.certs.list({ project, payWay, kind: name, serialNumber, mode, account });
    const cert = kept ?? same.find(({ deletedAt }) => deletedAt === null) ?? same[0];
    if (!cert) return undefined;
    const { id, notAfter, deletedAt } = cert;
    const trust = deletedAt === null ? trustOf(cert, verifyingKinds(kind)) : 'deleted';
    return { id, kind: name, serialNumber, notAfter, isNew: kept !== undefined, trust };
  });
}

interface FoundCerts {
  /**
   * Stores a certificate that a channel provided. A failure is only logged, because the next replica that needs the
   * certificate downloads it again.
   */
  keep(finder: Finder, kind: string, pem: string): void;
  /** Resolves when all certificates that are being stored are written. */
  idle(): Promise<void>;
}

/**
 * Creates the functions that store found certificates. A new certificate is stored as trusted, may become the default
 * of its kind, and is added to the configuration, so that every replica uses it without downloading it. A certificate
 * that was uploaded, distrusted or deleted before stays unchanged. A certificate of another account than the current
 * one is not stored.
 */
export function createFoundCerts(ports: CredentialPorts & { log: HealthPorts['log'] }): FoundCerts {
  const { store, log } = ports;
  const writing = new Set<Promise<void>>();

  async function write(finder: Finder, kind: string, pem: string): Promise<void> {
    const { project, payWay } = finder;
    try {
      const kept = await store.transaction((tx) => keepFound(tx, ports, finder, kind, pem));
      if (!kept) return;
      const { id: certId, serialNumber, notAfter } = kept;
      const about = { project, payWay, certId, serialNumber, notAfter };
      log('warn', 'the channel has a new certificate: it was downloaded and verified, and is used from now on', about);
    } catch (error) {
      log('error', 'a certificate of the channel is used, but could not be stored', { project, payWay, kind, error });
    }
  }

  return {
    keep(finder, kind, pem) {
      const work = write(finder, kind, pem).finally(() => writing.delete(work));
      writing.add(work);
    },
    async idle() {
      await Promise.all(writing);
    },
  };
}

async function keepFound(
  tx: Tx,
  ports: CredentialPorts,
  { project, payWay, mode, account }: Finder,
  name: string,
  pem: string,
  actor: Actor = { kind: 'system', name: `channel:${payWay}` },
): Promise<CertRow | undefined> {
  const kind = kindOf(ports, payWay);
  const spec = kind.certKinds.find((one) => one.kind === name);
  const locked = await lockCredentials(tx, project, payWay);
  const { config } = locked;
  if (!spec || config?.mode !== mode || config.account !== account) return undefined;
  const { now, serialOf } = ports;
  const parsed = parseCert(spec, { bytes: Buffer.from(pem) }, { now: now(), serialOf });
  const { serialNumber } = parsed;
  if (await tx.certs.find({ project, payWay, kind: name, serialNumber, mode, account })) return undefined;
  const { cert } = await keepCert(tx, ports, locked, spec, parsed, { actor, of: { mode, account } });
  const isDefault = mayBeDefault(locked, cert, spec);
  if (isDefault) await makeDefault(tx, locked, cert);
  // The new version keeps the author of the current version, because no administrator or application changed it.
  await updateCerts(tx, ports, kind, locked, config.createdBy);
  const kept = { ...cert, isDefault };
  const target = `${project}/${payWay}/${cert.id}`;
  await ports.audit(tx, { ...actorColumns(actor), action: 'cert.download', target, after: facts(kept) });
  return kept;
}
