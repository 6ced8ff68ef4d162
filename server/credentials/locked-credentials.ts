import type { CertRow, ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { PayWay } from '../payments/channel.ts';

/** The credentials of one (project, payWay), locked for a change until the transaction ends. */
export interface LockedCredentials {
  project: string;
  payWay: PayWay;
  state: ChannelStateRow | undefined;
  config: ChannelConfigRow | undefined;
  /** Those that are not deleted. */
  certs: CertRow[];
}

/** Locks the credentials of one (project, payWay): changes of its configuration and certificates are serialised. */
export async function lockCredentials(tx: Tx, project: string, payWay: PayWay): Promise<LockedCredentials> {
  await tx.advisoryLock(`credentials ${project} ${payWay}`);
  const state = await tx.channelStates.find({ project, payWay });
  const config = state && (await tx.channelConfigs.find({ project, payWay, version: state.version }));
  const certs = await tx.certs.list({ project, payWay, deletedAt: null });
  return { project, payWay, state, config, certs };
}

/**
 * The certificates that a version is made with: of every kind that has a default, the default first; of those that verify,
 * the others too, the newest first, for several may be good at once during a change, and of these only what is trusted.
 */
export function chosenCerts(certs: readonly CertRow[], verifying: ReadonlySet<string>): CertRow[] {
  const defaults = certs.filter(({ isDefault }) => isDefault).toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
  return defaults.flatMap((first) => {
    if (!verifying.has(first.kind)) return [first];
    const others = certs.filter(({ kind, isDefault }) => kind === first.kind && !isDefault);
    const all = [first, ...others.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())];
    return all.filter(({ trustedAt }) => trustedAt !== null);
  });
}

/** Makes a certificate the default of its kind, in the database and in the locked credentials. */
export async function makeDefault(tx: Tx, locked: LockedCredentials, cert: CertRow): Promise<void> {
  await clearDefault(tx, locked, cert.kind);
  await tx.certs.update({ id: cert.id }, { isDefault: true });
  locked.certs = locked.certs.map((one) => (one.id === cert.id ? { ...one, isDefault: true } : one));
}

/** Leaves a kind without a default. */
export async function clearDefault(tx: Tx, locked: LockedCredentials, kind: string): Promise<void> {
  const { project, payWay } = locked;
  await tx.certs.update({ project, payWay, kind, isDefault: true, deletedAt: null }, { isDefault: false });
  locked.certs = locked.certs.map((one) => (one.kind === kind ? { ...one, isDefault: false } : one));
}
