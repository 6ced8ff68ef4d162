import { z } from 'zod';
import { notKnown } from '../../config/nearest.ts';
import type { FieldError } from '../errors.ts';
import { escapeName } from './strict-text.ts';

/**
 * The members of a body that its schema does not name, wherever they stand, each with the nearest one that it does. What is
 * free in the schema (`record`, `looseObject`, `custom`, `unknown`) is free here.
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

/** Of the forms that the value may be meant to have, one that knows all its members is enough. */
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

/** What is around a schema and changes nothing about its members. */
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
