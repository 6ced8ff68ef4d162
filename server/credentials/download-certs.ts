import type { CertRow } from '../db/entities/credentials.ts';
import { InvalidRequest } from '../errors.ts';
import { ChannelMisconfigured, type CertsDownloaded, type ChannelKind, type ProbeNote } from '../payments/channel.ts';
import { inputOf, type VersionRows } from './build.ts';
import { parseCert } from './cert-parse.ts';
import { simulatorsRefused } from './config-change.ts';
import { keepFound } from './found-certs.ts';
import { type Acting, type CredentialPorts, kindOf } from './ports.ts';
import { currentRows } from './register-notices.ts';
import { trustOf, verifyingKinds, type TrustWord } from './trust.ts';

/** A certificate that the channel handed out, as it is kept here. */
export type HandedCert = Pick<CertRow, 'id' | 'kind' | 'serialNumber' | 'notAfter'> & {
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
    return await kind.downloadCerts!(inputOf(kind, rows, rows.config, ports.sealing.open, ports));
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
