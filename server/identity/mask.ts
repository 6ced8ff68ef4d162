const secretName = /pass(word|phrase)?|secret|token|hash|private|credential|authorization|cookie|^key$|apiv3key|pem$/i;
const shownNames = /^(passwordChanged|secretHint|secretCreatedAt|tokensRevoked|previousSecretExpiresAt)$/;
const secretText =
  /-----BEGIN [A-Z ]+-----[\s\S]*?(-----END [A-Z ]+-----|$)|\b(pays|whsec)_[\w+/=-]{8,}|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g;
const masked = '***';
const maxText = 2000;

/** A copy that may be kept for ever: plain JSON, secrets replaced by their name and by their looks, long text cut. */
export function mask(value: unknown): Record<string, unknown> | null {
  if (typeof value !== 'object' || value === null) return null;
  return maskMember('', value, 0) as Record<string, unknown>;
}

function maskMember(name: string, value: unknown, depth: number): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null;
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (value instanceof Date) return value.toISOString();
  if (isSecret(name)) return masked;
  if (typeof value === 'string') return value.replaceAll(secretText, masked).replaceAll('\0', '').slice(0, maxText);
  if (typeof value !== 'object') return String(value);
  if (depth >= 8) return masked;
  if (Array.isArray(value)) return value.map((member) => maskMember('', member, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([key, member]) => [key, maskMember(key, member, depth + 1)]),
  );
}

function isSecret(name: string): boolean {
  return secretName.test(name) && !shownNames.test(name);
}
