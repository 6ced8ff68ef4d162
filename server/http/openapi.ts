import type { z } from 'zod';
import type { ErrorCode } from '../error-codes/error-codes.ts';
import { type AdminAuth, type Auth, type Contract, ignoresKey, KEY_IGNORED, type MediaTypes } from './contract.ts';
import { openapiFrame } from './openapi-frame.ts';
import { collectSchemas, type Json, type SchemaCollector } from './openapi-schemas.ts';
import type { Words } from './openapi-words.ts';
import type { Route } from './router.ts';

/** What the document says of the service itself. */
export interface DocumentInfo {
  version: string;
}

/**
 * Builds the OpenAPI 3.1 document: shapes, auth and codes from the contracts, words and examples from the comments. Words of
 * paths that are not served are left out.
 */
export function mergeDocument(routes: readonly Route[], words: Words, { version }: DocumentInfo): Json {
  const schemas = collectSchemas();
  const paths: Record<string, Record<string, Json>> = {};
  for (const { method, path, contract } of routes) {
    if (contract.hidden) continue;
    const verb = method.toLowerCase();
    const operation = describe(method, path, contract, schemas);
    (paths[path] ??= {})[verb] = merge(operation, words[path]?.[verb] ?? {});
  }
  return openapiFrame(version, paths, schemas.components, scopesOf(routes));
}

function describe(method: string, path: string, contract: Contract, schemas: SchemaCollector): Json {
  const operation: Json = {
    operationId: operationId(method, path),
    security: securityOf(contract.auth),
    ...(isForAdmins(contract.auth) && { 'x-role': contract.auth.admin }),
    parameters: parametersOf(path, contract, schemas),
    responses: responsesOf(method, contract, schemas),
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
  const schema = schemas.schemaOf(body, 'input');
  const content = Object.fromEntries((contract.accepts ?? ['json']).map((kind) => [mediaTypes[kind], { schema }]));
  return { required: !body.safeParse(undefined).success, content };
}

function responsesOf(method: string, contract: Contract, schemas: SchemaCollector): Json {
  const status = String(contract.status ?? 200);
  const problem = contract.style === 'oauth' ? 'OAuthRefusal' : 'Refusal';
  const refusal = contract.raw === 'html' ? pageOrProblem : { $ref: `#/components/responses/${problem}` };
  const errors = errorsOf(contract);
  const headers = ignoresKey(method, contract) ? keyIgnored : undefined;
  return {
    [status]: {
      description: 'Done.',
      headers,
      content: status === '204' ? undefined : answerContent(contract, schemas),
    },
    '4XX': errors.length
      ? {
          description: `Refused. Codes: ${errors.join(', ')}.`,
          content: contract.style === 'oauth' ? oauthForm : problemForm,
        }
      : refusal,
    '5XX': refusal,
    ...ownAnswers(contract, schemas, headers),
  };
}

function errorsOf({ auth, errors = [] }: Contract): readonly ErrorCode[] {
  if (!isForAdmins(auth)) return errors;
  const asked: ErrorCode[] = auth.confirmed === undefined ? [] : ['password_confirmation_required'];
  const beyond: ErrorCode[] = auth.reach === 'service' || auth.reach === 'account' ? ['beyond_projects'] : [];
  return [...errors, ...asked, ...beyond];
}

function isForAdmins(auth: Auth): auth is AdminAuth {
  return typeof auth === 'object' && 'admin' in auth;
}

/** Beside its own form any refusal may come in the general one: the edge refuses before the handler does. */
function ownAnswers({ answers = {}, style }: Contract, schemas: SchemaCollector, headers?: Json): Json {
  const problem = style === 'oauth' ? oauthForm : problemForm;
  return Object.fromEntries(
    Object.entries(answers).map(([status, media]) => {
      const isRefusal = Number(status) >= 400;
      const content = { ...mediaContent(media, schemas), ...(isRefusal ? problem : {}) };
      return [status, { description: isRefusal ? 'Refused.' : 'Done.', headers, content }];
    }),
  );
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

const keyIgnored = { [KEY_IGNORED]: { $ref: `#/components/headers/${KEY_IGNORED}` } };
const problemForm = { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } };
const pageOrProblem = {
  description: 'Refused: a page for a browser, a problem document for everybody else.',
  content: { ...problemForm, 'text/html': { schema: { type: 'string' } } },
};
const oauthForm = { 'application/json': { schema: { $ref: '#/components/schemas/OAuthError' } } };

function answerContent(contract: Contract, schemas: SchemaCollector): Json {
  if (contract.raw === 'html') return { 'text/html': { schema: { type: 'string' } } };
  if (contract.raw === 'stream')
    return { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } };
  const data = contract.returns ? schemas.schemaOf(contract.returns, 'output') : {};
  return { 'application/json': { schema: envelope(contract, data) } };
}

function envelope({ list, bare, style }: Contract, data: Json): Json {
  if (list) {
    return {
      type: 'object',
      required: ['data', 'page'],
      properties: { data: { type: 'array', items: data }, page: { $ref: '#/components/schemas/PageInfo' } },
    };
  }
  return bare || style ? data : { type: 'object', required: ['data'], properties: { data } };
}

/** Words win over what was generated; objects merge, parameters merge by name, anything else is replaced. */
function merge(base: unknown, over: unknown): Json {
  const merged: Json = { ...(base as Json) };
  for (const [key, value] of Object.entries(over as Json)) {
    const old = merged[key];
    if (key === 'parameters' && Array.isArray(old) && Array.isArray(value))
      merged[key] = mergeParameters(old as Json[], value as Json[]);
    else merged[key] = isObject(old) && isObject(value) ? merge(old, value) : value;
  }
  return merged;
}

function mergeParameters(base: Json[], over: Json[]): Json[] {
  const words = new Map(over.map((parameter) => [parameter['name'], parameter]));
  const known = base.map((parameter) => merge(parameter, words.get(parameter['name']) ?? {}));
  const names = new Set(base.map((parameter) => parameter['name']));
  return [...known, ...over.filter((parameter) => !names.has(parameter['name']))];
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
