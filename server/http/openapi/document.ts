// Builds the OpenAPI document of the service. The operations, webhooks and schemas come from the contracts that the
// routes declare in code. The descriptions come from the `openapi` comments of the route files.
import { join } from 'node:path';
import type { z } from 'zod';
import type { ErrorCode } from '../../error-codes/error-codes.ts';
import type { Auth, Contract, MediaTypes, WebhookContract } from '../contract.ts';
import type { Route } from '../router.ts';
import { headersOf, openapiFrame } from './frame.ts';
import { describeMembers, exemplify } from './members.ts';
import { type Json, type SchemaCollector, codesOf, collectSchemas, isForAdmins, isJson, problemOf } from './schemas.ts';

interface DocumentInfo {
  version: string;
}

/** Builds the OpenAPI 3.1 document. An `openapi` comment about a path that has no route is ignored. */
export function mergeDocument(routes: readonly Route[], words: Words, { version }: DocumentInfo): Json {
  const schemas = collectSchemas();
  const paths: Record<string, Record<string, Json>> = {};
  for (const { method, path, contract } of routes) {
    if (contract.hidden) continue;
    const verb = method.toLowerCase();
    const texts = words[path]?.[verb] ?? {};
    const id = String(texts['operationId'] ?? operationId(method, path));
    (paths[path] ??= {})[verb] = merge(describe(method, path, contract, schemas, id), texts);
  }
  const webhooks = webhooksOf(routes, schemas);
  const document = openapiFrame(version, paths, webhooks, schemas.components, scopesOf(routes));
  describeMembers(document);
  exemplify(document);
  return document;
}

function describe(method: string, path: string, contract: Contract, schemas: SchemaCollector, id: string): Json {
  const operation: Json = {
    operationId: id,
    security: securityOf(contract.auth),
    ...(isForAdmins(contract.auth) && { 'x-role': contract.auth.admin }),
    parameters: parametersOf(path, contract, schemas),
    responses: responsesOf(method, contract, schemas, id),
    // The schema of OAuth errors cannot list the codes, and a reader of the others need not search their schema.
    'x-error-codes': codesOf(contract),
  };
  if (contract.body) operation['requestBody'] = requestBody(contract, contract.body, schemas);
  return operation;
}

function operationId(method: string, path: string): string {
  const words = path.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  return [method.toLowerCase(), ...words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))].join('');
}

function securityOf(auth: Auth): Json[] {
  if (auth === 'none') return [];
  if (auth === 'any-token') return [{ oauth2: [] }];
  return 'scope' in auth ? [{ oauth2: [auth.scope] }] : [{ adminBearer: [] }, { adminCookie: [] }];
}

function scopesOf(routes: readonly Route[]): string[] {
  const scopes = routes.map(({ contract: { auth } }) =>
    typeof auth === 'object' && 'scope' in auth ? auth.scope : '',
  );
  return [...new Set(scopes)].filter((scope) => scope !== '').toSorted();
}

function parametersOf(path: string, contract: Contract, schemas: SchemaCollector): Json[] {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: contract.params?.shape[name]
      ? schemas.schemaOf(contract.params.shape[name] as z.ZodType, 'input')
      : { type: 'string' },
  }));
  const parameters = [
    ...inPath,
    ...members(contract.query, 'query', schemas),
    ...members(contract.headers, 'header', schemas),
  ];
  if (contract.idempotent) parameters.push({ $ref: '#/components/parameters/IdempotencyKey' });
  return parameters;
}

function members(shape: z.ZodObject | undefined, place: 'query' | 'header', schemas: SchemaCollector): Json[] {
  return Object.entries(shape?.shape ?? {}).map(([name, schema]) => {
    const { description, ...rest } = schemas.schemaOf(schema as z.ZodType, 'input');
    return {
      name,
      in: place,
      required: !(schema as z.ZodType).safeParse(undefined).success,
      description,
      schema: rest,
    };
  });
}

const mediaTypes = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  multipart: 'multipart/form-data',
  raw: '*/*',
  stream: 'application/octet-stream',
};

