import { isJson, type Json } from '../http/openapi-schemas.ts';

/** Whose members are written: a caller may give `undefined` for what it leaves out, an answer never has it. */
export type Side = 'input' | 'output';

/** The TypeScript of a JSON schema as the document has them; references become names. */
export function typeOf(schema: Json, side: Side): string {
  const { $ref, anyOf, oneOf, allOf, type, properties, items, additionalProperties } = schema;
  if (typeof $ref === 'string') return $ref.slice($ref.lastIndexOf('/') + 1);
  if ('const' in schema) return literal(schema['const']);
  if (Array.isArray(schema['enum'])) return schema['enum'].map(literal).join(' | ');
  if (Array.isArray(allOf)) return allOf.map((part) => `(${typeOf(part as Json, side)})`).join(' & ');
  const options = anyOf ?? oneOf;
  if (Array.isArray(options)) return unique(options.map((part) => typeOf(part as Json, side)));
  if (Array.isArray(type)) return unique(type.map((one) => typeOf({ ...schema, type: one as string }, side)));
  if (properties && Object.keys(properties).length === 0) return 'object';
  if (properties) return `{\n${membersText(schema, side)}\n}`;
  if (type === 'array') return `readonly (${typeOf((items ?? {}) as Json, side)})[]`;
  if (type === 'object')
    return `Readonly<Record<string, ${isJson(additionalProperties) ? typeOf(additionalProperties, side) : 'unknown'}>>`;
  return PLAIN[String(type)] ?? 'unknown';
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
};

/** The members of an object schema, one a line, each with what it means. */
export function membersText({ properties, required = [] }: Json, side: Side): string {
  return Object.entries(properties as Record<string, Json>)
    .map(([name, schema]) => {
      const isRequired = (required as string[]).includes(name);
      return memberText(name, { type: typeOf(schema, side), isRequired, side, words: schema['description'] });
    })
    .join('\n');
}

/** One member. */
export function memberText(
  name: string,
  { type, isRequired, side, words }: { type: string; isRequired: boolean; side: Side; words?: unknown },
): string {
  const optional = isRequired ? '' : '?';
  const otherwise = isRequired || side === 'output' || type === 'unknown' ? '' : ' | undefined';
  return `${commentOf(words)}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}${optional}: ${type}${otherwise};`;
}

/** A component as a declaration of its own. */
export function declarationOf(name: string, schema: Json, side: Side): string {
  const words = commentOf(schema['description'] ?? `${name} of the OpenAPI document.`);
  const isPlain = schema['properties'] && !schema['allOf'] && !schema['anyOf'];
  return isPlain
    ? `${words}export interface ${name} {\n${membersText(schema, side)}\n}`
    : `${words}export type ${name} = ${typeOf(schema, side)};`;
}

/** A text as a comment on a line of its own, or nothing. */
export function commentOf(words: unknown): string {
  if (typeof words !== 'string' || words === '') return '';
  return `/** ${words.trim().replaceAll(/\s+/g, ' ').replaceAll('*/', '*\u200b/')} */\n`;
}

/** The components that a part of the document refers to. */
export function namesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(namesIn);
  if (!isJson(node)) return [];
  const { $ref } = node;
  const own =
    typeof $ref === 'string' && $ref.startsWith('#/components/schemas/') ? [$ref.slice($ref.lastIndexOf('/') + 1)] : [];
  return [...own, ...Object.values(node).flatMap(namesIn)];
}

function literal(value: unknown): string {
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value);
}

function unique(types: string[]): string {
  return [...new Set(types)].join(' | ');
}
