// Determines to which account a certificate or key belongs and whether it is trusted. Also takes the lock that must be
// held while the account or the trust is changed.
import type { CertRow, ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind, PayWay } from '../payments/channel.ts';

/** The trust state of a verification key. `waiting`: no administrator has decided yet. */
export type TrustWord = 'trusted' | 'waiting' | 'distrusted';

/** Returns the certificate kinds with which a channel's messages are verified. */
export function verifyingKinds({ certKinds }: Pick<ChannelKind, 'certKinds'>): ReadonlySet<string> {
  return new Set(certKinds.flatMap(({ kind, verifies }) => (verifies ? [kind] : [])));
}

/**
 * A channel account in one mode (simulator, sandbox or live). Every certificate and key can be used only for one such
 * account.
 */
export type Account = Pick<ChannelConfigRow, 'mode' | 'account'>;

type Owned = Pick<CertRow, 'mode' | 'account'>;

/** Whether two rows belong to the same account in the same mode. Two rows without an account also count as the same. */
export function sameAccount(one: Owned, other: Owned): boolean {
  return one.mode === other.mode && one.account === other.account;
}

/** Whether a verification key is trusted and not deleted. Always true for other kinds, which need no trust. */
export function isTrusted(
  { kind, trustedAt, deletedAt }: Pick<CertRow, 'kind' | 'trustedAt' | 'deletedAt'>,
  verifying: ReadonlySet<string>,
): boolean {
  return !verifying.has(kind) || (trustedAt !== null && deletedAt === null);
}

/**
 * Whether an account may use a certificate or key: it must belong to the account, and a verification key must be
 * trusted.
 */
export function isUsable(cert: CertRow, verifying: ReadonlySet<string>, account: Account): boolean {
  return sameAccount(cert, account) && isTrusted(cert, verifying);
}

/** Returns the trust state of a certificate or key. */
export function trustOf(
  { kind, trustedAt, trustedBy }: Pick<CertRow, 'kind' | 'trustedAt' | 'trustedBy'>,
  verifying: ReadonlySet<string>,
): TrustWord | null {
  if (!verifying.has(kind)) return null;
  if (trustedAt !== null) return 'trusted';
  return trustedBy === null ? 'waiting' : 'distrusted';
}

/** The name to store in `trustedBy` of an uploaded key; null for applications, because they may not trust keys. */
export function trusterOf({ kind, name }: Actor): string | null {
  return kind === 'app' ? null : name.slice(0, 128);
}

/**
 * The state, current configuration, certificates and keys of one (project, payWay), read under a lock that is held
 * until the transaction ends.
 */
export interface LockedCredentials {
  project: string;
  payWay: PayWay;
  state: ChannelStateRow | undefined;
  config: ChannelConfigRow | undefined;
  /** Certificates that are not deleted. */
  certs: CertRow[];
}

/** Takes the lock of one (project, payWay), so that its changes run one after another, and reads its rows. */
export async function lockCredentials(tx: Tx, project: string, payWay: PayWay): Promise<LockedCredentials> {
  await tx.advisoryLock(`credentials ${project} ${payWay}`);
  const state = await tx.channelStates.find({ project, payWay });
  const config = state && (await tx.channelConfigs.find({ project, payWay, version: state.version }));
  const certs = await tx.certs.list({ project, payWay, deletedAt: null });
  return { project, payWay, state, config, certs };
}

/**
 * Returns the certificates of an account for a new configuration version. The default of each kind comes first. For
 * verification kinds all other trusted keys follow, the newest first, because several keys may be valid while a channel
 * replaces its key.
 */
export function chosenCerts(certs: readonly CertRow[], verifying: ReadonlySet<string>, account: Account): CertRow[] {
  const own = certs.filter((cert) => sameAccount(cert, account));
  const defaults = own.filter(({ isDefault }) => isDefault).toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
  return defaults.flatMap((first) => {
    if (!verifying.has(first.kind)) return [first];
    const others = own.filter(({ kind, isDefault }) => kind === first.kind && !isDefault);
    const all = [first, ...others.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime())];
    return all.filter((cert) => isTrusted(cert, verifying));
  });
}

