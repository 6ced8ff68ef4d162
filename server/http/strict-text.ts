// Rejects text that two programs may read differently, and finds fields of a body that its schema does not name.
import { z } from 'zod';
import { notKnown } from '../../config/nearest.ts';
import { type FieldError, InvalidRequest } from '../errors.ts';

const maxDepth = 20;

/** Whether PostgreSQL and every channel can store the text: no NUL, no lone surrogate. */
function isPlainText(text: string): boolean {
  return !text.includes('\u0000') && text.isWellFormed();
}

/** Throws a 400 if a text of the path, the query or a header contains characters that cannot be stored. */
export function requirePlainText(text: string, pointer: string): void {
  if (!isPlainText(text)) throw notPlain(pointer);
}

/** Throws a 400 if a body is deeper than 20 levels or has text that cannot be stored; returns its number of fields. */
export function requirePlainTree(value: unknown, pointer = '', depth = 0): number {
  if (typeof value === 'string') requirePlainText(value, pointer);
  if (typeof value !== 'object' || value === null) return 0;
  if (depth >= maxDepth)
    throw new InvalidRequest(`The body is nested deeper than ${maxDepth} levels.`, [], 'body_too_deep');
  const entries = Object.entries(value);
  let members = Array.isArray(value) ? 0 : entries.length;
  for (const [key, member] of entries) {
    if (!isPlainText(key)) throw notPlain(pointer);
    // Only objects and invalid texts are checked further, so that no JSON pointer is built for valid values.
    if (typeof member === 'string' ? !isPlainText(member) : typeof member === 'object')
      members += requirePlainTree(member, `${pointer}/${escapeName(key)}`, depth + 1);
  }
  return members;
}

/** Escapes a field name for use in a JSON pointer (RFC 6901). */
export function escapeName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function notPlain(pointer: string): InvalidRequest {
  return new InvalidRequest('The request contains NUL characters or invalid Unicode.', [
    { pointer, code: 'text_invalid', detail: 'must not contain NUL characters or unpaired UTF-16 surrogates' },
  ]);
}

/**
 * Parses JSON that every program reads in the same way. Throws a 400 for invalid JSON, for a body that is too deep or
 * cannot be stored, for a number that would lose digits, and for a duplicate field.
 */
export function readJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidRequest('The body is not valid JSON.', [], 'body_malformed');
  }
  const members = requirePlainTree(value);
  // Runs only after the depth check, because a reviver would overflow the stack on a body that is too deep.
  if (MAY_BE_INEXACT.test(text)) JSON.parse(text, requireExactNumber);
  // Every field is written as a name and a colon. If the text has as many of them as the parsed body has fields, no
  // field is duplicated.
  if ((text.match(MEMBER)?.length ?? 0) !== members) requireUniqueMembers(text);
  return value;
}

/** Up to 15 digits without an exponent are always exact; this pattern matches every text that has a longer number. */
const MAY_BE_INEXACT = /(?:^|[:,[])\s*-?(?:[\d.]{16}|\d[\d.]*[eE])/;
/** The end of a field's name, or the same characters inside a string. */
const MEMBER = /"\s*:/g;

/**
 * Reviver for `JSON.parse`: throws a 400 if a number loses digits, because the checked value would differ from the sent
 * one (`4.349999999999999999` would be 4.35). Other spellings of the same value are accepted.
 */
export function requireExactNumber(name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || context?.source === undefined) return value;
  if (Number.isFinite(value) && digitsOf(context.source) === digitsOf(String(value))) return value;
  const shown = name.slice(0, 64);
  const detail = 'has more digits than a JSON number keeps; send a decimal string';
  throw new InvalidRequest(`The number in the field ${shown} is too large or has too many digits for a JSON number.`, [
    { pointer: `/${escapeName(shown)}`, code: 'number_inexact', detail },
  ]);
}

/** Sign, significant digits and exponent; equal for all spellings of one decimal number. */
function digitsOf(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, '');
  const bare = digits.replace(/0+$/, '');
  if (bare === '') return '0';
  const place = Number(exponent) - fraction.length + (digits.length - bare.length);
  return `${text.startsWith('-') ? '-' : ''}${bare}e${place}`;
}

