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

/**
 * The step of 30 seconds that a code belongs to, the present one or one beside it, because clocks differ (RFC 6238 §5.2);
 * undefined when it is none of their codes. Compared in constant time.
 */
export function stepOfCode(secret: string, code: string, at: Date): bigint | undefined {
  const timestamp = at.getTime();
  const delta = totp(secret).validate({ token: code, timestamp, window: 1 });
  return delta === null ? undefined : BigInt(TOTP.counter({ timestamp }) + delta);
}

/** What every authenticator can do. */
function totp(secret: string, names: { issuer?: string; label?: string } = {}): TOTP {
  return new TOTP({ ...names, secret, algorithm: 'SHA1', digits: 6, period: 30 });
}
