// The account and the trust of certificates and keys, and the locked rows through which both change.
import type { CertRow, ChannelConfigRow, ChannelStateRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind, PayWay } from '../payments/channel.ts';

/** The trust state of a verification key; null = its kind verifies nothing and needs no trust. */
export type TrustWord = 'trusted' | 'waiting' | 'distrusted';

/** The certificate kinds of a channel that verify its messages. */
export function verifyingKinds({ certKinds }: Pick<ChannelKind, 'certKinds'>): ReadonlySet<string> {
  return new Set(certKinds.flatMap(({ kind, verifies }) => (verifies ? [kind] : [])));
}

/** The account and mode that a certificate or key belongs to. */
export type Account = Pick<ChannelConfigRow, 'mode' | 'account'>;

type Owned = Pick<CertRow, 'mode' | 'account'>;

/** Whether both belong to the same account in the same mode, or both to none yet. */
export function sameAccount(one: Owned, other: Owned): boolean {
  return one.mode === other.mode && one.account === other.account;
}

/** Whether a verification key is trusted and not deleted; other kinds need no trust. */
export function isTrusted(
  { kind, trustedAt, deletedAt }: Pick<CertRow, 'kind' | 'trustedAt' | 'deletedAt'>,
  verifying: ReadonlySet<string>,
): boolean {
  return !verifying.has(kind) || (trustedAt !== null && deletedAt === null);
}

/** Whether a certificate or key may be used for an account: it belongs to the account, and is trusted if it verifies. */
export function isUsable(cert: CertRow, verifying: ReadonlySet<string>, account: Account): boolean {
  return sameAccount(cert, account) && isTrusted(cert, verifying);
}

/** The trust state of a row. */
export function trustOf(
  { kind, trustedAt, trustedBy }: Pick<CertRow, 'kind' | 'trustedAt' | 'trustedBy'>,
  verifying: ReadonlySet<string>,
): TrustWord | null {
  if (!verifying.has(kind)) return null;
  if (trustedAt !== null) return 'trusted';
  return trustedBy === null ? 'waiting' : 'distrusted';
}

/** The name under which an upload is trusted: administrators and the service itself may trust, applications may not (null). */
export function trusterOf({ kind, name }: Actor): string | null {
  return kind === 'app' ? null : name.slice(0, 128);
}

/** The credentials of one (project, payWay), locked for a change until the transaction ends. */
export interface LockedCredentials {
  project: string;
  payWay: PayWay;
  state: ChannelStateRow | undefined;
  config: ChannelConfigRow | undefined;
  /** Certificates that are not deleted. */
  certs: CertRow[];
}

/** Locks the credentials of one (project, payWay), so that changes of its configuration and certificates are serialised. */
export async function lockCredentials(tx: Tx, project: string, payWay: PayWay): Promise<LockedCredentials> {
  await tx.advisoryLock(`credentials ${project} ${payWay}`);
  const state = await tx.channelStates.find({ project, payWay });
  const config = state && (await tx.channelConfigs.find({ project, payWay, version: state.version }));
  const certs = await tx.certs.list({ project, payWay, deletedAt: null });
  return { project, payWay, state, config, certs };
}

/**
 * The certificates of a version, only those of its account: for each kind with a default, the default first. For verification kinds also
 * the non-default ones, the newest first, because several may be valid during a key change; only trusted ones are included.
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
 * Assigns certificates without an account to the first configured account, which keeps its own defaults. If the account already has the
 * same verification key, the rows are merged; a distrust of that row is kept.
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

/** Removes the default of a kind and account. */
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

/** Writes the trust of a row, and makes every replica rebuild its channels. */
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

/** After the commit no replica uses a channel that was built before. */
export async function reviseTrust(tx: Tx, locked: LockedCredentials): Promise<void> {
  const { state } = locked;
  if (!state) return;
  const trustRevision = state.trustRevision + 1;
  await tx.channelStates.update({ id: state.id }, { trustRevision });
  locked.state = { ...state, trustRevision };
}

/** The certificate of the same kind and account that would replace it as default: the newest trusted one, otherwise the newest. */
export function heirOf({ certs }: LockedCredentials, cert: CertRow): CertRow | undefined {
  const others = certs.filter((one) => one.kind === cert.kind && sameAccount(one, cert) && one.id !== cert.id);
  const newest = others.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  return newest.find(({ trustedAt }) => trustedAt !== null) ?? newest[0];
}
