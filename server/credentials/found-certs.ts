import type { CertRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { Finder } from './build.ts';
import { parseCert } from './cert-parse.ts';
import { facts } from './certs.ts';
import type { HealthPorts } from './channels.ts';
import { keepCert, mayBeDefault } from './keep-cert.ts';
import type { Actor } from '../identity/ports.ts';
import { lockCredentials, makeDefault } from './locked-credentials.ts';
import { kindOf, whoDid, type CredentialPorts } from './ports.ts';
import { followCerts } from './versions.ts';

/** Keeps what channels hand out and prove themselves. */
export interface FoundCerts {
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
export async function keepFound(
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
