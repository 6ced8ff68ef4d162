const SECRET_KEY =
  /(secret|password|passwd|passphrase|token|authorization|cookie|private_?key|api_?v3_?key|master_?key|^content$|^pem$|^key$|^file$|_key$|recovery_?codes)/i;
const PUBLIC_KEY =
  /^(tokenType|token_type|secretCreatedAt|previousSecretExpiresAt|idempotency-?key|csrf|revokeTokens|tokenTtlSeconds)$/i;
const SECRET_VALUE = [
  /pays_[A-Za-z0-9_-]{8,}/g,
  /whsec_[A-Za-z0-9+/=_-]{8,}/g,
  /eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g,
  /-----BEGIN [^-]+-----[\s\S]*?(-----END [^-]+-----|$)/g,
  /otpauth:\/\/[^\s"]+/g,
];
/** What an authenticator shows, or a recovery code; other members of this name are codes of things and faults. */
const ONE_TIME_CODE = /^(\d{3} ?\d{3}|([0-9a-z]{6}[- ]?){3}[0-9a-z]{6})$/i;

/** A value that is safe to show: secrets are replaced by `***`, by their key and by what they look like. */
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isSecret(key, inner) ? '***' : redact(inner)]),
  );
}

function isSecret(key: string, value: unknown): boolean {
  if (key === 'code' && typeof value === 'string') return ONE_TIME_CODE.test(value);
  return SECRET_KEY.test(key) && !PUBLIC_KEY.test(key) && typeof value !== 'boolean' && value !== null;
}

/** A text without anything that looks like a secret of ours, a JWT or a PEM. */
export function redactText(text: string): string {
  return SECRET_VALUE.reduce((clean, pattern) => clean.replace(pattern, '***'), text);
}

/** A JSON (or other) body as text without secrets; what cannot be parsed shows only its size. */
export function redactBody(body: string): string {
  if (body === '') return '';
  try {
    return JSON.stringify(redact(JSON.parse(body)));
  } catch {
    return `(${body.length} characters)`;
  }
}

/** A path whose query carries no secret. */
export function redactPath(path: string): string {
  return path.replace(/([?&])([^=&]+)=([^&]*)/g, (whole, mark: string, key: string) =>
    SECRET_KEY.test(key) && key !== 'key' ? `${mark}${key}=***` : whole,
  );
}
