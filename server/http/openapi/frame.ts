// The parts of the OpenAPI document that belong to no single route: the schema of error responses, the authentication
// methods, the tags, and the response headers.
import { CHANNEL_LIST } from '../../domain.ts';
import { type Contract, KEY_IGNORED, ignoresKey } from '../contract.ts';
import { REPLICA_LAG } from '../middleware.ts';
import { type Json, codeSchemas, isJson, problemOf } from './schemas.ts';

const problem = {
  type: 'object',
  description: 'An error response (RFC 9457). `code` is stable; `type` is the path of its description.',
  required: ['type', 'title', 'status', 'detail', 'code', 'requestId', 'retryable'],
  properties: {
    type: { type: 'string', examples: ['/docs/errors/invalid_request'] },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string' },
    code: { $ref: '#/components/schemas/ErrorCode' },
    requestId: { type: 'string' },
    retryable: { type: 'boolean', description: 'Whether the same request may be sent again.' },
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
        supportId: { type: 'string', description: 'Request number to give to the support of the channel.' },
      },
    },
  },
};

const oauthError = {
  type: 'object',
  description: 'Error response of the OAuth operations (RFC 6749 §5.2).',
  required: ['error'],
  properties: { error: { type: 'string' }, error_description: { type: 'string' } },
};

const pageInfo = {
  type: 'object',
  required: ['nextCursor', 'hasMore'],
  properties: {
    nextCursor: {
      type: ['string', 'null'],
      description: 'Send it as `cursor` to get the next page; null = this is the last page.',
    },
    hasMore: { type: 'boolean' },
  },
};

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Makes retries safe: for seven days, a request with the same key and body returns the same response.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};

const scopeWords: Record<string, string> = {
  admin: 'All of /api/v2, for the application of the token.',
  'payment:write': 'Place, capture, close and refund payments.',
  'payment:read': 'Read orders, refunds and events.',
  'skillpay:call': 'Call paid resources (pay-per-call).',
  'config:read': 'Read channel configurations.',
  'config:write': 'Write channel configurations.',
  'cert:manage': 'Manage certificates.',
  'user:read': 'Read users.',
  'user:write': 'Create and update users.',
  'coin:read': 'Read coin balances.',
  'coin:write': 'Debit coins.',
  'webhook:read': 'Read the own webhook and its deliveries.',
  'webhook:write':
    'Set the own webhook, replace its secret, and send events to it again: so its holder can read all events.',
};

const oauthText =
  'Access token from `POST /oauth/token` (grant `client_credentials`), sent as `Authorization: Bearer`. The scope `admin` includes every other scope.';
const cookieText =
  'Session cookie from `POST /api/v1/login`. Over https, browsers send it as `__Host-auth_token`. Methods other than GET and HEAD also need the header `X-CSRF-Token` with the value of the cookie `csrf_token` (over https: `__Host-csrf_token`).';

