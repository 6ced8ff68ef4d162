import type { CertRow } from '../db/entities/credentials.ts';
import { hasOpenWork, trustedOfOtherModes } from '../db/queries/credentials.ts';
import type { Tx } from '../db/store.ts';
import { LocalError } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind, Mode } from '../payments/channel.ts';
import { facts } from './certs.ts';
import { type LockedCredentials, lockCredentials, verifyingKinds, writeTrust } from './trust.ts';
import { kindOf, whoDid, type CredentialPorts } from './ports.ts';
import { followCerts } from './versions.ts';

/** The service cannot start (503): keys of another mode are trusted, and it cannot withdraw the trust. */
export class KeysOfOtherModes extends LocalError {
  constructor(cause: unknown) {
    super(
      'keys_of_other_modes',
      503,
      'Keys of another mode are trusted in this database and could not be distrusted: run payctl cert distrust --offline with a role that may write.',
      { hint: 'payctl cert distrust --offline', cause },
    );
  }
}

/**
 * Withdraws trust from verification keys of other modes than the current configuration's, each with its audit entry:
 * from keys of the simulator, and with a `live` configuration from those of the sandbox. Keys that open orders of their
 * own account need stay trusted until these orders are done. `live` keys stay trusted. A key never verifies anything in
 * another mode, so this only removes trust that is not needed.
 */
export async function leaveModes(
  tx: Tx,
  ports: CredentialPorts,
  kind: ChannelKind,
  locked: LockedCredentials,
  actor: Actor,
): Promise<CertRow[]> {
  const verifying = verifyingKinds(kind);
  const trust = { trustedAt: null, trustedBy: actor.name.slice(0, 128) };
  const left: CertRow[] = [];
  for (const cert of locked.certs) {
    if (!verifying.has(cert.kind) || cert.trustedAt === null) continue;
    if (!isLeft(ports, cert.mode, locked.config?.mode) || (await isNeeded(tx, ports, cert))) continue;
    await writeTrust(tx, locked, cert, trust);
    left.push(cert);
  }
  const { config } = locked;
  // If the simulator is not used, the simulator's own configuration also loses its keys.
  if (config && left.length > 0) await followCerts(tx, ports, kind, locked, config.createdBy, { anyhow: true });
  for (const cert of left) {
    const target = `${cert.project}/${cert.payWay}/${cert.id}`;
    const [before, after] = [facts(cert), facts({ ...cert, ...trust })];
    await ports.audit(tx, { ...whoDid(actor), action: 'cert.distrust', target, before, after });
  }
  return left;
}

/**
 * Ends the trust in keys that belong to another mode than the channel has now, for every channel of every project. Called when the
 * service starts, and by the offline commands of payctl.
 */
export async function leaveAllModes(ports: CredentialPorts, actor: Actor): Promise<CertRow[]> {
  const { store, simulated } = ports;
  const verifying = [...ports.kinds.values()].flatMap((kind) => [...verifyingKinds(kind)]);
  const channels = await store.read((tx) => trustedOfOtherModes(tx, verifying, simulated));
  const left: CertRow[] = [];
  for (const { project, payWay } of channels)
    left.push(
      ...(await store.transaction(async (tx) => {
        const locked = await lockCredentials(tx, project, payWay);
        return leaveModes(tx, ports, kindOf(ports, payWay), locked, actor);
      })),
    );
  return left;
}

/**
 * Whether keys of `mode` must not be trusted while the configuration has the mode `present`; undefined = there is no
 * configuration.
 */
function isLeft(
  { simulated }: Pick<CredentialPorts, 'simulated'>,
  mode: Mode | null,
  present: Mode | undefined,
): boolean {
  if (mode === 'simulator') return !simulated || (present !== undefined && present !== 'simulator');
  return mode === 'sandbox' && present === 'live';
}

async function isNeeded(tx: Tx, { simulated }: Pick<CredentialPorts, 'simulated'>, cert: CertRow): Promise<boolean> {
  const { project, payWay, mode, account } = cert;
  if (mode === null || account === null || (mode === 'simulator' && !simulated)) return false;
  return hasOpenWork(tx, { project, payWay, mode, account });
}
