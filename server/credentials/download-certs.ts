// Certificates that a channel provides: downloaded on request, or found while the channel is used.
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
import { type Acting, type CredentialPorts, kindOf, whoDid } from './ports.ts';
import { type TrustWord, lockCredentials, makeDefault, trustOf, verifyingKinds } from './trust.ts';
import { type Finder, type VersionRows, followCerts, inputOf } from './versions.ts';

/** A certificate that the channel provided, with its state in this service. */
type HandedCert = Pick<CertRow, 'id' | 'kind' | 'serialNumber' | 'notAfter'> & {
  isNew: boolean;
  /** null = a certificate of this kind verifies nothing. */
  trust: TrustWord | 'deleted' | null;
};

/** The result of a download. */
export type Download = { ok: true; certs: HandedCert[]; byHand: string | null } | ({ ok: false } & ProbeNote);

/**
 * Stores the certificates that a channel provides, after they were verified. The requester counts as uploader: if it is
 * an administrator, new certificates are trusted; if it is an application, they wait for trust. Stored certificates
 * keep their trust.
 */
export async function downloadCerts(ports: CredentialPorts, acting: Acting, payWay: string): Promise<Download> {
  const kind = kindOf(ports, payWay);
  if (!kind.downloadCerts)
    throw new InvalidRequest(
      'This channel offers no certificates for download: its notifications contain the address of their certificate.',
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

/** Stores certificates that a channel provided while it was in use, and that were verified. */
interface FoundCerts {
  /** Writes in the background. A failure is only logged, because the next replica downloads the certificate again. */
  keep(finder: Finder, kind: string, pem: string): void;
  /** Resolves when all pending writes are done. */
  idle(): Promise<void>;
}

/**
 * Stores such a certificate as trusted, makes it the default of its kind and updates the configuration, so that every
 * replica uses it and no start downloads it again. A certificate that was uploaded, distrusted or deleted before stays
 * unchanged. If it belongs to an account that is not the current one, it is not stored.
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

/**
 * Returns undefined if it stores nothing: the certificate exists already (even if deleted), or its account is not the
 * current one.
 */
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
  // The version keeps its author, because no administrator changed the configuration.
  await followCerts(tx, ports, kind, locked, config.createdBy);
  const kept = { ...cert, isDefault };
  const target = `${project}/${payWay}/${cert.id}`;
  await ports.audit(tx, { ...whoDid(actor), action: 'cert.download', target, after: facts(kept) });
  return kept;
}