/**
 * Assigns the certificates and keys that were uploaded without an account to the first configured account. If the
 * account already has a default of the same kind, it stays the default. If the account already has the same
 * verification key, the uploaded row is removed, and a key that was distrusted for the account stays distrusted.
 */
export async function bindToAccount(
  tx: Tx,
  locked: LockedCredentials,
  { mode, account }: Account,
  { verifying, at }: { verifying: ReadonlySet<string>; at: Date },
): Promise<void> {
  const ofAccount = (kind: string) =>
    locked.certs.filter((one) => one.kind === kind && sameAccount(one, { mode, account }));
  for (const { id, kind, fingerprint, isDefault: wasDefault, ...cert } of locked.certs.filter(
    (one) => one.mode === null,
  )) {
    const known = ofAccount(kind).find((one) => verifying.has(kind) && one.fingerprint === fingerprint);
    if (known) {
      const { trustedAt, trustedBy } = cert;
      if (trustedAt && known.trustedBy === null) await writeTrust(tx, locked, known, { trustedAt, trustedBy });
      await tx.certs.update({ id }, { isDefault: false, deletedAt: at });
      locked.certs = locked.certs.filter((one) => one.id !== id);
      continue;
    }
    const own = { mode, account, isDefault: wasDefault && !ofAccount(kind).some((one) => one.isDefault) };
    await tx.certs.update({ id }, own);
    locked.certs = locked.certs.map((one) => (one.id === id ? { ...one, ...own } : one));
  }
}

/** Makes a certificate the default of its kind and account, in the database and in `locked`. */
export async function makeDefault(tx: Tx, locked: LockedCredentials, cert: CertRow): Promise<void> {
  await clearDefault(tx, locked, cert);
  await tx.certs.update({ id: cert.id }, { isDefault: true });
  locked.certs = locked.certs.map((one) => (one.id === cert.id ? { ...one, isDefault: true } : one));
}

/** Removes the default of one kind and account, so that this kind has no default. */
export async function clearDefault(
  tx: Tx,
  locked: LockedCredentials,
  of: Pick<CertRow, 'kind' | 'mode' | 'account'>,
): Promise<void> {
  for (const { id } of locked.certs.filter((one) => one.kind === of.kind && sameAccount(one, of) && one.isDefault))
    await tx.certs.update({ id }, { isDefault: false });
  locked.certs = locked.certs.map((one) =>
    one.kind === of.kind && sameAccount(one, of) ? { ...one, isDefault: false } : one,
  );
}

/** Writes the trust of a certificate or key. After the commit every replica rebuilds its channels. */
export async function writeTrust(
  tx: Tx,
  locked: LockedCredentials,
  { id }: CertRow,
  trust: Pick<CertRow, 'trustedAt' | 'trustedBy'>,
): Promise<void> {
  await tx.certs.update({ id }, trust);
  locked.certs = locked.certs.map((one) => (one.id === id ? { ...one, ...trust } : one));
  await reviseTrust(tx, locked);
}

/**
 * Increases the trust revision (a number in the cache key of every channel). After the commit no replica uses a channel
 * that was built before.
 */
export async function reviseTrust(tx: Tx, locked: LockedCredentials): Promise<void> {
  const { state } = locked;
  if (!state) return;
  const trustRevision = state.trustRevision + 1;
  await tx.channelStates.update({ id: state.id }, { trustRevision });
  locked.state = { ...state, trustRevision };
}

/** Returns the next default of a kind and account: the newest trusted certificate, otherwise the newest one. */
export function nextDefault({ certs }: LockedCredentials, cert: CertRow): CertRow | undefined {
  const others = certs.filter((one) => one.kind === cert.kind && sameAccount(one, cert) && one.id !== cert.id);
  const newest = others.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  return newest.find(({ trustedAt }) => trustedAt !== null) ?? newest[0];
}
