// Generates TypeScript source for the API client of merchants: operations and types, from the OpenAPI document.
import { isMerchantEvent } from '../events/record.ts';
import { type Json, isJson } from '../http/openapi/schemas.ts';

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Json;
}

interface Operation {
  operationId: string;
  summary: string;
  tags: string[];
  security: Json[];
  parameters: (Parameter | { $ref: string })[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Json }> };
  responses: Record<string, { content?: Record<string, { schema: Json }> }>;
}

/** The parts of the OpenAPI document from which the clients are made. */
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Json>; parameters: Record<string, Parameter> };
  'x-tagGroups': { name: string; tags: string[] }[];
}

const HEAD = '// Generated from the OpenAPI document by the build (`npm run build`). Do not edit.';

/** An operation of merchants with its parameters resolved, and the names that its input may have. */
export interface Place {
  verb: string;
  path: string;
  operation: Resolved;
  query: readonly string[];
  headers: readonly string[];
  /** The members of the body; undefined if the operation takes any member, or no body. */
  members: readonly string[] | undefined;
  isOpen: boolean;
}

/** Returns the operations of merchants in the sequence of the document. */
export function placesIn(document: Document): Place[] {
  const tags = document['x-tagGroups'].find(({ name }) => name === 'Merchant')?.tags ?? [];
  return Object.entries(document.paths).flatMap(([path, verbs]) =>
    Object.entries(verbs)
      .filter(([, operation]) => tags.includes(operation.tags[0] ?? ''))
      .map(([verb, operation]) => {
        const parameters = parametersOf(operation, document);
        const namesOf = (place: string) => parameters.filter((one) => one.in === place).map(({ name }) => name);
        return {
          verb: verb.toUpperCase(),
          path,
          operation: { ...operation, parameters },
          query: namesOf('query'),
          headers: namesOf('header'),
          members: membersOf(bodyOf(operation), document),
          isOpen: operation.security.length === 0,
        };
      }),
  );
}

/** Returns the types of the events that merchants can receive, with their descriptions. */
export function eventsIn({ webhooks }: Document): [type: string, operation: Operation][] {
  return Object.entries(webhooks)
    .filter(([type]) => isMerchantEvent(type))
    .map(([type, { post }]) => [type, post]);
}

/** Returns the schema of the request body. */
export function bodyOf({ requestBody }: Pick<Operation, 'requestBody'>): Json | undefined {
  return requestBody?.content['application/json']?.schema;
}

function membersOf(schema: Json | undefined, { components }: Document): string[] | undefined {
  const { $ref } = schema ?? {};
  const whole = typeof $ref === 'string' ? components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)] : schema;
  return whole?.['additionalProperties'] === false ? Object.keys(whole['properties'] ?? {}) : undefined;
}

/** Returns the TypeScript source of the API client: merchant operations, their types and the webhook events. */
export function clientSource(document: Json): string {
  const whole = document as unknown as Document;
  const places = placesIn(whole);
  const operations = places.map(({ operation }) => operation);
  const events = eventsIn(whole);
  const parts = [
    HEAD,
    block(
      'The input, the response body and the error codes of each operation.',
      'interface Operations',
      operations.map(operationText),
    ),
    block(
      'The webhook events by their types.',
      'interface WebhookEvents',
      events.map(([type, operation]) => eventText(type, operation)),
    ),
    `/** The method, the path and the known names of each operation. */\nexport const OPERATIONS = {\n${places.map(placeText).join('\n')}\n} as const;`,
    ...schemasOf([operations, events], whole.components.schemas),
  ];
  return `${indented(parts.join('\n\n'))}\n`;
}

function indented(text: string): string {
  let depth = 0;
  const lines = text.split('\n').map((line) => {
    const bare = line.trim();
    if (bare.startsWith('}')) depth -= 1;
    const shown = bare === '' ? '' : '  '.repeat(depth) + bare;
    if (bare.endsWith('{')) depth += 1;
    return shown;
  });
  return lines.join('\n');
}

interface Resolved extends Omit<Operation, 'parameters'> {
  parameters: Parameter[];
}

function parametersOf({ parameters }: Operation, { components }: Document): Parameter[] {
  return parameters.map((one) => ('$ref' in one ? components.parameters[one.$ref.split('/').at(-1)!]! : one));
}

function block(words: string, name: string, lines: readonly string[]): string {
  return `/** ${words} */\nexport ${name} {\n${lines.join('\n')}\n}`;
}

