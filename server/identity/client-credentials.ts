import type { ApiAppRow } from '../db/entities/identity.ts';
import type { Store } from '../db/store.ts';
import { AppError } from '../errors.ts';
import { exists } from './authenticators.ts';
import type { LoginLimits } from './login-limits.ts';
import { isWithin } from '../addresses.ts';
import { secretMatches } from './secrets.ts';

/** What a client sent to say who it is; `basic` when it did so in the Authorization header. */
export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
  basic: boolean;
}

/** What checking a client needs. */
export interface ClientPorts {
  store: Store;
  limits: Pick<LoginLimits, 'clientFailed'>;
  debug: boolean;
  now: () => Date;
}

/** Unknown client, wrong secret, disabled: the same answer (RFC 6749 §5.2, 401 `invalid_client`). */
export class InvalidClient extends AppError {
  constructor(basic: boolean) {
    super('invalid_client', 401, 'Invalid client_id or client_secret.', {
      headers: basic ? { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' } : {},
    });
  }
}

const nobody = '0'.repeat(64);

/** Finds the application of these credentials; throws 401 `invalid_client`, 403 for a strange address, 429. */
export async function authenticateClient(
  { store, limits, debug, now }: ClientPorts,
  { clientId, clientSecret, basic }: ClientCredentials,
  ip: string,
): Promise<ApiAppRow> {
  const app = isClientId(clientId) ? await store.read((tx) => tx.apps.find({ clientId })) : undefined;
  const right = secretMatches(clientSecret, app?.secretHash ?? nobody);
  const previous = secretMatches(clientSecret, previousHash(app, now()) ?? nobody);
  if (!app || !(right || previous) || !app.enabled || !exists(app, debug)) {
    await limits.clientFailed(clientId, ip);
    throw new InvalidClient(basic);
  }
  if (!isWithin(app.allowedIps, ip)) {
    throw new AppError('unauthorized_client', 403, 'This client is not allowed to be used from your IP address.');
  }
  return app;
}

function isClientId(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text);
}

function previousHash(app: ApiAppRow | undefined, now: Date): string | null | undefined {
  if (!app?.previousSecretExpiresAt || app.previousSecretExpiresAt <= now) return undefined;
  return app.previousSecretHash;
}