function requestBody(contract: Contract, body: z.ZodType, schemas: SchemaCollector): Json {
  const schema = schemas.schemaOf(body, 'input', contract.style === 'oauth');
  const content = Object.fromEntries((contract.accepts ?? ['json']).map((kind) => [mediaTypes[kind], { schema }]));
  return { required: !body.safeParse(undefined).success, content };
}

function responsesOf(method: string, contract: Contract, schemas: SchemaCollector, id: string): Json {
  const status = String(contract.status ?? 200);
  const answer = headersOf(method, contract, 'answer');
  const codes = codesOf(contract);
  const content = refusalContent(contract, codes, schemas, id);
  const described =
    codes.length > 0
      ? `Rejected or failed. Error codes in addition to the general ones: ${codes.join(', ')}.`
      : 'Rejected or failed.';
  const refusal = { description: described, headers: headersOf(method, contract, 'refusal'), content };
  return {
    [status]: {
      description: 'Success.',
      headers: answer,
      content: status === '204' ? undefined : answerContent(contract, schemas),
    },
    '4XX': refusal,
    '5XX': { ...refusal, description: 'Failed. The error codes are those of 4XX.' },
    ...ownAnswers(contract, schemas, answer, refusal),
  };
}

/** Error bodies: RFC 6749 for OAuth, RFC 9457 for all others, and also a page for operations that return HTML. */
function refusalContent(contract: Contract, codes: readonly ErrorCode[], schemas: SchemaCollector, id: string): Json {
  if (contract.style === 'oauth')
    return { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } };
  const name = codes.length > 0 ? `${id.charAt(0).toUpperCase()}${id.slice(1)}Problem` : 'GeneralProblem';
  if (codes.length > 0) schemas.components[name] = problemOf(codes);
  const problem = { 'application/problem+json': { schema: { $ref: `#/components/schemas/${name}` } } };
  return contract.raw === 'html' ? { ...problem, 'text/html': { schema: { type: 'string' } } } : problem;
}

/**
 * The responses that a contract lists. An error status also gets the usual error format, because the HTTP layer may
 * refuse a request before the handler runs.
 */
function ownAnswers({ answers = {} }: Contract, schemas: SchemaCollector, headers: Json, refusal: Json): Json {
  return Object.fromEntries(
    Object.entries(answers).map(([status, media]) => {
      const isRefusal = Number(status) >= 400;
      const content = { ...mediaContent(media, schemas), ...(isRefusal ? (refusal['content'] as Json) : {}) };
      return [
        status,
        { description: wordsOf(Number(status)), headers: isRefusal ? refusal['headers'] : headers, content },
      ];
    }),
  );
}

function wordsOf(status: number): string {
  if (status === 304) return 'Not modified: the `If-None-Match` of the request matches the current `ETag`.';
  return status >= 400 ? 'Rejected.' : 'Success.';
}

function mediaContent(media: MediaTypes, schemas: SchemaCollector): Json {
  const forms = { text: { type: 'string' }, bytes: { type: 'string', format: 'binary' } };
  return Object.fromEntries(
    Object.entries(media).map(([type, shape]) => [
      type,
      { schema: typeof shape === 'string' ? forms[shape] : schemas.schemaOf(shape, 'output') },
    ]),
  );
}

