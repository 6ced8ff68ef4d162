const MOST_CHARACTERS = 64;

/** What is left of OAuth parameters: one without a value is as good as none (RFC 6749 §3.2). */
export function withoutEmpty(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (!Object.values(value).includes('')) return value;
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== ''));
}

/** The two halves of an `Authorization: Basic` header as they were sent; undefined when it is something else. */
export function basicPair(header: string): { id: string; secret: string } | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(header)?.[1];
  const text = encoded === undefined ? '' : Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? undefined : { id: text.slice(0, colon), secret: text.slice(colon + 1) };
}

/** Which client a request says that it is, for the log: nobody has checked it, and whatever was typed there is cut short. */
export function triedClient(authorization: string | undefined, body: unknown): string | undefined {
  const named = typeof body === 'object' && body !== null && 'client_id' in body ? body.client_id : undefined;
  const id = (authorization === undefined ? undefined : basicPair(authorization)?.id) ?? named;
  return typeof id === 'string' ? id.slice(0, MOST_CHARACTERS).toWellFormed() : undefined;
}