function operationText(operation: Resolved): string {
  const { operationId, summary, parameters, requestBody, responses } = operation;
  const fields = parameters.filter((one) => one.in !== 'header').map(parameterText);
  const headers = parameters.filter((one) => one.in === 'header');
  if (headers.length > 0) {
    const isRequired = headers.some((one) => one.required);
    fields.push(
      memberText('headers', { type: `{\n${headers.map(parameterText).join('\n')}\n}`, isRequired, side: 'input' }),
    );
  }
  const body = bodyOf(operation);
  if (body)
    fields.push(
      memberText('body', { type: typeOf(body, 'input'), isRequired: requestBody?.required === true, side: 'input' }),
    );
  const input = fields.length === 0 ? 'object' : `{\n${fields.join('\n')}\n}`;
  return `${commentOf(summary)}${operationId}: {\ninput: ${input};\nanswer: ${answerOf(responses)};\ncode: ${codeOf(responses)};\n};`;
}

function parameterText({ name, required = false, description, schema }: Parameter): string {
  const type = typeOf(schema, 'input');
  // Numeric query parameters may be passed as numbers.
  const written = type === 'string' && /^(limit|after|cursor)$/.test(name) ? 'string | number' : type;
  return memberText(name, { type: written, isRequired: required, side: 'input', words: description });
}

function answerOf(responses: Operation['responses']): string {
  const given = Object.entries(responses).filter(([status]) => status.startsWith('2'));
  const types = given.flatMap(([, { content }]) => {
    if (!content) return ['undefined'];
    return Object.entries(content).map(([type, { schema }]) =>
      /[/+]json$/.test(type) ? typeOf(schema, 'output') : 'string',
    );
  });
  return [...new Set(types)].join(' | ');
}

function codeOf(responses: Operation['responses']): string {
  const schema = responses['4XX']?.content?.['application/problem+json']?.schema;
  return schema ? `${typeOf(schema, 'output')}['code']` : 'string';
}

function eventText(type: string, { summary, requestBody }: Operation): string {
  const { schema } = requestBody!.content['application/json']!;
  return `${commentOf(summary)}'${type}': ${typeOf(schema, 'output')};`;
}

function placeText({ verb, path, operation, query, headers, members, isOpen }: Place): string {
  const list = (names: readonly string[]) => `[${names.map(literal).join(', ')}]`;
  const more = [
    ...(headers.length > 0 ? [`headers: ${list(headers)}`] : []),
    ...(members ? [`body: ${list(members)}`] : []),
    ...(isOpen ? ['isOpen: true'] : []),
  ];
  return `  ${operation.operationId}: { ${[`method: '${verb}'`, `path: '${path}'`, `query: ${list(query)}`, ...more].join(', ')} },`;
}

/** The types of all schemas to which `start` refers, directly or through other schemas. */
function schemasOf(start: unknown, schemas: Readonly<Record<string, Json>>): string[] {
  const isSent = (name: string): boolean => schemas[name]?.['additionalProperties'] === false;
  return namesFrom(start, schemas).map((name) =>
    declarationOf(name, schemas[name] ?? {}, isSent(name) ? 'input' : 'output'),
  );
}

/** Returns the sorted names of all schemas to which `start` refers, directly or through other schemas. */
export function namesFrom(start: unknown, schemas: Readonly<Record<string, Json>>): string[] {
  const found = new Set<string>();
  const visit = (name: string): void => {
    if (found.has(name)) return;
    found.add(name);
    namesIn(schemas[name]).forEach(visit);
  };
  namesIn(start).forEach(visit);
  return [...found].toSorted();
}

/** In requests (`input`) an optional property may have the value `undefined`. In responses it is absent instead. */
type Side = 'input' | 'output';

function typeOf(schema: Json, side: Side): string {
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

function membersText({ properties, required = [] }: Json, side: Side): string {
  return Object.entries(properties as Record<string, Json>)
    .map(([name, schema]) => {
      const isRequired = (required as string[]).includes(name);
      return memberText(name, { type: typeOf(schema, side), isRequired, side, words: schema['description'] });
    })
    .join('\n');
}

function memberText(
  name: string,
  { type, isRequired, side, words }: { type: string; isRequired: boolean; side: Side; words?: unknown },
): string {
  const optional = isRequired ? '' : '?';
  const otherwise = isRequired || side === 'output' || type === 'unknown' ? '' : ' | undefined';
  return `${commentOf(words)}${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}${optional}: ${type}${otherwise};`;
}

function declarationOf(name: string, schema: Json, side: Side): string {
  const words = commentOf(schema['description'] ?? `The schema ${name} of the OpenAPI document.`);
  const isPlain = schema['properties'] && !schema['allOf'] && !schema['anyOf'];
  return isPlain
    ? `${words}export interface ${name} {\n${membersText(schema, side)}\n}`
    : `${words}export type ${name} = ${typeOf(schema, side)};`;
}

function commentOf(words: unknown): string {
  if (typeof words !== 'string' || words === '') return '';
  return `/** ${words.trim().replaceAll(/\s+/g, ' ').replaceAll('*/', '*\u200b/')} */\n`;
}

function namesIn(node: unknown): string[] {
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
