import { entryOf } from './glossary/index.ts';
import { type Json, isJson } from './openapi-schemas.ts';

/**
 * Gives every member of every schema below a node, and every parameter, the words of the glossary unless it has its own. A named
 * schema owns its members and an operation those that stand in itself; an anonymous schema has the path that leads to it from
 * there (`Order.settlement.fee`). A parameter is owned by its place, `path`, `query` or `header`.
 */
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

/** The schemas that a schema is made of, without its own members. */
export function partsOf({ items, additionalProperties, anyOf, oneOf, allOf }: Json): Json[] {
  return [items, additionalProperties, anyOf, oneOf, allOf].flat().filter(isJson);
}
