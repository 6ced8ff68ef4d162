import { codeSchemas, problemOf } from './openapi-codes.ts';
import { answerHeaders } from './openapi-headers.ts';
import type { Json } from './openapi-schemas.ts';
import { inOrder, tagsOf } from './openapi-tags.ts';

const problem = {
  type: 'object',
  description: 'An error (RFC 9457). `code` is stable; `type` links to its description.',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId', 'retryable'],
  properties: {
    type: { type: 'string', examples: ['/docs/errors/invalid_request'] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { $ref: '#/components/schemas/ErrorCode' },
    requestId: { type: 'string' },
    retryable: { type: 'boolean', description: 'Whether the same request can be retried.' },
    hint: { type: 'string' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        required: ['pointer', 'code', 'detail'],
        properties: { pointer: { type: 'string' }, code: { type: 'string' }, detail: { type: 'string' } },
      },
    },
    channel: {
      type: 'object',
      description: 'The error that the channel reported.',
      required: ['payWay', 'code', 'message'],
      properties: {
        payWay: { type: 'string' },
        code: { type: 'string' },
        message: { type: 'string' },
        supportId: { type: 'string', description: 'What the support of the channel asks for.' },
      },
    },
  },
};

const oauthError = {
  type: 'object',
  description: 'RFC 6749 §5.2.',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
};

const pageInfo = {
  type: 'object',
  required: ['nextCursor', 'hasMore'],
  properties: {
    nextCursor: { type: ['string', 'null'], description: 'Send it as `cursor` to get the next page.' },
    hasMore: { type: 'boolean' },
  },
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes a retry safe: for seven days, the same key and body return the same response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const scopeWords: Record<string, string> = {
  admin: 'All of /api/v2, for the own application.',
  'payment:write': 'Pay, close and refund.',
  'payment:read': 'Read orders, refunds and events.',
  'skillpay:call': 'Pay-per-call.',
  'config:read': 'Read channel configurations.',
  'config:write': 'Write channel configurations.',
  'cert:manage': 'Manage certificates.',
  'user:read': 'Read users.',
  'user:write': 'Create and update users.',
  'coin:read': 'Read coin balances.',
  'coin:write': 'Debit coins.',
};

const oauthText =
  'Token of `POST /oauth/token` (grant `client_credentials`), sent as `Authorization: Bearer`. `admin` includes every scope.';
const cookieText =
  'Session cookie of `POST /api/v1/login`, over https from browsers `__Host-auth_token`; methods other than GET and HEAD also need the header `X-CSRF-Token` with the value of the cookie `csrf_token` (over https of `__Host-csrf_token`).';

/** Everything of the document that does not come from a single route. */
export function openapiFrame(
  version: string,
  paths: Record<string, Record<string, Json>>,
  webhooks: Json,
  schemas: Record<string, Json>,
  scopes: readonly string[],
): Json {
  const described = Object.fromEntries(['admin', ...scopes].map((scope) => [scope, scopeWords[scope] ?? scope]));
  return {
    openapi: '3.1.0',
    info: {
      title: 'Unified payment service',
      version,
      description:
        'Alipay, WeChat Pay and PayPal behind one API, including pay-per-call. Errors are problem documents (RFC 9457). An `Idempotency-Key` is honoured where it is listed as a parameter; any other operation that changes something ignores it and says so with `Idempotency-Key-Ignored: true`.',
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    'x-service-info': { categories: ['payments'], docs: { apiReference: '/swagger/index.html' } },
    servers: [{ url: '/' }],
    ...tagsOf(paths),
    paths: inOrder(paths),
    webhooks,
    components: {
      schemas: {
        ...schemas,
        ...codeSchemas,
        GeneralProblem: problemOf([]),
        Problem: problem,
        OAuthError: oauthError,
        PageInfo: pageInfo,
      },
      parameters: { IdempotencyKey: idempotencyKey },
      headers: answerHeaders,
      responses: {
        Refusal: {
          description: 'The request was refused or failed.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/GeneralProblem' } } },
        },
        OAuthRefusal: {
          description: 'The request was refused or failed.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } },
        },
      },
      securitySchemes: {
        adminBearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Token of `POST /api/v1/login`.',
        },
        adminCookie: { type: 'apiKey', in: 'cookie', name: 'auth_token', description: cookieText },
        oauth2: {
          type: 'oauth2',
          description: oauthText,
          flows: { clientCredentials: { tokenUrl: '/oauth/token', scopes: described } },
        },
      },
    },
  };
}
