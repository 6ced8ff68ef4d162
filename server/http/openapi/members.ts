// Adds descriptions and examples of fields to the OpenAPI document, from the glossary.
import { catalogWords } from './glossary/catalog.ts';
import { identityWords } from './glossary/identity.ts';
import { operationsWords } from './glossary/operations.ts';
import { paymentWords } from './glossary/payments.ts';
import { type Entry, type Glossary, type Json, NO_EXAMPLE, isJson } from './schemas.ts';

/** Adds the description from the glossary to every field and parameter that has no description of its own. */
export function describeMembers(document: Json): void {
  const { components, paths } = document as {
    components: { schemas: Record<string, Json> };
    paths: Record<string, Record<string, Json>>;
  };
  for (const [name, schema] of Object.entries(components.schemas)) describeSchema(schema, name);
  for (const item of Object.values(paths))
    for (const operation of Object.values(item)) describeOperation(operation, String(operation['operationId']));
}

function describeOperation(node: unknown, id: string): void {
  if (Array.isArray(node)) return node.forEach((one) => describeOperation(one, id));
  if (!isJson(node)) return;
  if (isJson(node['schema'])) describeSchema(node['schema'], id);
  if (typeof node['in'] === 'string') node['description'] ??= entryOf(node['in'], String(node['name']))?.[0];
  for (const [key, value] of Object.entries(node))
    if (key !== 'schema' && key !== 'example') describeOperation(value, id);
}

function describeSchema(schema: Json, owner: string): void {
  for (const [member, value] of Object.entries((schema['properties'] ?? {}) as Record<string, Json>)) {
    value['description'] ??= entryOf(owner, member)?.[0];
    if (value['description'] === undefined) delete value['description'];
    describeSchema(value, `${owner}.${member}`);
  }
  for (const part of partsOf(schema)) describeSchema(part, owner);
}

/** The schemas that a composed schema consists of, without the schemas of its properties. */
export function partsOf({ items, additionalProperties, anyOf, oneOf, allOf }: Json): Json[] {
  return [items, additionalProperties, anyOf, oneOf, allOf].flat().filter(isJson);
}

/** A key in an `openapi` comment. Its values replace fields of `data` in the generated example. */
const OTHERWISE = 'x-example';

interface Bodies {
  content?: Record<string, Json>;
}

interface Operation {
  operationId: string;
  requestBody?: Bodies;
  responses: Record<string, Bodies>;
}

/** Adds an example to every successful JSON response and every webhook event that has no example yet. */
export function exemplify({ components, paths, webhooks }: Json): void {
  const { schemas } = components as { schemas: Schemas };
  for (const { operationId, responses } of operationsOf(paths))
    for (const [status, answer] of Object.entries(responses))
      if (status.startsWith('2')) exemplifyBodies(answer, schemas, operationId);
  for (const { operationId, requestBody } of operationsOf(webhooks))
    if (requestBody) exemplifyBodies(requestBody, schemas, operationId);
}

function operationsOf(items: unknown): Operation[] {
  return Object.values(items as Record<string, Record<string, Operation>>).flatMap((item) => Object.values(item));
}

function exemplifyBodies({ content = {} }: Bodies, schemas: Schemas, owner: string): void {
  for (const [type, media] of Object.entries(content)) {
    if (!/[/+]json$/.test(type)) continue;
    const { [OTHERWISE]: otherwise, schema } = media;
    media['example'] ??= exampleOf(schema as Json, schemas, { owner });
    if (otherwise) Object.assign((media['example'] as { data: Json }).data, otherwise);
    delete media[OTHERWISE];
  }
}

type Schemas = Readonly<Record<string, Json>>;

/** The field `member` of a schema or operation (`owner`). Without `member`, the whole schema or operation is meant. */
interface Place {
  owner: string;
  member?: string;
}