function answerContent(contract: Contract, schemas: SchemaCollector): Json {
  if (contract.raw === 'html') return { 'text/html': { schema: { type: 'string' } } };
  if (contract.raw === 'stream')
    return { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
  const data = contract.returns ? schemas.schemaOf(contract.returns, 'output') : {};
  const beside = contract.beside ? schemas.schemaOf(contract.beside, 'output') : {};
  return { 'application/json': { schema: envelope(contract, data, beside) } };
}

const DATA = 'The result of the operation.';

function envelope({ list, bare, style }: Contract, data: Json, { properties: beside }: Json): Json {
  if (list) {
    return {
      type: 'object',
      required: ['data', 'page'],
      properties: {
        data: { type: 'array', items: data, description: DATA },
        page: { $ref: '#/components/schemas/PageInfo', description: 'Cursor of the next page.' },
      },
    };
  }
  if (bare || style) return data;
  const described = { ...data, description: data['description'] ?? DATA };
  return { type: 'object', required: ['data'], properties: { data: described, ...(beside as Json) } };
}

/** Objects are merged, parameters are merged by name, other values are replaced. */
function merge(base: unknown, over: unknown): Json {
  const merged: Json = { ...(base as Json) };
  for (const [key, value] of Object.entries(over as Json)) {
    const old = merged[key];
    if (key === 'parameters' && Array.isArray(old) && Array.isArray(value))
      merged[key] = mergeParameters(old as Json[], value as Json[]);
    else merged[key] = isJson(old) && isJson(value) ? merge(old, value) : value;
  }
  return merged;
}

function mergeParameters(base: Json[], over: Json[]): Json[] {
  const words = new Map(over.map((parameter) => [parameter['name'], parameter]));
  const known = base.map((parameter) => merge(parameter, words.get(parameter['name']) ?? {}));
  const names = new Set(base.map((parameter) => parameter['name']));
  return [...known, ...over.filter((parameter) => !names.has(parameter['name']))];
}

/** The headers of every webhook request, as defined by Standard Webhooks 1.0. */
const HEADERS = [
  [
    'webhook-id',
    'ID of the event. It is the same in every delivery of the event.',
    { type: 'string' },
    '0198c2f0-0000-7000-8000-000000000000',
  ],
  [
    'webhook-timestamp',
    'Time of the signature, in seconds since 1970. Reject messages that are older than five minutes.',
    { type: 'string', pattern: '^[0-9]+$' },
    '1896163200',
  ],
  [
    'webhook-signature',
    'One or more signatures, separated by spaces. Each is `v1,` followed by the base64 HMAC-SHA-256 of `{webhook-id}.{webhook-timestamp}.{body}` with the signing secret.',
    { type: 'string' },
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  ],
] as const;

function webhooksOf(routes: readonly Route[], schemas: SchemaCollector): Json {
  const named = routes.flatMap(({ contract }) => Object.entries(contract.webhooks ?? {}));
  return Object.fromEntries(named.map(([type, contract]) => [type, { post: describeEvent(type, contract, schemas) }]));
}

function describeEvent(type: string, { when, object }: WebhookContract, schemas: SchemaCollector): Json {
  const schema = {
    allOf: [
      { $ref: '#/components/schemas/Event' },
      {
        type: 'object',
        properties: {
          type: { type: 'string', const: type, description: 'Type of the event.' },
          data: {
            type: 'object',
            description: 'Contains the object of the event.',
            required: ['object'],
            properties: { object: { ...schemas.schemaOf(object, 'output'), description: when } },
          },
        },
      },
    ],
  };
  return {
    operationId: `on${type.replaceAll(/(?:^|[._])(\w)/g, (_, letter: string) => letter.toUpperCase())}`,
    summary: when,
    tags: ['Event log'],
    security: [],
    parameters: HEADERS.map(([name, description, shape, example]) => ({
      name,
      in: 'header',
      required: true,
      description,
      schema: shape,
      example,
    })),
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': {
        description:
          'Received. After any other response, or without a response within ten seconds, the event is sent again for up to three days.',
      },
    },
  };
}

/** Texts by path and method, from the `@openapi` comments above the routes. */
type Words = Record<string, Record<string, Json>>;

/**
 * Reads the `@openapi` comments of the route files: `.ts` in a checkout, `.js` in a build (the compiler keeps
 * comments). Imports swagger-jsdoc on first use, because loading it takes a tenth of a second. Throws if a comment is
 * not valid YAML.
 */
export async function readWords(folder = join(import.meta.dirname, '..', '..', 'routes')): Promise<Words> {
  const { default: swaggerJsdoc } = await import('swagger-jsdoc');
  const { paths } = swaggerJsdoc({
    failOnErrors: true,
    definition: { openapi: '3.1.0', info: { title: 'words', version: '0' } },
    apis: [join(folder, '**', '!(*.d).{ts,js}')],
  }) as { paths?: Words };
  return paths ?? {};
}
