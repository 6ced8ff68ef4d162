// Builds the JSON schemas of the OpenAPI document from the contracts of the routes and from the list of error codes.
// Also defines the type of the glossary, which contains the descriptions of fields.
import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../../error-codes/error-codes.ts';
import type { AdminAuth, Auth, Contract } from '../contract.ts';

export type Json = Record<string, unknown>;

/** Whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export interface SchemaCollector {
  readonly components: Record<string, Json>;
  /**
   * Named schemas become references. A request schema (`input`) forbids unknown fields, because the service refuses
   * them; `open` permits them.
   */
  schemaOf(schema: z.ZodType, io: 'input' | 'output', open?: boolean): Json;
}

/**
 * Creates an empty collector. If a named schema differs between requests and responses, it becomes two components:
 * `…Input` and `…Output`.
 */
export function collectSchemas(): SchemaCollector {
  const components: Record<string, Json> = {};
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output', open = false): Json => {
    const { $defs, properties } = z.toJSONSchema(z.object({ schema }), {
      io,
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        // Responses may gain fields later, so clients must accept unknown ones.
        if (io === 'output') delete jsonSchema.additionalProperties;
        else if (jsonSchema.properties && !open) jsonSchema.additionalProperties ??= false;
      },
    }) as unknown as { $defs?: Record<string, Json>; properties: { schema: Json } };
    const names = new Map<string, string>();
    for (const name of Object.keys($defs ?? {})) names.set(name, nameFor(components, name, $defs ?? {}, io));
    for (const [name, definition] of Object.entries($defs ?? {})) {
      components[names.get(name) ?? name] = pointToComponents(definition, names);
    }
    return pointToComponents(properties.schema, names);
  };
  return { components, schemaOf };
}

function nameFor(
  components: Record<string, Json>,
  name: string,
  definitions: Record<string, Json>,
  io: 'input' | 'output',
): string {
  const same = new Map(Object.keys(definitions).map((key) => [key, key]));
  const definition = JSON.stringify(pointToComponents(definitions[name] ?? {}, same));
  const existing = components[name];
  if (!existing || JSON.stringify(existing) === definition) return name;
  return `${name}${io === 'input' ? 'Input' : 'Output'}`;
}

function pointToComponents<T>(node: T, names: ReadonlyMap<string, string>): T {
  return JSON.parse(JSON.stringify(node), (key, value: unknown) => {
    if (key !== '$ref' || typeof value !== 'string') return value;
    const name = value.replace('#/$defs/', '');
    return `#/components/schemas/${names.get(name) ?? name}`;
  }) as T;
}

/** Error codes that any request may get: authentication, malformed input, limits, and failures of the service. */
export const GENERAL_CODES = [
  'body_incomplete',
  'body_malformed',
  'body_too_deep',
  'body_too_large',
  'change_unknown',
  'csrf_failed',
  'database_busy',
  'database_full',
  'database_unavailable',
  'insufficient_scope',
  'internal_error',
  'invalid_request',
  'ip_not_allowed',
  'media_type_unsupported',
  'method_not_allowed',
  'not_found',
  'rate_limited',
  'request_timeout',
  'role_insufficient',
  'second_factor_enrolment_required',
  'unauthenticated',
] as const satisfies readonly ErrorCode[];

const KEY_CODES: readonly ErrorCode[] = ['idempotency_conflict', 'idempotency_in_progress'];

/** Returns the error codes that an operation may return in addition to the general ones (`GENERAL_CODES`). */
export function codesOf({ auth, errors = [], idempotent }: Contract): readonly ErrorCode[] {
  const ofKey = idempotent ? KEY_CODES : [];
  if (!isForAdmins(auth)) return [...errors, ...ofKey];
  const ofConfirmation: ErrorCode[] = auth.confirmed === undefined ? [] : ['password_confirmation_required'];
  const ofScope: ErrorCode[] =
    auth.projectScope === 'service' || auth.projectScope === 'account' ? ['beyond_projects'] : [];
  return [...new Set([...errors, ...ofKey, ...ofConfirmation, ...ofScope])];
}

/** Whether an operation is for administrators. */
export function isForAdmins(auth: Auth): auth is AdminAuth {
  return typeof auth === 'object' && 'admin' in auth;
}

export const codeSchemas: Readonly<Record<string, Json>> = {
  ErrorCode: {
    type: 'string',
    description: 'All error codes of the service.',
    enum: Object.keys(errorCodes).toSorted(),
  },
  GeneralErrorCode: {
    type: 'string',
    description: 'Error codes that any operation may return.',
    enum: [...GENERAL_CODES],
  },
};

/** Returns the schema of an error response whose `code` permits the general error codes and the given ones. */
export function problemOf(codes: readonly ErrorCode[]): Json {
  const general = { $ref: '#/components/schemas/GeneralErrorCode' };
  const code = codes.length === 0 ? general : { anyOf: [general, { type: 'string', enum: [...codes].toSorted() }] };
  return {
    description: 'Error response of this operation.',
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      {
        type: 'object',
        required: ['code'],
        properties: { code: { ...code, description: 'Error code. The meaning of a code never changes.' } },
      },
    ],
  };
}

/** Without an example, the document uses the first permitted value of the field, or a typical value of its type. */
export type Entry = readonly [words: string, example?: unknown];

/** Used as the example of a field that generated examples must not contain. */
export const NO_EXAMPLE: unique symbol = Symbol('left out');

/**
 * The glossary: descriptions of fields. Its outer key is a schema (`Order`), the path to a schema without a name
 * (`Order.settlement.fee`), an operation (`operationId`), or `path`, `query` or `header` for parameters. Several outer
 * keys with the same entries are written as one, separated by spaces. The inner key is the name of the field.
 */
export type Glossary = Readonly<Record<string, Readonly<Record<string, Entry>>>>;
