import { randomUUID } from 'node:crypto';
import type { CertRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { Actor } from '../identity/ports.ts';
import { Conflict } from '../errors.ts';
import type { CertKindSpec } from '../payments/channel.ts';
import { type LockedCredentials, makeDefault, writeTrust } from './locked-credentials.ts';
import { partnerOf, publicKeyOf, type ParsedCert } from './cert-parse.ts';
import { privatePartPlace } from './places.ts';
import type { CredentialPorts } from './ports.ts';
import { SIMULATOR } from './build.ts';
import { SealBroken } from './sealing.ts';
import { type Account, sameAccount, trusterOf } from './trust.ts';

/** The certificate and the key that would be used together do not belong together (409). */
export class NotAPair extends Conflict {
  constructor(kind: string) {
    super('certificate_pair_mismatch', `This one does not match the default ${kind}.`, {
      hint: 'Upload the matching certificate or key first, then make either of them the default: both change together.',
    });
  }
}

/** The simulator's private keys lie in a developer's folder, so its public keys verify nothing in sandbox or live. */
export class SimulatorsKey extends Error {
  constructor({ id, createdBy }: Pick<CertRow, 'id' | 'createdBy'>) {
    const escape =
      createdBy === SIMULATOR ? '' : `; it was brought for it as ${id}: delete that if it is none of its keys`;
    super(`is a key of the simulator, which verifies nothing in sandbox or live${escape}`);
  }
}

/** The actor of an upload, and the account that it is for: null = the first one that is configured. */
export interface Brought {
  actor: Actor;
  of: Account | null;
  name?: string | undefined;
}

/**
 * Writes a parsed certificate or key, its private part sealed; not yet a default. The same one again for the same account is the row
 * that is there. What verifies is trusted when somebody brings it who may answer for it, also when it was there before. Throws
 * SimulatorsKey.
 */
export async function keepCert(
  tx: Tx,
  { sealing, now }: Pick<CredentialPorts, 'sealing' | 'now'>,
  locked: LockedCredentials,
  { kind, label, verifies }: CertKindSpec,
  { privatePem, ...parsed }: ParsedCert,
  { name, actor, of }: Brought,
): Promise<{ cert: CertRow; isNew: boolean }> {
  const owner = { mode: of?.mode ?? null, account: of?.account ?? null };
  if (verifies) await requireNotSimulators(tx, { project: locked.project, kind, ...parsed, ...owner });
  const isSame = (one: CertRow) =>
    one.kind === kind && one.fingerprint === parsed.fingerprint && sameAccount(one, owner);
  // A key whose seal is broken is no key: sending it again is the way to repair it.
  const known = locked.certs.find((one) => isSame(one) && opens(sealing, one));
  const trustedBy = verifies ? trusterOf(actor) : null;
  const trust = { trustedAt: trustedBy === null ? null : now(), trustedBy };
  if (known) {
    if (known.trustedAt !== null || trust.trustedAt === null) return { cert: known, isNew: false };
    await writeTrust(tx, locked, known, trust);
    return { cert: { ...known, ...trust }, isNew: false };
  }
  const cert: CertRow = {
    ...parsed,
    id: randomUUID(),
    project: locked.project,
    payWay: locked.payWay,
    kind,
    name: name ?? label.slice(0, 128),
    sealed: null,
    isDefault: false,
    ...owner,
    createdBy: actor.name.slice(0, 128),
    createdAt: now(),
    deletedAt: null,
    ...trust,
  };
  if (privatePem) cert.sealed = sealing.seal(privatePartPlace(cert), privatePem);
  await tx.certs.insert(cert);
  locked.certs = [...locked.certs, cert];
  return { cert, isNew: true };
}

/**
 * Throws SimulatorsKey when a key of the simulator is brought for sandbox or live. What the simulator itself brought stays its own, in
 * every project and after its end; what an administrator brought for it only in that project and until it is deleted. What an
 * application says of a key that no administrator has looked at keeps it out of nowhere.
 */
export async function requireNotSimulators(
  tx: Tx,
  { project, kind, fingerprint, mode }: Pick<CertRow, 'project' | 'kind' | 'fingerprint' | 'mode'>,
): Promise<void> {
  if (mode === null || mode === 'simulator') return;
  const known = await tx.certs.list({ kind, fingerprint, mode: 'simulator' });
  const brought = known.filter(({ trustedBy }) => trustedBy !== null);
  const simulators =
    brought.find(({ createdBy }) => createdBy === SIMULATOR) ??
    brought.find((one) => one.project === project && one.deletedAt === null);
  if (simulators) throw new SimulatorsKey(simulators);
}

/** Whether it may take the place of the default: what is not trusted never takes the place of what is. */
export function mayBeDefault(locked: LockedCredentials, cert: CertRow, spec: CertKindSpec): boolean {
  if (!spec.verifies || cert.trustedAt !== null) return true;
  const isInForce = (one: CertRow) => one.isDefault && one.trustedAt !== null;
  return !locked.certs.some((one) => one.kind === cert.kind && sameAccount(one, cert) && isInForce(one));
}

/** Makes a certificate the default, and its other half with it; throws NotAPair when there is none that fits the default one. */
export async function chooseCert(tx: Tx, locked: LockedCredentials, cert: CertRow): Promise<void> {
  const partner = partnerOf(cert.kind);
  const halves = locked.certs.filter((one) => one.kind === partner && sameAccount(one, cert));
  const current = halves.find(({ isDefault }) => isDefault);
  if (current) {
    const key = publicKeyOf(cert);
    const fitting = [current, ...halves.toReversed()].find((half) => publicKeyOf(half) === key);
    if (!fitting) throw new NotAPair(current.kind);
    if (fitting !== current) await makeDefault(tx, locked, fitting);
  }
  await makeDefault(tx, locked, cert);
}

function opens(sealing: CredentialPorts['sealing'], cert: CertRow): boolean {
  try {
    if (cert.sealed) sealing.open(privatePartPlace(cert), cert.sealed);
    return true;
  } catch (error) {
    if (error instanceof SealBroken) return false;
    throw error;
  }
}
