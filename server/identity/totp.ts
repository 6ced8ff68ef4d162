import { Secret, TOTP } from 'otpauth';

/** A secret for one-time codes, in base32, as authenticators take it (RFC 4226 §4: 160 bits). */
export function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

/**
 * The address by which an authenticator takes a secret in, drawn as a QR code; `issuer` is what it shows beside the account. What every
 * authenticator takes for granted (SHA1, six digits, thirty seconds) is left out, so that the code fits a terminal of 24 rows.
 */
export function totpUri(secret: string, { issuer, account }: { issuer: string; account: string }): string {
  const uri = new URL(totp(secret, { issuer, label: account }).toString());
  for (const known of ['algorithm', 'digits', 'period']) uri.searchParams.delete(known);
  return uri.href;
}

const STEP_MS = 30_000;

/**
 * The step of 30 seconds that a code belongs to: the present one, or the one before it, because typing and the network take time
 * (RFC 6238 §5.2); undefined when it is neither's code. A code counts for a minute at most. Compared in constant time.
 */
export function stepOfCode(secret: string, code: string, at: Date): bigint | undefined {
  const known = totp(secret);
  const isOf = [0, STEP_MS].map(
    (late) => known.validate({ token: code, timestamp: at.getTime() - late, window: 0 }) !== null,
  );
  const late = isOf.indexOf(true);
  return late < 0 ? undefined : BigInt(TOTP.counter({ timestamp: at.getTime() }) - late);
}

/** What every authenticator can do. */
function totp(secret: string, names: { issuer?: string; label?: string } = {}): TOTP {
  return new TOTP({ ...names, secret, algorithm: 'SHA1', digits: 6, period: 30 });
}
