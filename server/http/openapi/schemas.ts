// Schemas of the OpenAPI document: those of the contracts, those of error codes and problems; and the form of a glossary.
import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../../error-codes/error-codes.ts';
import type { AdminAuth, Auth, Contract } from '../contract.ts';

/** A JSON value of an OpenAPI document. */
export type Json = Record<string, unknown>;

/** Whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Collects the named schemas of all contracts under `components.schemas`. */
export interface SchemaCollector {
  readonly components: Record<string, Json>;
  /**
   * The JSON schema of a zod schema as it is sent (`input`) or answered (`output`); named parts become references. What is sent is
   * closed, because other members are refused, unless it is `open`.
   */
  schemaOf(schema: z.ZodType, io: 'input' | 'output', open?: boolean): Json;
}

/** Makes an empty collector; a name with two shapes gets a second component, `…Input`. */
export function collectSchemas(): SchemaCollector {
  const components: Record<string, Json> = {};
  const schemaOf = (schema: z.ZodType, io: 'input' | 'output', open = false): Json => {
    const { $defs, properties } = z.toJSONSchema(z.object({ schema }), {
      io,
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        // Answers may gain members later, so no client should take them for closed.
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

/** Codes that any request may meet: its credentials, its form, its limits, and faults of the service. */
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

/** What an `Idempotency-Key` may meet. */
const KEY_CODES: readonly ErrorCode[] = ['idempotency_conflict', 'idempotency_in_progress'];

/** Codes that an operation may answer with beyond the general ones. */
export function codesOf({ auth, errors = [], idempotent }: Contract): readonly ErrorCode[] {
  const ofKey = idempotent ? KEY_CODES : [];
  if (!isForAdmins(auth)) return [...errors, ...ofKey];
  const asked: ErrorCode[] = auth.confirmed === undefined ? [] : ['password_confirmation_required'];
  const beyond: ErrorCode[] =
    auth.projectScope === 'service' || auth.projectScope === 'account' ? ['beyond_projects'] : [];
  return [...new Set([...errors, ...ofKey, ...asked, ...beyond])];
}

/** Whether an operation is for administrators. */
export function isForAdmins(auth: Auth): auth is AdminAuth {
  return typeof auth === 'object' && 'admin' in auth;
}

/** Every code, and the general ones, as schemas. */
export const codeSchemas: Readonly<Record<string, Json>> = {
  ErrorCode: {
    type: 'string',
    description: 'Every code that an answer may carry.',
    enum: Object.keys(errorCodes).toSorted(),
  },
  GeneralErrorCode: { type: 'string', description: 'Codes that any request may meet.', enum: [...GENERAL_CODES] },
};

/** The problem of one operation: with the general codes and its own. */
export function problemOf(codes: readonly ErrorCode[]): Json {
  const general = { $ref: '#/components/schemas/GeneralErrorCode' };
  const code = codes.length === 0 ? general : { anyOf: [general, { type: 'string', enum: [...codes].toSorted() }] };
  return {
    description: 'What this operation may refuse.',
    allOf: [
      { $ref: '#/components/schemas/Problem' },
      {
        type: 'object',
        required: ['code'],
        properties: { code: { ...code, description: 'Code of the fault; it never changes its meaning.' } },
      },
    ],
  };
}

/** What a member means, and a value that it may have; without one an example takes the first that its schema allows. */
export type Entry = readonly [words: string, example?: unknown];

/** In the place of an example: what may be left out is left out. */
export const LEFT_OUT: unique symbol = Symbol('left out');

/**
 * The members that several owners have in common, by the names of all these owners, separated by blanks. An owner is a named schema
 * (`Order`), an anonymous one by the path of members from the nearest schema that has a name (`Order.settlement.fee`), an operation by its
 * `operationId`, or the place of a parameter (`path`, `query`, `header`).
 */
export type Glossary = Readonly<Record<string, Readonly<Record<string, Entry>>>>;