/** Matches the strings, brackets and separators of a JSON text. Numbers and literals such as `true` are skipped. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g;

/**
 * Throws a 400 if an object of a JSON text has a duplicate field: the parser uses the last one, and a proxy may have
 * checked the first. The text must be valid JSON.
 */
export function requireUniqueMembers(text: string): void {
  const open: (Set<string> | undefined)[] = [];
  let candidate: string | undefined;
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') note(open.at(-1), candidate);
    candidate = token.startsWith('"') ? token : undefined;
  }
}

function note(members: Set<string> | undefined, written: string | undefined): void {
  if (!members || written === undefined) return;
  const name = JSON.parse(written) as string;
  if (!members.has(name)) return void members.add(name);
  const shown = name.slice(0, 64);
  throw new InvalidRequest('A field of the body was sent more than once.', [
    { pointer: `/${escapeName(shown)}`, code: 'duplicate', detail: 'sent more than once' },
  ]);
}

/**
 * Yields the fields of a body, at any depth, that its schema does not name, each with the most similar known name.
 * Schemas that accept any field (`record`, `looseObject`, `custom`, `unknown`) are not checked.
 */
export function* unknownMembers(schema: z.ZodType, value: unknown, pointer = ''): Generator<FieldError> {
  if (typeof value !== 'object' || value === null) return;
  if (schema instanceof z.ZodArray && Array.isArray(value)) {
    for (const [place, item] of value.entries())
      yield* unknownMembers(schema.element as z.ZodType, item, `${pointer}/${place}`);
  } else if (schema instanceof z.ZodRecord) {
    for (const [name, member] of Object.entries(value))
      yield* unknownMembers(schema.valueType as z.ZodType, member, `${pointer}/${escapeName(name)}`);
  } else if (schema instanceof z.ZodObject) yield* ofObject(schema, value, pointer);
  else if (schema instanceof z.ZodUnion) yield* ofUnion(schema, value, pointer);
  else {
    const inner = withinOf(schema);
    if (inner) yield* unknownMembers(inner, value, pointer);
  }
}

function* ofObject({ shape, def }: z.ZodObject, value: object, pointer: string): Generator<FieldError> {
  for (const [name, member] of Object.entries(value)) {
    const at = `${pointer}/${escapeName(name.slice(0, 64))}`;
    if (Object.hasOwn(shape, name)) yield* unknownMembers(shape[name] as z.ZodType, member, at);
    else if (!def.catchall) yield { pointer: at, code: 'unknown_member', detail: notKnown(name, Object.keys(shape)) };
  }
}

/**
 * A value may match several alternatives of the union. Yields the unknown fields for the alternative with the fewest.
 */
function* ofUnion(schema: z.ZodUnion, value: object, pointer: string): Generator<FieldError> {
  const faults = (schema.options as readonly z.ZodType[])
    .filter((option) => isMeant(schema, option, value))
    .map((option) => [...unknownMembers(option, value, pointer)]);
  yield* faults.toSorted((one, other) => one.length - other.length)[0] ?? [];
}

function isMeant(schema: z.ZodUnion, option: z.ZodType, value: object): boolean {
  if (!(schema instanceof z.ZodDiscriminatedUnion && option instanceof z.ZodObject))
    return option.safeParse(value).success;
  const { discriminator } = schema.def;
  return (option.shape[discriminator] as z.ZodType).safeParse((value as Record<string, unknown>)[discriminator])
    .success;
}

/** Returns undefined if the schema is not a wrapper such as `optional` or `default`. */
function withinOf(schema: z.ZodType): z.ZodType | undefined {
  if (schema instanceof z.ZodPipe) return schema.in as z.ZodType;
  const wrappers = [
    z.ZodOptional,
    z.ZodNullable,
    z.ZodDefault,
    z.ZodPrefault,
    z.ZodNonOptional,
    z.ZodReadonly,
  ] as const;
  for (const Wrapper of wrappers) if (schema instanceof Wrapper) return schema.unwrap() as z.ZodType;
  return undefined;
}
