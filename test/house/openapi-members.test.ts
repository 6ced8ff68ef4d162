import { Ajv2020 } from 'ajv/dist/2020.js';
import test from 'ava';
import { z } from 'zod';
import { EVENT_TYPES } from '../../server/events/record.ts';
import { entries, partsOf } from '../../server/http/openapi/members.ts';
import { codesOf, GENERAL_CODES } from '../../server/http/openapi/schemas.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { allRoutes } from '../support/routes.ts';

type Json = Record<string, unknown>;
interface Bodies {
  headers?: Json;
  content?: Record<string, { schema: Json; example?: unknown }>;
}
interface Operation {
  operationId: string;
  tags: string[];
  parameters: { name?: string; in: string; description?: string; required?: boolean; schema?: Json; $ref?: string }[];
  requestBody?: Bodies;
  responses: Record<string, Bodies>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  tags: { name: string; description?: string }[];
  'x-tagGroups': { name: string; tags: string[] }[];
  components: { schemas: Record<string, Json>; headers: Record<string, Json> };
}

const routes = (await allRoutes()).filter(({ contract }) => !contract.hidden);
const words = await readWords();
const document = mergeDocument(routes, words, { version: '0.0.0' }) as unknown as Document;
const { schemas } = document.components;
const operations = Object.entries(document.paths).flatMap(([path, verbs]) =>
  Object.entries(verbs).map(([verb, operation]) => ({
    name: `${verb.toUpperCase()} ${path}`,
    path,
    verb,
    ...operation,
  })),
);
const webhooks = Object.entries(document.webhooks).map(([name, { post }]) => ({ name, ...post }));

test('every operation has a unique operationId in camel case', (t) => {
  const names = [...operations, ...webhooks].map(({ operationId }) => operationId);
  t.is(new Set(names).size, names.length);
  t.deepEqual(
    names.filter((name) => !/^[a-z]+(?:[A-Z][a-z]+)*$/.test(name)),
    [],
  );
  const made = operations.filter(({ path, verb }) => !words[path]?.[verb]?.['operationId']);
  t.deepEqual(
    made.map(({ name }) => name),
    [],
  );
});

test('tag groups are ordered merchant, console, service; every tag has a description and one group', (t) => {
  const groups = document['x-tagGroups'];
  t.deepEqual(
    groups.map(({ name }) => name),
    ['Merchant', 'Console', 'Service'],
  );
  const grouped = groups.flatMap(({ tags }) => tags);
  t.deepEqual(
    document.tags.map(({ name }) => name),
    grouped,
  );
  t.deepEqual(
    document.tags.filter(({ description }) => !description),
    [],
  );
  const places = operations.map(({ tags }) => grouped.indexOf(tags[0]!));
  t.deepEqual(
    places,
    places.toSorted((one, other) => one - other),
  );
  const group = (tag: string) => groups.find(({ tags }) => tags.includes(tag))?.name;
  const ofMerchants = operations.filter(({ path }) => /^\/(api\/v2|oauth)\//.test(path));
  t.deepEqual(
    ofMerchants.filter(({ tags }) => group(tags[0]!) !== 'Merchant'),
    [],
  );
  t.deepEqual(
    operations.filter(({ tags, path }) => group(tags[0]!) === 'Merchant' && path.startsWith('/api/v1/')),
    [],
  );
});

test('every schema member and parameter has a description', (t) => {
  t.deepEqual(
    Object.entries(schemas).flatMap(([name, schema]) => silentMembers(schema, name)),
    [],
  );
  t.deepEqual([...operations, ...webhooks].flatMap(silentInOperation), []);
});

test('descriptions mention null only for nullable members', (t) => {
  const members = [
    ...Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name)),
    ...operations.flatMap((operation) => [
      ...operation.parameters.map(({ name = '', in: place, schema = {}, description }) => ({
        name: `${operation.name} ${place} ${name}`,
        schema,
        description,
      })),
      ...bodySchemas(operation).flatMap((schema) => membersOf(schema, operation.name)),
    ]),
  ];
  const speaking = members.filter(({ description }) => /\bnull\b/i.test(String(description)));
  t.true(speaking.length > 100);
  t.deepEqual(
    speaking.filter(({ schema }) => !allowsNull(schema)).map(({ name }) => name),
    [],
  );
});

test('every glossary entry names an owner and member of the document', (t) => {
  const named = new Set([
    ...Object.entries(schemas).flatMap(([name, schema]) => membersOf(schema, name).map((member) => member.name)),
    ...operations.flatMap((operation) => [
      ...operation.parameters.map(({ in: place, name }) => `${place}.${name}`),
      ...bodySchemas(operation).flatMap((schema) =>
        membersOf(schema, operation.operationId).map((member) => member.name),
      ),
    ]),
  ]);
  t.true(entries.size > 1000);
  t.deepEqual(
    [...entries.keys()].filter((name) => !named.has(name)),
    [],
  );
});

