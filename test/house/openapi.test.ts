import test from 'ava';
import type { z } from 'zod';
import { errorCodes } from '../../server/error-codes/error-codes.ts';
import { CHANNEL_KINDS } from '../../server/channels/registry.ts';
import { isMerchantEvent } from '../../server/events/record.ts';
import type { Contract } from '../../server/http/contract.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { codesOf, GENERAL_CODES } from '../../server/http/openapi/schemas.ts';
import type { Route } from '../../server/http/router.ts';
import * as lists from '../../server/routes/schemas/errors.ts';
import { CHINESE_EVENTS, CHINESE_OPERATIONS, CHINESE_TAGS } from '../../server/pages/api-words.ts';
import { type ApiDocument, merchantOperations } from '../../server/pages/api-pages.ts';
import { requireDocumented } from '../support/documented.ts';
import { allRoutes } from '../support/routes.ts';

type Json = Record<string, unknown>;
interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  requestBody?: { content: Record<string, Media> };
  responses?: Record<string, { content?: Record<string, Media> }>;
}
interface Media {
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

const routes = (await allRoutes()).filter(({ contract }) => !contract.hidden);
const words = (await readWords()) as Record<string, Record<string, Operation>>;
const document = mergeDocument(routes, words as Record<string, Record<string, Json>>, { version: '0.0.0' });
const name = ({ method, path }: Route): string => `${method} ${path}`;

test('the served and the described operations are the same', (t) => {
  const served = routes.map(name).toSorted();
  const described = Object.entries(words).flatMap(([path, verbs]) =>
    Object.keys(verbs).map((verb) => `${verb.toUpperCase()} ${path}`),
  );
  t.deepEqual(described.toSorted(), served);
  t.deepEqual(
    served.filter((route, index) => served.indexOf(route) !== index),
    [],
  );
});

test('every operation has a tag and a summary', (t) => {
  const bare = routes.filter((route) => {
    const operation = words[route.path]?.[route.method.toLowerCase()];
    return !operation?.summary || !operation.tags?.length;
  });
  t.deepEqual(bare.map(name), []);
});

test('the reference has Chinese words for exactly the operations of merchants, their groups and the events', (t) => {
  const described = document as unknown as ApiDocument;
  const operations = merchantOperations(described).map(({ operation }) => operation);
  const named = (entries: object) => Object.keys(entries).toSorted();
  t.deepEqual(named(CHINESE_OPERATIONS), operations.map(({ operationId }) => operationId).toSorted());
  t.deepEqual(named(CHINESE_TAGS), [...new Set(operations.flatMap(({ tags }) => tags))].toSorted());
  const received = Object.keys(described.webhooks).filter((type) => isMerchantEvent(type));
  t.deepEqual(named(CHINESE_EVENTS), received.toSorted());
  const tags = Object.values(CHINESE_TAGS);
  for (const title of [...Object.values(CHINESE_OPERATIONS), ...tags.map(([one]) => one)])
    t.regex(title, /\p{Script=Han}/u);
  for (const sentence of [...Object.values(CHINESE_EVENTS), ...tags.map(([, one]) => one)])
    t.regex(sentence, /\p{Script=Han}[^]*。$/u);
});

test('every reference resolves', (t) => {
  const broken = references(document).filter((reference) => resolve(reference) === undefined);
  t.deepEqual(broken, []);
});

test('every example passes its schema', (t) => {
  for (const route of routes) {
    const { contract } = route;
    const operation = words[route.path]?.[route.method.toLowerCase()];
    for (const example of examples(operation?.requestBody?.content)) {
      t.true(contract.body?.safeParse(example).success, `${name(route)}: request example`);
    }
    const answer = operation?.responses?.[String(contract.status ?? 200)];
    for (const example of examples(answer?.content)) checkAnswer(t, route, example);
  }
});

test('the examples of certificates and configurations are accepted by their channel', (t) => {
  const kinds = [...CHANNEL_KINDS.values()].flatMap(({ certKinds }) => certKinds.map(({ kind }) => kind));
  const { schemas, parameters } = document['components'] as Record<string, Record<string, unknown>>;
  const named = [
    ...JSON.stringify([document['paths'], schemas, parameters]).matchAll(/"(?:kind|examples)":\["?(\w+_key)"/g),
  ];
  for (const [, kind = ''] of named) t.true(kinds.includes(kind), kind);
  const bodyOf = (path: string) => examples(words[path]?.['post']?.requestBody?.content)[0] as Json;
  const upload = bodyOf('/api/v2/certs/upload');
  t.true(kinds.includes(String(upload['kind'])), String(upload['kind']));
  // The pages of the reference write `alipay` into the path, the first way to pay.
  const { fields } = CHANNEL_KINDS.get('alipay')!;
  for (const path of ['/api/v1/payment/config/{payWay}', '/api/v2/payment/config/{payWay}']) {
    const { mode, ...values } = bodyOf(path);
    t.is(mode, 'sandbox');
    for (const [field, value] of Object.entries(values)) {
      const known = fields.find((one) => one.name === field);
      t.truthy(known, `${path}: ${field}`);
      if (known?.pattern) t.regex(String(value), known.pattern, field);
    }
  }
});

test('the error codes of an operation are a named list without duplicates', (t) => {
  const known = new Set<unknown>(Object.values(lists));
  const loose = routes.filter(({ contract: { errors } }) => errors && !known.has(errors));
  t.deepEqual(loose.map(name), []);
  for (const [list, codes] of Object.entries(lists)) t.is(new Set(codes).size, codes.length, list);
});

test('every error code is a general code or a code of a described operation', (t) => {
  // These codes occur only in the `errors` of `invalid_request`.
  const ofValues = ['password_weak', 'password_wrong', 'project_unknown'];
  const met = new Set<string>([...GENERAL_CODES, ...ofValues, ...routes.flatMap(({ contract }) => codesOf(contract))]);
  t.deepEqual(
    Object.keys(errorCodes).filter((code) => !met.has(code)),
    [],
  );
});

const json = { 'content-type': 'application/json; charset=utf-8' };
const found = { code: 'not_found', type: '/x', title: 'x', status: 404, detail: 'x', requestId: 'x', retryable: false };
const asProblem = { 'content-type': 'application/problem+json' };

for (const [what, answer, fault] of [
  ['as described', new Response('{"status":"ok"}', { headers: json }), undefined],
  ['with another content type', new Response('ok', { headers: { 'content-type': 'text/plain' } }), /: 200 text\/plain/],
  ['without a body', new Response(null), /: 200 without a body/],
  ['with another status', new Response('{"status":"ok"}', { status: 202, headers: json }), /: status 202/],
  ['without a required member', new Response('{}', { headers: json }), /: 200 .*status/s],
  ['with a described problem', Response.json(found, { status: 404, headers: asProblem }), undefined],
  ['with a problem without a code', Response.json({}, { status: 404, headers: asProblem }), /: 404 .*code/s],
] as const)
  test(`requireDocumented ${fault ? 'rejects' : 'accepts'} a response ${what}`, async (t) => {
    const checked = requireDocumented('GET', '/health', answer);
    if (fault) t.regex((await t.throwsAsync(checked))?.message ?? '', fault);
    else await t.notThrowsAsync(checked);
  });

test('requireDocumented accepts undescribed pages, and rejects an undescribed path with status 200', async (t) => {
  const page = () => new Response('x', { headers: { 'content-type': 'text/html' } });
  await t.notThrowsAsync(requireDocumented('GET', '/docs/errors/not_found', page()));
  await t.throwsAsync(requireDocumented('GET', '/nowhere', page()), { message: /status 200/ });
});

function checkAnswer(
  t: { deepEqual(a: unknown, b: unknown, message: string): unknown },
  route: Route,
  example: unknown,
): void {
  const { contract } = route;
  if (!contract.returns) return;
  const entries = inside(contract, example);
  const parsed = entries.map((entry) => (contract.returns as z.ZodType).safeParse(entry));
  t.deepEqual(
    JSON.parse(JSON.stringify(parsed.map(({ data, error }) => error?.issues ?? data))),
    entries,
    `${name(route)}: answer example`,
  );
}

function inside({ list, bare, style }: Contract, example: unknown): unknown[] {
  if (bare || style) return [example];
  const { data } = example as { data: unknown };
  return list ? (data as unknown[]) : [data];
}

function examples(content: Record<string, Media> | undefined): unknown[] {
  return Object.values(content ?? {}).flatMap((media) => [
    ...('example' in media ? [media.example] : []),
    ...Object.values(media.examples ?? {}).map(({ value }) => value),
  ]);
}

function references(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) => (key === '$ref' ? [String(value)] : references(value)));
}

function resolve(reference: string): unknown {
  return reference
    .replace('#/', '')
    .split('/')
    .reduce<unknown>((node, key) => (node as Json | undefined)?.[key], document);
}
