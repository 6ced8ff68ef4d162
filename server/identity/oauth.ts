import { isWithin } from '../addresses.ts';
import type { Store } from '../db/store.ts';
import { AppError, Unauthenticated } from '../errors.ts';
import { secretMatches } from './api-app-rows.ts';
import { covers, exists } from './authenticators.ts';
import type { LoginLimits } from './login-limits.ts';
import type { AppReads, ClientState, IdentityQueries } from './ports.ts';
import type { GenuineToken, TokenMint } from './tokens.ts';

/** `basic` is true if the credentials were sent in the `Authorization` header. */
export interface ClientCredentials {
  clientId: string;
  clientSecret: string;
  basic: boolean;
}

interface ClientPorts {
  appReads: Pick<AppReads, 'clientState'>;
  limits: Pick<LoginLimits, 'clientFailed'>;
  debug: boolean;
  now: () => Date;
}

/** The response is the same for an unknown client, a wrong secret and a disabled application (RFC 6749 §5.2). */
class InvalidClient extends AppError {
  constructor(basic: boolean) {
    super('invalid_client', 401, 'Invalid client_id or client_secret.', {
      headers: basic ? { 'WWW-Authenticate': 'Basic realm="oauth", charset="UTF-8"' } : {},
    });
  }
}

const NO_HASH = '0'.repeat(64);

/** Throws a 401 `invalid_client`, a 403 if the address is not allowed, or a 429 after too many failures. */
async function authenticateClient(
  { appReads, limits, debug, now }: ClientPorts,
  { clientId, clientSecret, basic }: ClientCredentials,
  ip: string,
): Promise<ClientState> {
  const app = isClientId(clientId) ? await appReads.clientState(clientId) : undefined;
  const right = secretMatches(clientSecret, app?.secretHash ?? NO_HASH);
  const previous = secretMatches(clientSecret, previousHash(app, now()) ?? NO_HASH);
  if (!app || !(right || previous) || !app.enabled || !exists(app, debug)) {
    await limits.clientFailed(clientId, ip);
    throw new InvalidClient(basic);
  }
  if (!isWithin(app.allowedIps, ip)) {
    throw new AppError('unauthorized_client', 403, 'Your IP address is not in the list allowedIps of this client.');
  }
  return app;
}

function isClientId(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text);
}

function previousHash(app: ClientState | undefined, now: Date): string | null | undefined {
  if (!app?.previousSecretExpiresAt || app.previousSecretExpiresAt <= now) return undefined;
  return app.previousSecretHash;
}

/** The request contains scopes that the application does not have or that do not exist (400, RFC 6749 §5.2). */
class InvalidScope extends AppError {
  constructor(missing: readonly string[]) {
    const named = missing.slice(0, 20).map((scope) => scope.slice(0, 64));
    super('invalid_scope', 400, `Not granted to the application: ${named.join(' ')}.`);
  }
}

interface OAuthPorts extends ClientPorts {
  store: Store;
  queries: Pick<IdentityQueries, 'touchApp'>;
  accessTokens: TokenMint;
}

/** If `scope` is absent, the token gets all scopes of the application. */
interface TokenRequest {
  credentials: ClientCredentials;
  scope?: string;
  ip: string;
}

interface TokenGrant {
  accessToken: string;
  expiresIn: number;
  scope: string;
}

/** The request may contain the `clientId` without a secret. A token of another client is not revoked. */
interface RevokeRequest {
  token: string;
  credentials?: ClientCredentials;
  clientId?: string;
  ip: string;
}

export interface OAuth {
  issue(request: TokenRequest): Promise<TokenGrant>;
  /**
   * Revokes a token. When the call returns, every replica rejects the token.
   * An unknown token is not an error (RFC 7009 §2.2).
   */
  revoke(request: RevokeRequest): Promise<void>;
}

/** Creates the operations that issue tokens (client-credentials grant) and revoke them. */
export function createOAuth(ports: OAuthPorts): OAuth {
  const { store, queries, accessTokens, now } = ports;
  return {
    async issue({ credentials, scope, ip }) {
      const app = await authenticateClient(ports, credentials, ip);
      const granted = grantedScopes(app, scope).join(' ');
      const { token } = await accessTokens.issue({
        subject: app.clientId,
        generation: app.generation,
        scope: granted,
      });
      const at = now();
      if (!app.lastUsedAt || at.getTime() - app.lastUsedAt.getTime() >= 60_000) {
        await store.autocommit((tx) => queries.touchApp(tx, app.clientId, at));
      }
      return { accessToken: token, expiresIn: accessTokens.ttlSeconds, scope: granted };
    },
    async revoke({ token, credentials, clientId, ip }) {
      const owner = credentials ? (await authenticateClient(ports, credentials, ip)).clientId : clientId;
      const genuine = await accessTokens.verify(token).catch(ignoreInvalid);
      if (!genuine || (owner !== undefined && owner !== genuine.subject)) return;
      const { jti, subject, expiresAt } = genuine;
      const row = { jti, owner: subject, expiresAt, revokedAt: now() };
      await store.transaction((tx) => tx.revokedTokens.insertIfNew(row));
    },
  };
}

function grantedScopes({ scopes }: ClientState, requested = ''): readonly string[] {
  const wanted = [...new Set(requested.split(' ').filter(Boolean))];
  const missing = wanted.filter((scope) => !covers(scopes, scope));
  if (missing.length > 0) throw new InvalidScope(missing);
  return wanted.length > 0 ? wanted : scopes;
}

function ignoreInvalid(error: unknown): GenuineToken | undefined {
  if (error instanceof Unauthenticated) return undefined;
  throw error;
}