const BY_FORMAT: Readonly<Record<string, string>> = {
  'date-time': '2030-01-31T08:00:00.000Z',
  date: '2030-01-31',
  uuid: '00000000-0000-4000-8000-000000000000',
  uri: 'https://shop.example/webhooks',
};
const BY_TYPE: Readonly<Record<string, unknown>> = {
  string: 'text',
  integer: 0,
  number: 0,
  boolean: false,
  null: null,
};

/** The schema's own example, otherwise the glossary's, otherwise one built from the examples of its parts. */
function exampleOf(schema: Json, schemas: Schemas, place: Place): unknown {
  const own = (schema['examples'] as unknown[] | undefined)?.[0] ?? schema['const'];
  if (own !== undefined) return own;
  const listed = place.member === undefined ? undefined : entryOf(place.owner, place.member)?.[1];
  if (listed !== undefined && fits(listed, schema, schemas)) return listed;
  if (typeof schema['$ref'] === 'string') {
    const owner = nameOf(schema['$ref']);
    return exampleOf(schemas[owner] ?? {}, schemas, { owner });
  }
  return ofParts(schema, schemas, place);
}

function ofParts(schema: Json, schemas: Schemas, { owner, member }: Place): unknown {
  const { properties, items, format, type, additionalProperties } = schema;
  const within = member === undefined ? owner : `${owner}.${member}`;
  if (properties) {
    const members = Object.entries(properties as Record<string, Json>).filter(
      ([name]) => entryOf(within, name)?.[1] !== NO_EXAMPLE,
    );
    return Object.fromEntries(
      members.map(([name, part]) => [name, exampleOf(part, schemas, { owner: within, member: name })]),
    );
  }
  if (Array.isArray(schema['enum'])) return schema['enum'][0];
  const options = [schema['anyOf'], schema['oneOf'], schema['allOf']]
    .flat()
    .filter((one) => one !== undefined) as Json[];
  if (schema['allOf'])
    return Object.assign({}, ...options.map((part) => exampleOf(part, schemas, { owner: within }))) as Json;
  const [first] = options.filter((one) => one['type'] !== 'null');
  if (first) return exampleOf(first, schemas, { owner: within });
  if (items) return [exampleOf(items as Json, schemas, { owner: within })];
  if (additionalProperties || type === 'object') return {};
  return BY_FORMAT[String(format)] ?? BY_TYPE[Array.isArray(type) ? String(type[0]) : String(type)] ?? null;
}

/** A glossary example may not fit: a field of one name may be text in one place and an object in another. */
function fits(value: unknown, schema: Json, schemas: Schemas): boolean {
  if (schema['properties']) return false;
  if (typeof schema['$ref'] === 'string') return fits(value, schemas[nameOf(schema['$ref'])] ?? {}, schemas);
  const options = (schema['anyOf'] ?? schema['oneOf']) as Json[] | undefined;
  if (options) return options.some((option) => fits(value, option, schemas));
  if (Array.isArray(schema['enum'])) return schema['enum'].includes(value);
  if (
    typeof value === 'string' &&
    typeof schema['pattern'] === 'string' &&
    !new RegExp(schema['pattern'], 'u').test(value)
  )
    return false;
  const types = [schema['type'] ?? typeOf(value)].flat();
  return types.includes(typeOf(value)) || (types.includes('number') && typeOf(value) === 'integer');
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

/** Returns the schema name at the end of a reference: `#/components/schemas/Order` gives `Order`. */
export function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

/** The glossary by schema or operation and name of the field, for example `Order.status`. */
export const entries = entriesOf([catalogWords, identityWords, operationsWords, paymentWords]);

function entryOf(owner: string, member: string): Entry | undefined {
  return entries.get(`${owner}.${member}`);
}

function entriesOf(glossaries: readonly Glossary[]): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>();
  for (const glossary of glossaries)
    for (const [owners, members] of Object.entries(glossary))
      for (const owner of owners.split(' '))
        for (const [member, entry] of Object.entries(members)) {
          const name = `${owner}.${member}`;
          if (found.has(name)) throw new Error(`the glossary describes ${name} twice`);
          found.set(name, entry);
        }
  return found;
}
