import { AppError, InvalidRequest } from '../../errors.ts';
import { basicPair } from '../../http/oauth-request.ts';
import type { ClientCredentials } from '../../identity/client-credentials.ts';

/** What a request to a token endpoint says about its client. */
export interface SentClient {
  /** Set when a secret was sent. */
  credentials?: ClientCredentials;
  clientId?: string;
}

/**
 * Reads the client of a token request from HTTP Basic or from the body (RFC 6749 §2.3.1); throws 400 for both at once
 * and 401 for a header that is not Basic.
 */
export function readClient(
  authorization: string | string[] | undefined,
  body: { client_id?: string; client_secret?: string },
): SentClient {
  const { client_id: clientId, client_secret: clientSecret } = body;
  if (authorization !== undefined) {
    const credentials = readBasic(String(authorization));
    if (clientSecret !== undefined || (clientId !== undefined && clientId !== credentials.clientId)) {
      throw new InvalidRequest('Send the client credentials either with HTTP Basic or in the body, not both.');
    }
    return { credentials };
  }
  if (clientSecret === undefined) return { clientId };
  if (clientId === undefined) throw new InvalidRequest('client_secret was sent without client_id.');
  return { credentials: { clientId, clientSecret, basic: false } };
}

function readBasic(header: string): ClientCredentials {
  const pair = basicPair(header);
  if (!pair) {
    throw new AppError('invalid_client', 401, 'The Authorization header contains no valid Basic credentials.', {
      headers: { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' },
    });
  }
  return { clientId: decode(pair.id), clientSecret: decode(pair.secret), basic: true };
}

/** Both parts are form-encoded by the book; many clients send them as they are. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
