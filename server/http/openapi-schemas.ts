import { z } from 'zod';

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
