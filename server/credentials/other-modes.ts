import type { CertRow } from '../db/entities/credentials.ts';
import { hasOpenWork, trustedOfOtherModes } from '../db/queries/credentials.ts';
import type { Tx } from '../db/store.ts';
import { LocalError } from '../errors.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind, Mode } from '../payments/channel.ts';
import { facts } from './certs.ts';
import { type LockedCredentials, lockCredentials, verifyingKinds, writeTrust } from './trust.ts';
import { kindOf, actorColumns, type CredentialPorts } from './ports.ts';
import { updateCerts } from './versions.ts';

/**
 * The service cannot start (503). Verification keys of another mode are trusted, and the service failed to withdraw
 * this trust.
 */
export class KeysOfOtherModes extends LocalError {
  constructor(cause: unknown) {
    super(
      'keys_of_other_modes',
      503,
      'Keys of another mode are trusted in this database and could not be distrusted: run payctl cert distrust --offline with a role that may write.',
      { hint: 'Run payctl cert distrust --offline with a database role that may write.', cause },
    );
  }
}

/**
 * Withdraws the trust in verification keys of modes that the channel no longer uses, and writes an audit entry for each
 * key. These are simulator keys, and with a `live` configuration also sandbox keys. Keys of accounts that still have
 * open orders stay trusted until these orders are done, and `live` keys always stay trusted. A key never verifies
 * messages of another mode, so this only removes trust that is no longer needed.
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
  // If the simulator is disabled, a simulator configuration also loses its keys, even if it becomes incomplete.
  if (config && left.length > 0) await updateCerts(tx, ports, kind, locked, config.createdBy, { anyhow: true });
  for (const cert of left) {
    const target = `${cert.project}/${cert.payWay}/${cert.id}`;
    const [before, after] = [facts(cert), facts({ ...cert, ...trust })];
    await ports.audit(tx, { ...actorColumns(actor), action: 'cert.distrust', target, before, after });
  }
  return left;
}

/**
 * Withdraws the trust in keys of modes that the channel no longer uses, for every channel of every project. Called when
 * the service starts, and by the offline commands of payctl.
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
 * Whether keys of `mode` lose their trust. `present` is the mode of the current configuration; undefined = no
 * configuration exists.
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