/** Returns the parts of the OpenAPI document that belong to no single route. */
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
      description: `${CHANNEL_LIST} through one API, including pay-per-call. Errors are problem documents (RFC 9457). An \`Idempotency-Key\` takes effect only in operations that list it as a parameter. Other operations that change data ignore it and return \`Idempotency-Key-Ignored: true\`.`,
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
          description: 'The request was rejected or failed.',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/GeneralProblem' } } },
        },
        OAuthRefusal: {
          description: 'The request was rejected or failed.',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } },
        },
      },
      securitySchemes: {
        adminBearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'Session token from `POST /api/v1/login`.',
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

/** The tags in the sequence in which they are shown, grouped by the users of the API. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Merchant: {
    OAuth: 'Access tokens for applications (OAuth 2.0 client credentials). Start here.',
    Payments: 'Place, query, close, capture and refund payments of the application of the token; list its disputes.',
    'Pay-per-call': 'Resources whose calls are paid one by one (HTTP 402): price list, call, query, refund.',
    'Event log': 'All events in the sequence in which they occurred; the same events as in the webhooks.',
    'Own webhook': 'The webhook of the application of the token: its URL, signing secret and deliveries.',
    Payers: 'The paying users of the project of the token.',
    'Coin balances': 'Coins of the paying users: balance, debit, ledger.',
    Application: 'The application of the token, and its payment limits.',
    'Own channel configuration': 'Channel configurations of the project of the token, for trusted applications.',
    'Own certificates': 'Certificates and keys of the project of the token, for trusted applications.',
  },
  Console: {
    Session: 'Login and logout; account, password, second factor and sessions of the administrator who is logged in.',
    Administrators: 'Accounts of administrators and their sessions.',
    'API applications': 'Applications of merchants: secrets, scopes, limits.',
    Projects: 'Projects. Each project has its own channels, users, products and applications.',
    'Channel configuration': 'Channel configurations of all projects.',
    Certificates: 'Certificates and keys of all projects, and the trust in those that verify channel messages.',
    Orders: 'Orders of all applications: search, track, explain and correct them.',
    Refunds: 'Refunds of all orders, and refunds that a second administrator must approve.',
    Exceptions: 'Exceptions: cases that an operator must review.',
    Disputes: 'Disputes and complaints of payers: answer, accept or finish them.',
    Bills: 'Bills of the channels, and their differences from the orders.',
    Products: 'Products: goods, coin packages and pay-per-call resources.',
    Users: 'The paying users of all projects.',
    Coins: 'Coins (virtual currencies of a project), their accounts and ledgers.',
    'Console payments': 'Payments that an administrator places in the console, for demonstration.',
    'WeChat agent pay': 'Configuration of the WeChat payment codes for AI agents.',
    Webhooks: 'Webhooks of the applications, and the deliveries of events.',
    Events: 'Events of all applications.',
    Statistics: 'Counts and totals of orders and refunds.',
    Live: 'Live feed of the state of the service.',
    'Audit log': 'Actions of administrators and applications.',
    Audit: 'Consistency check of the ledger.',
  },
  Service: {
    Service: 'Health, version, channels and this document.',
    'Payer pages': 'Pages for payers.',
    'Channel notices': 'Notification URLs of the channels.',
  },
};

const ORDER = Object.values(GROUPS).flatMap((tags) => Object.keys(tags));

/** Only tags that operations use, in the groups into which the API explorer divides the document. */
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

/** The paths of a tag that its readers look for first. */
const FIRST = [
  'payment/pay',
  'payment/query/{orderNo}',
  'payment/close/{orderNo}',
  'payment/refund',
  'payment/refunds/{refundNo}',
  'payment/orders',
  'skillpay/resource',
].map((path) => `/api/v2/${path}`);

/** Paths for merchants come first, then those for the console. Within a tag the sequence does not change after `FIRST`. */
function inOrder(paths: Record<string, Record<string, Json>>): Record<string, Record<string, Json>> {
  const rank = (path: string) => (FIRST.includes(path) ? FIRST.indexOf(path) : FIRST.length);
  return Object.fromEntries(
    Object.entries(paths).toSorted(
      ([path, one], [second, other]) => byPlace(tagOf(one), tagOf(other)) || rank(path) - rank(second),
    ),
  );
}

function byPlace(one: string, other: string): number {
  return ORDER.indexOf(one) - ORDER.indexOf(other);
}

/** All operations of a path have the same tag. */
function tagOf(item: unknown): string {
  const [operation] = isJson(item) ? Object.values(item) : [];
  return String((isJson(operation) ? (operation['tags'] as string[] | undefined) : undefined)?.[0]);
}

const text = (description: string, example: string): Json => ({ description, schema: { type: 'string' }, example });

const answerHeaders: Readonly<Record<string, Json>> = {
  'X-Request-Id': text(
    'ID of the request. Give it to the operator of the service if you have questions.',
    '01JH0000000000000000000000',
  ),
  RateLimit: text(
    'Remaining quota: `r` more requests are allowed within the next `t` seconds. Omitted if the requests are not limited.',
    '"default";r=599;t=60',
  ),
  'RateLimit-Policy': text('The rate limit: `q` requests in `w` seconds.', '"default";q=600;w=60'),
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 1 },
    example: 5,
  },
  'Idempotent-Replayed': {
    description: '`true` if this is the stored response to an earlier request with the same `Idempotency-Key`.',
    schema: { type: 'string', const: 'true' },
  },
  [REPLICA_LAG]: text(
    'Sent if the data was read from a database replica: the maximum age of the data in seconds.',
    '0.2',
  ),
  [KEY_IGNORED]: {
    description:
      '`true` if the request has an `Idempotency-Key` that this operation ignores. The key does not protect a retry.',
    schema: { type: 'string', const: 'true' },
  },
};

/** Returns the response headers that the OpenAPI document lists for an operation. */
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

/** Only requests of API applications are rate-limited, not those of administrators. */
function isLimited({ auth }: Contract): boolean {
  return auth === 'any-token' || (typeof auth === 'object' && 'scope' in auth);
}
