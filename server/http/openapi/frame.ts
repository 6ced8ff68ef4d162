// The parts of the OpenAPI document that no single route defines: problems, security, tags, response headers.
import { CHANNEL_LIST } from '../../domain.ts';
import { type Contract, KEY_IGNORED, ignoresKey } from '../contract.ts';
import { REPLICA_LAG } from '../middleware.ts';
import { type Json, codeSchemas, isJson, problemOf } from './schemas.ts';

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
        supportId: { type: 'string', description: 'Request number for the support of the channel.' },
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

/** Returns the parts of the document that no single route defines. */
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
      description: `${CHANNEL_LIST} behind one API, including pay-per-call. Errors are problem documents (RFC 9457). An \`Idempotency-Key\` is honoured where it is listed as a parameter; any other operation that changes something ignores it and says so with \`Idempotency-Key-Ignored: true\`.`,
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

/** The tags by group of API users, in display order, with their descriptions. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Merchant: {
    OAuth: 'Access tokens of applications (OAuth 2.0 client credentials). Begin here.',
    Payments: 'Place, query, close, capture and refund payments of the own application; its disputes.',
    'Pay-per-call': 'Resources that are paid for by the call (HTTP 402): price list, call, query, refund.',
    'Event log': 'What happened, in order; the same events as the webhooks.',
    Payers: 'The paying users of the own project.',
    'Coin balances': 'Coins of the paying users: balance, debit, ledger.',
    Application: 'The application of the token, and its limits.',
    'Own channel configuration': 'Channels of the own project, for trusted applications.',
    'Own certificates': 'Certificates and keys of the own project, for trusted applications.',
  },
  Console: {
    Session: 'Log in and out; the own account, password, second factor and sessions.',
    Administrators: 'Accounts of the console and their sessions.',
    'API applications': 'Applications of merchants: secrets, scopes, limits.',
    Projects: 'Projects, each with channels, users, products and applications of its own.',
    'Channel configuration': 'Channels of every project.',
    Certificates: 'Certificates and keys of every project, and which are trusted to verify.',
    Orders: 'Orders of all applications: find, follow, explain, repair.',
    Refunds: 'Refunds of all orders, and those that wait for a second administrator.',
    Exceptions: 'What a person should look at.',
    Disputes: 'Disputes and complaints of payers: answer, accept, finish.',
    Bills: 'Bills of the channels, and where they differ from the orders.',
    Products: 'What is sold: goods, coin packages and pay-per-call resources.',
    Users: 'The paying users of every project.',
    Coins: 'Kinds of coins, accounts and ledgers.',
    'Console payments': 'Payments from the console, for demonstration.',
    'WeChat agent pay': "WeChat's own payment codes for agents.",
    Webhooks: 'Where events are sent, and what came of it.',
    Events: 'Events of all applications.',
    Statistics: 'Counts and sums.',
    Live: 'The service as it changes.',
    'Audit log': 'What administrators did.',
    Audit: 'Proof that the books agree.',
  },
  Service: {
    Service: 'Health, version, channels and this document.',
    'Payer pages': 'Pages that payers see.',
    'Channel notices': 'Where the channels send their notifications.',
  },
};

const ORDER = Object.values(GROUPS).flatMap((tags) => Object.keys(tags));

/** The tags that operations use, with their descriptions, and the tag groups into which the API explorer divides the document. */
function tagsOf(paths: Json): { tags: Json[]; 'x-tagGroups': Json[] } {
  const used = new Set(Object.values(paths).map(tagOf));
  const groups = Object.entries(GROUPS).map(([name, tags]) => ({
    name,
    tags: Object.keys(tags).filter((tag) => used.has(tag)),
  }));
  const words = Object.assign({}, ...Object.values(GROUPS)) as Record<string, string>;
  const tags = [...used].toSorted(byPlace).map((name) => ({ name, description: words[name] }));
  return { tags, 'x-tagGroups': groups.filter((group) => group.tags.length > 0) };
}

/** Sorts paths: those for merchants first, then those for the console. Within a tag the sequence does not change. */
function inOrder(paths: Record<string, Record<string, Json>>): Record<string, Record<string, Json>> {
  return Object.fromEntries(Object.entries(paths).toSorted(([, one], [, other]) => byPlace(tagOf(one), tagOf(other))));
}

function byPlace(one: string, other: string): number {
  return ORDER.indexOf(one) - ORDER.indexOf(other);
}

/** The tag of a path; all its operations have the same one. */
function tagOf(item: unknown): string {
  const [operation] = isJson(item) ? Object.values(item) : [];
  return String((isJson(operation) ? (operation['tags'] as string[] | undefined) : undefined)?.[0]);
}

const text = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

/** Response headers, as components of the document. */
const answerHeaders: Readonly<Record<string, Json>> = {
  'X-Request-Id': text('ID of the request, for questions to the operator.', '01JH0000000000000000000000'),
  RateLimit: text(
    'What is left in the window: `r` requests, for `t` seconds. Not sent where nothing is limited.',
    '"default";r=599;t=60',
  ),
  'RateLimit-Policy': text('The limit: `q` requests in `w` seconds.', '"default";q=600;w=60'),
  'Retry-After': {
    description: 'Seconds until a retry makes sense.',
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
  'Idempotent-Replayed': {
    description: 'Sent with `true` if this is the stored answer of an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  [REPLICA_LAG]: text('Sent if the answer was read from a replica: how many seconds old it may be.', '0.2'),
  [KEY_IGNORED]: {
    description:
      'Sent with `true` if the request has an `Idempotency-Key`: this operation takes none, so a retry is not protected by it.',
    schema: { type: 'string', const: 'true' },
  },
};

/** The headers of a response or a refusal. */
export function headersOf(method: string, contract: Contract, kind: 'answer' | 'refusal'): Json {
  const names = [
    'X-Request-Id',
    ...(isLimited(contract) ? ['RateLimit', 'RateLimit-Policy'] : []),
    ...(kind === 'refusal' ? ['Retry-After'] : []),
    ...(contract.idempotent ? ['Idempotent-Replayed'] : []),
    ...(kind === 'answer' && method === 'GET' && contract.auth !== 'none' ? [REPLICA_LAG] : []),
    ...(kind === 'answer' && ignoresKey(method, contract) ? [KEY_IGNORED] : []),
  ];
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Whether requests of an operation are rate-limited: only those of applications are. */
function isLimited({ auth }: Contract): boolean {
  return auth === 'any-token' || (typeof auth === 'object' && 'scope' in auth);
}