test('a new schema, operation or parameter inherits no description or example from a namesake', (t) => {
  const coin = z.object({ code: z.string(), amount: z.number() });
  const contract = {
    auth: { scope: 'payment:read' },
    query: z.object({ amount: z.string(), product: z.string() }),
    body: z.object({ reason: z.string(), coin }),
    returns: z
      .object({ amount: z.number(), coin, orders: z.array(z.object({ orderNo: z.string() })) })
      .meta({ id: 'Thing' }),
  } as const;
  const made = mergeDocument([{ method: 'POST', path: '/api/v2/things', contract }], {}, { version: '0.0.0' });
  const { components, paths } = made as unknown as Document;
  t.deepEqual(silentMembers(components.schemas['Thing']!, 'Thing'), [
    'Thing.amount',
    'Thing.coin',
    'Thing.coin.code',
    'Thing.coin.amount',
    'Thing.orders',
    'Thing.orders.orderNo',
  ]);
  const operation = paths['/api/v2/things']!['post']!;
  t.deepEqual(silentInOperation({ ...operation, name: 'new' }), [
    'new ?amount',
    'new ?product',
    'new.reason',
    'new.coin',
    'new.coin.code',
    'new.coin.amount',
  ]);
  t.deepEqual(operation.responses['200']!.content!['application/json']!.example, {
    data: { amount: 0, coin: { code: 'text', amount: 0 }, orders: [{ orderNo: 'text' }] },
  });
});

test('every successful JSON response and every event has an example that passes its schema', (t) => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: 'doc', components: document.components });
  const pointed = (schema: Json) =>
    JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"doc#/components/')) as Json;
  const told = [
    ...operations.flatMap(({ name, responses }) =>
      Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .map(([, bodies]) => ({ name, bodies })),
    ),
    ...webhooks.map(({ name, requestBody }) => ({ name, bodies: requestBody! })),
  ];
  for (const { name, bodies } of told)
    for (const [type, { schema, example }] of Object.entries(bodies.content ?? {})) {
      if (!/[/+]json$/.test(type)) continue;
      t.not(example, undefined, name);
      const isValid = ajv.compile(pointed(schema));
      t.true(isValid(example), `${name}: ${ajv.errorsText(isValid.errors)}\n${JSON.stringify(example)}`);
    }
});

test('the problem schema of an operation lists exactly the general codes and its own', (t) => {
  for (const { method, path, contract } of routes) {
    if (contract.style === 'oauth') continue;
    const { responses } = document.paths[path]![method.toLowerCase()]!;
    const { schema } = responses['4XX']!.content!['application/problem+json']!;
    const [, { properties }] = schemas[String(schema['$ref']).split('/').at(-1)!]!['allOf'] as [
      Json,
      { properties: { code: Json } },
    ];
    const own = ((properties.code['anyOf'] as Json[] | undefined) ?? []).flatMap(
      (one) => (one['enum'] as string[] | undefined) ?? [],
    );
    t.deepEqual(own, [...codesOf(contract)].toSorted(), `${method} ${path}`);
    t.deepEqual(responses['5XX']!.content, responses['4XX']!.content);
  }
  t.deepEqual(schemas['GeneralErrorCode']!['enum'], [...GENERAL_CODES]);
});

test('responses list their headers, and every header has a description', (t) => {
  t.deepEqual(
    Object.values(document.components.headers).filter(({ description }) => !description),
    [],
  );
  const pay = document.paths['/api/v2/payment/pay']!['post']!.responses;
  t.deepEqual(Object.keys(pay['201']!.headers!), [
    'X-Request-Id',
    'RateLimit',
    'RateLimit-Policy',
    'Idempotent-Replayed',
  ]);
  t.true('Retry-After' in pay['4XX']!.headers!);
  t.true('Replica-Lag' in document.paths['/api/v1/orders']!['get']!.responses['200']!.headers!);
  const bare = operations.filter(({ responses }) =>
    Object.values(responses).some(({ headers }) => headers !== undefined && !('X-Request-Id' in headers)),
  );
  t.deepEqual(
    bare.map(({ name }) => name),
    ['POST /api/v2/skillpay/resource'],
    'its 402 has headers of its own',
  );
});

test('the document has one signed webhook for each event type', (t) => {
  t.deepEqual(webhooks.map(({ name }) => name).toSorted(), [...EVENT_TYPES].toSorted());
  for (const { parameters } of webhooks)
    t.deepEqual(
      parameters.map(({ name, required }) => `${name} ${required}`),
      ['webhook-id true', 'webhook-timestamp true', 'webhook-signature true'],
    );
});

function silentInOperation(operation: Operation & { name: string }): string[] {
  const { name, parameters } = operation;
  return [
    ...parameters.filter((one) => !one.$ref && !one.description).map((one) => `${name} ?${one.name}`),
    ...bodySchemas(operation).flatMap((schema) => silentMembers(schema, name)),
  ];
}

function bodySchemas({ requestBody, responses }: Operation): Json[] {
  return [requestBody, ...Object.values(responses)].flatMap((bodies) =>
    Object.values(bodies?.content ?? {}).map(({ schema }) => schema),
  );
}

function silentMembers(schema: Json, at: string): string[] {
  return membersOf(schema, at)
    .filter(({ description }) => !description)
    .map(({ name }) => name);
}

function allowsNull(schema: Json): boolean {
  if (typeof schema['$ref'] === 'string') return allowsNull(schemas[schema['$ref'].split('/').at(-1)!]!);
  const options = [schema['anyOf'], schema['oneOf']].flat() as (Json | undefined)[];
  return [schema['type']].flat().includes('null') || options.some((option) => option && allowsNull(option));
}

function membersOf(schema: Json, at: string): { name: string; schema: Json; description: unknown }[] {
  const members = Object.entries((schema['properties'] ?? {}) as Record<string, Json>);
  return [
    ...members.flatMap(([name, member]) => [
      { name: `${at}.${name}`, schema: member, description: member['description'] },
      ...membersOf(member, `${at}.${name}`),
    ]),
    ...partsOf(schema).flatMap((part) => membersOf(part, at)),
  ];
}
