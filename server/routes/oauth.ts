import { z } from 'zod';
import { AppError, InvalidRequest } from '../errors.ts';
import { UNCHANGED } from '../http/contract.ts';
import { Reply, endpoint } from '../http/endpoint.ts';
import { basicPair } from '../http/input.ts';
import { type RouteGroup, routeGroup } from '../http/router.ts';
import type { ClientCredentials, OAuth } from '../identity/oauth.ts';
import { GRANT_TOKEN_ERRORS, REVOKE_TOKEN_ERRORS } from './schemas/errors.ts';

interface SentClient {
  /** Client id and secret; absent = the request contains no secret. */
  credentials?: ClientCredentials;
  clientId?: string;
}

/**
 * Reads client id and secret of a token request from HTTP Basic or from the body (RFC 6749 §2.3.1). Throws 400 if both
 * were sent, and 401 for a header that is not Basic.
 */
function readClient(
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

/**
 * RFC 6749 requires form encoding of client id and secret, but many clients send them unencoded. So a text that cannot
 * be decoded is used as it is.
 */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

interface OAuthOperations {
  oauth: OAuth;
  issuer: string;
  publicUrl: string;
  scopes: readonly string[];
}

const Parameter = z.string().max(4096);

/** Parameters that must not be in the URL, because URLs are logged (RFC 6749 §2.3.1). */
const bodyOnly = ['client_id', 'client_secret', 'token', 'grant_type'];

const TokenRequest = z
  .object({
    grant_type: Parameter,
    client_id: Parameter.optional(),
    client_secret: Parameter.optional(),
    scope: Parameter.optional(),
  })
  .meta({ id: 'TokenRequest' });

const TokenGrant = z
  .object({ access_token: z.string(), token_type: z.literal('Bearer'), expires_in: z.int(), scope: z.string() })
  .meta({ id: 'TokenGrant' });

const RevokeRequest = z
  .object({
    token: z.string().max(16_384),
    token_type_hint: Parameter.optional(),
    client_id: Parameter.optional(),
    client_secret: Parameter.optional(),
  })
  .meta({ id: 'RevokeRequest' });

const Metadata = z.record(z.string(), z.unknown()).meta({ id: 'AuthorizationServerMetadata' });

/** Routes to get and revoke access tokens (RFC 6749 §4.4, RFC 7009), and the server's metadata (RFC 8414). */
export function oauthRoutes({ oauth, issuer, publicUrl, scopes }: OAuthOperations): RouteGroup {
  const router = routeGroup();

  /**
   * @openapi
   * /oauth/token:
   *   post:
   *     tags: [OAuth]
   *     operationId: getToken
   *     summary: Get an access token
   *     description: >-
   *       Grant `client_credentials`, as JSON or form data. Send the client credentials in the body or with HTTP Basic. `scope`
   *       restricts the token; by default it has all scopes of the application. A parameter without a value counts as omitted.
   *     requestBody:
   *       content:
   *         application/json:
   *           example:
   *             grant_type: client_credentials
   *             client_id: app_0a1b2c3d4e5f6g7h8i9j
   *             client_secret: pays_…
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: { access_token: eyJhbGciOi…, token_type: Bearer, expires_in: 3600, scope: 'payment:write payment:read' }
   */
  router.post(
    '/oauth/token',
    endpoint(
      {
        auth: 'none',
        style: 'oauth',
        accepts: ['json', 'form'],
        body: TokenRequest,
        returns: TokenGrant,
        errors: GRANT_TOKEN_ERRORS,
      },
      async ({ body, request }) => {
        requireNoCredentials(request.search);
        if (body.grant_type !== 'client_credentials') {
          throw new AppError('unsupported_grant_type', 400, 'Only the grant type client_credentials is supported.');
        }
        const credentials = requireClient(readClient(request.headers.authorization, body).credentials);
        const granted = await oauth.issue({ credentials, scope: body.scope, ip: request.ip });
        const data = {
          access_token: granted.accessToken,
          token_type: 'Bearer' as const,
          expires_in: granted.expiresIn,
          scope: granted.scope,
        };
        return new Reply({ headers: { 'Cache-Control': 'no-store', Pragma: 'no-cache' }, data });
      },
    ),
  );

  /**
   * @openapi
   * /oauth/revoke:
   *   post:
   *     tags: [OAuth]
   *     operationId: revokeToken
   *     summary: Revoke an access token
   *     description: >-
   *       The token itself is sufficient. Client credentials are optional; if sent, they must be those of the owner of the token.
   *       Unknown tokens also return 200. Every replica rejects the token as soon as the response is sent.
   *     requestBody:
   *       content:
   *         application/json:
   *           example: { token: eyJhbGciOi… }
   *     responses:
   *       200:
   *         content:
   *           application/json:
   *             example: {}
   */
  router.post(
    '/oauth/revoke',
    endpoint(
      {
        auth: 'none',
        style: 'oauth',
        accepts: ['json', 'form'],
        body: RevokeRequest,
        returns: z.object({}),
        errors: REVOKE_TOKEN_ERRORS,
      },
      async ({ body, request }) => {
        requireNoCredentials(request.search);
        const client = readClient(request.headers.authorization, body);
        await oauth.revoke({ token: body.token, ...client, ip: request.ip });
        return {};
      },
    ),
  );

  /**
   * @openapi
   * /.well-known/oauth-authorization-server:
   *   get:
   *     tags: [OAuth]
   *     operationId: getOauthMetadata
   *     summary: OAuth authorization server metadata
   */
  const metadata = describe(issuer, publicUrl, scopes);
  router.get(
    '/.well-known/oauth-authorization-server',
    endpoint({ auth: 'none', bare: true, returns: Metadata }, () => metadata),
  );
  return router;
}

function describe(issuer: string, publicUrl: string, scopes: readonly string[]): Record<string, unknown> {
  const methods = ['client_secret_basic', 'client_secret_post'];
  return {
    issuer,
    token_endpoint: `${publicUrl}/oauth/token`,
    token_endpoint_auth_methods_supported: methods,
    revocation_endpoint: `${publicUrl}/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: [...methods, 'none'],
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    scopes_supported: scopes,
  };
}

function requireClient(credentials: ClientCredentials | undefined): ClientCredentials {
  if (credentials) return credentials;
  throw new AppError('invalid_client', 401, 'client_id and client_secret are required.');
}

/** Throws 400 if the URL has a parameter of `bodyOnly`. An empty parameter counts as absent. */
function requireNoCredentials(search: string): void {
  if (search === '') return;
  const sent = new URLSearchParams(search);
  const name = bodyOnly.find((one) => sent.getAll(one).some((value) => value !== ''));
  if (name === undefined) return;
  throw new InvalidRequest(`${name} must be sent in the body, not in the URL.`, [
    { pointer: `/query/${name}`, code: 'not_in_query', detail: 'must be sent in the request body, not in the URL' },
  ]);
}

const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) }).meta({ id: 'KeySet' });

const DidDocument = z
  .object({ id: z.string(), verificationMethod: z.array(z.record(z.string(), z.unknown())) })
  .loose()
  .meta({ id: 'DidDocument' });

interface PublishedKeys {
  publicKeys: () => Promise<z.input<typeof KeySet>>;
  didDocument: () => Promise<Record<string, unknown>>;
}

/** Serves the public keys that verify payment codes and receipts. */
export function keyRoutes({ publicKeys, didDocument }: PublishedKeys): RouteGroup {
  const router = routeGroup('/.well-known');

  /**
   * @openapi
   * /.well-known/jwks.json:
   *   get:
   *     tags: [Pay-per-call]
   *     operationId: getPublicKeys
   *     summary: Public keys of payment codes and receipts (RFC 7517)
   *     description: Contains every key that was ever used; keys of the simulator mode only if the simulator is in use.
   */
  router.get(
    '/jwks.json',
    endpoint({ auth: 'none', returns: KeySet, bare: true, answers: UNCHANGED }, async () => {
      const data = await publicKeys();
      return new Reply({ data, headers: { 'Cache-Control': 'public, max-age=60' } });
    }),
  );

  /**
   * @openapi
   * /.well-known/did.json:
   *   get:
   *     tags: [Pay-per-call]
   *     operationId: getDidDocument
   *     summary: Public keys as a DID document (did:web)
   *     description: >-
   *       The same keys as in `/.well-known/jwks.json`. They sign the offers and receipts of the x402 extension `offer-receipt`.
   */
  router.get(
    '/did.json',
    endpoint({ auth: 'none', returns: DidDocument, bare: true, answers: UNCHANGED }, async () => {
      const data = (await didDocument()) as z.input<typeof DidDocument>;
      return new Reply({ data, headers: { 'Cache-Control': 'public, max-age=60' } });
    }),
  );
  return router;
}
