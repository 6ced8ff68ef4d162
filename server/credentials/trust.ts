import type { CertRow } from '../db/entities/credentials.ts';
import type { Tx } from '../db/store.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind } from '../payments/channel.ts';
import type { LockedCredentials } from './locked-credentials.ts';

/** How it stands with a key or certificate that verifies; null = its kind verifies nothing, so nobody needs to trust it. */
export type TrustWord = 'trusted' | 'waiting' | 'distrusted';

/** The kinds of a channel that verify what it says. */
export function verifyingKinds({ certKinds }: Pick<ChannelKind, 'certKinds'>): ReadonlySet<string> {
  return new Set(certKinds.flatMap(({ kind, verifies }) => (verifies ? [kind] : [])));
}

/** Whether a certificate or key may be used; what verifies, only while an administrator trusts it and it is not deleted. */
export function isUsable(
  { kind, trustedAt, deletedAt }: Pick<CertRow, 'kind' | 'trustedAt' | 'deletedAt'>,
  verifying: ReadonlySet<string>,
): boolean {
  return !verifying.has(kind) || (trustedAt !== null && deletedAt === null);
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

/** Which other one of its kind would be the default in its place: the newest trusted one, else the newest. */
export function heirOf({ certs }: LockedCredentials, { id, kind }: CertRow): CertRow | undefined {
  const others = certs.filter((one) => one.kind === kind && one.id !== id);
  const newest = others.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  return newest.find(({ trustedAt }) => trustedAt !== null) ?? newest[0];
}
