// Which account a certificate or key belongs to, whether it is trusted, and the locked rows through which both change.
import type { CertRow, ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind, PayWay } from '../payments/channel.ts';

/** How it stands with a key or certificate that verifies; null = its kind verifies nothing, so nobody needs to trust it. */
export type TrustWord = 'trusted' | 'waiting' | 'distrusted';

/** The kinds of a channel that verify what it says. */
export function verifyingKinds({ certKinds }: Pick<ChannelKind, 'certKinds'>): ReadonlySet<string> {
  return new Set(certKinds.flatMap(({ kind, verifies }) => (verifies ? [kind] : [])));
}

/** An account at a channel, and in which mode: what a certificate or key belongs to. */
export type Account = Pick<ChannelConfigRow, 'mode' | 'account'>;

type Owned = Pick<CertRow, 'mode' | 'account'>;

/** Whether both belong to the same account in the same mode, or both to none yet. */
export function sameAccount(one: Owned, other: Owned): boolean {
  return one.mode === other.mode && one.account === other.account;
}

/** Whether what verifies is trusted by an administrator and not deleted; what verifies nothing needs no trust. */
export function isTrusted(
  { kind, trustedAt, deletedAt }: Pick<CertRow, 'kind' | 'trustedAt' | 'deletedAt'>,
  verifying: ReadonlySet<string>,
): boolean {
  return !verifying.has(kind) || (trustedAt !== null && deletedAt === null);
}

/** Whether a certificate or key may be used for an account: it was brought for it, and is trusted if it verifies. */
export function isUsable(cert: CertRow, verifying: ReadonlySet<string>, account: Account): boolean {
  return sameAccount(cert, account) && isTrusted(cert, verifying);
}

/** The word for a row. */
export function trustOf(
  { kind, trustedAt, trustedBy }: Pick<CertRow, 'kind' | 'trustedAt' | 'trustedBy'>,
  verifying: ReadonlySet<string>,
): TrustWord | null {
  if (!verifying.has(kind)) return null;
  if (trustedAt !== null) return 'trusted';
  return trustedBy === null ? 'waiting' : 'distrusted';
}

/** Who answers for what somebody brings: an administrator or the service itself; an application never does. */
export function trusterOf({ kind, name }: Actor): string | null {
  return kind === 'app' ? null : name.slice(0, 128);
}

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
 * The certificates that a version of an account is made with, its own and no others: of every kind that has a default, the default
 * first; of those that verify, the others too, the newest first, for several may be good at once during a change, and of these
 * only what is trusted.
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
 * Gives what was brought before there was an account to the first one that is configured; its own defaults stay. What verifies and
 * was brought for that account, too, stays one row, with the word that it has: distrusted once, it is trusted by no other.
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

/** Makes a certificate the default of its kind and account, in the database and in the locked credentials. */
export async function makeDefault(tx: Tx, locked: LockedCredentials, cert: CertRow): Promise<void> {
  await clearDefault(tx, locked, cert);
  await tx.certs.update({ id: cert.id }, { isDefault: true });
  locked.certs = locked.certs.map((one) => (one.id === cert.id ? { ...one, isDefault: true } : one));
}

/** Leaves a kind of an account without a default. */
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

/** Writes who trusts a row, or trusts it no more, and makes every replica build its channels anew. */
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

/** From the commit on, no replica uses a channel that was built before. */
export async function reviseTrust(tx: Tx, locked: LockedCredentials): Promise<void> {
  const { state } = locked;
  if (!state) return;
  const trustRevision = state.trustRevision + 1;
  await tx.channelStates.update({ id: state.id }, { trustRevision });
  locked.state = { ...state, trustRevision };
}

/** Which other one of its kind and account would be the default in its place: the newest trusted one, else the newest. */
export function heirOf({ certs }: LockedCredentials, cert: CertRow): CertRow | undefined {
  const others = certs.filter((one) => one.kind === cert.kind && sameAccount(one, cert) && one.id !== cert.id);
  const newest = others.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  return newest.find(({ trustedAt }) => trustedAt !== null) ?? newest[0];
}
