// Certificates that a channel hands out: downloaded for an administrator or application, or found while the channel is used.
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

/** A certificate that the channel handed out, as it is kept here. */
type HandedCert = Pick<CertRow, 'id' | 'kind' | 'serialNumber' | 'notAfter'> & {
  isNew: boolean;
  /** Null: its kind verifies nothing. */
  trust: TrustWord | 'deleted' | null;
};

/** What became of a download. */
export type Download = { ok: true; certs: HandedCert[]; byHand: string | null } | ({ ok: false } & ProbeNote);

/**
 * Keeps the certificates that a channel hands out and proves. Whoever asks brings them, as by an upload: an administrator trusts what
 * is new with it, what an application brings waits. One that was here before keeps the word that somebody gave it.
 */
export async function downloadCerts(ports: CredentialPorts, acting: Acting, payWay: string): Promise<Download> {
  const kind = kindOf(ports, payWay);
  if (!kind.downloadCerts)
    throw new InvalidRequest('This channel hands out no certificates: its notifications bring the address of theirs.');
  const rows = await currentRows(ports, acting.project, kind);
  const said = await ask(ports, kind, rows);
  if (!said.ok) return said;
  const certs: HandedCert[] = [];
  for (const { kind: name, pem } of said.certs) {
    const cert = await keep(ports, acting, kind, rows, { name, pem });
    if (cert) certs.push(cert);
  }
  return { ok: true, certs, byHand: said.byHand };
}

async function ask(ports: CredentialPorts, kind: ChannelKind, rows: VersionRows): Promise<CertsDownloaded> {
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

/** Keeps what channels hand out and prove themselves. */
interface FoundCerts {
  /** Writes it beside the work; a failure is logged and costs only that the next replica fetches it again. */
  keep(finder: Finder, kind: string, pem: string): void;
  /** Resolves when everything so far is written. */
  idle(): Promise<void>;
}

/**
 * Stores a certificate that a channel handed out as trusted since now, makes it the default of its kind and lets the configuration
 * follow, so that every replica has it and no start needs it again. One that somebody has brought, distrusted or deleted is left
 * to that person, and one of an account that is not the current one to the memory of this replica.
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
      log('warn', 'the channel has a new certificate: it was downloaded and proven, and is used from now on', about);
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

/** Undefined when it is not kept: it is known here, whatever became of it, or not of the current account. */
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
  // Nobody changed the configuration: it stays whose it is.
  await followCerts(tx, ports, kind, locked, config.createdBy);
  const kept = { ...cert, isDefault };
  const target = `${project}/${payWay}/${cert.id}`;
  await ports.audit(tx, { ...whoDid(actor), action: 'cert.download', target, after: facts(kept) });
  return kept;
}
