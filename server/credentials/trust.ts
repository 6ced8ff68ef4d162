import type { CertRow, ChannelConfigRow } from '../db/entities/credentials.ts';
import type { Actor } from '../identity/ports.ts';
import type { ChannelKind } from '../payments/channel.ts';

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
