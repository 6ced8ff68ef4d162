// Builds the pages of the API reference from the OpenAPI document: the index, and a page for each operation of merchants
// and for each webhook event.
import type { ErrorCode } from '../error-codes/error-codes.ts';
import { API_WORDS, CHINESE_EVENTS, CHINESE_OPERATIONS, CHINESE_TAGS } from './api-words.ts';
import { PAYMENT_DESCRIPTIONS } from './descriptions-payments.ts';
import { PLATFORM_DESCRIPTIONS } from './descriptions-platform.ts';
import { escapeHtml, linkedHtml, proseHtml } from './document.ts';
import { type Answering, errorLink, errorTable } from './error-pages.ts';
import { type Heading, contents, guidePath } from './guides.ts';
import { LANGUAGE_TAGS, type Language, inLanguage } from './language.ts';

type Json = Readonly<Record<string, unknown>>;

interface Schema extends Json {
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly examples?: readonly unknown[];
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
}

interface Header {
  readonly description?: string;
}

interface Parameter extends Header {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly schema: Schema;
  readonly example?: unknown;
}

interface Media {
  readonly schema: Schema;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { value: unknown }>>;
}

interface Answer extends Header {
  readonly headers?: Readonly<Record<string, Header | { $ref: string }>>;
  readonly content?: Readonly<Record<string, Media>>;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | { $ref: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, Answer>>;
  readonly 'x-error-codes'?: readonly ErrorCode[];
}

interface Components {
  readonly schemas: Readonly<Record<string, Schema>>;
  readonly parameters: Readonly<Record<string, Parameter>>;
  readonly headers: Readonly<Record<string, Header>>;
}

/** The members of an OpenAPI document of this service that the pages show. */
export interface ApiDocument {
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly 'x-tagGroups': readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
  readonly components: Components;
}

interface Place {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** The settings of a page. `publicUrl` is the origin of the service, which the sample requests contain. */
export interface ApiSettings {
  readonly language: Language;
  readonly publicUrl: string;
  readonly explorer: boolean;
}

/** The title and the HTML of a page's article. */
export interface ApiPage {
  readonly title: string;
  readonly article: string;
}

const ROOT = guidePath('api');

/** Returns the URL path of the page of an operation. */
export function operationPath(id: string): string {
  return `${ROOT}/${id}`;
}

/** Returns the URL path of the page of a webhook event, such as `order.paid`. */
export function eventPath(type: string): string {
  return `${ROOT}/webhooks/${type}`;
}

/** Returns the operations of merchants in the sequence of the document. Operations for administrators are left out. */
export function merchantOperations({ paths, 'x-tagGroups': groups }: ApiDocument): Place[] {
  const tags = groups.find(({ name }) => name === 'Merchant')?.tags ?? [];
  return Object.entries(paths)
    .flatMap(([path, verbs]) =>
      Object.entries(verbs).map(([verb, operation]) => ({ method: verb.toUpperCase(), path, operation })),
    )
    .filter(({ operation }) => tags.includes(operation.tags[0] ?? ''));
}

/** Returns the operations of merchants that may return an error code, for the page of the code. */
export function answeringOperations(document: ApiDocument, code: ErrorCode, language: Language): Answering {
  if (generalCodes(document.components).includes(code)) return 'any';
  return merchantOperations(document)
    .filter(({ operation }) => operation['x-error-codes']?.includes(code))
    .map(({ operation }) => ({
      title: titleOf(operation, language),
      href: inLanguage(`${operationPath(operation.operationId)}#${code}`, language),
    }));
}

function generalCodes({ schemas }: Components): readonly ErrorCode[] {
  return (schemas['GeneralErrorCode']?.enum ?? []) as readonly ErrorCode[];
}

/** Builds the index of all operations and events. */
export function apiIndex(document: ApiDocument, { language, publicUrl, explorer }: ApiSettings): ApiPage {
  const words = API_WORDS[language];
  const groups = [...Map.groupBy(merchantOperations(document), ({ operation }) => operation.tags[0] ?? '')];
  const sections = groups.map(([tag, operations]): Section => {
    const english = document.tags.find(({ name }) => name === tag)?.description ?? '';
    const [title = tag, sentence = english] = (language === 'zh' && CHINESE_TAGS[tag]) || [];
    const rows = operations.map(({ method, path, operation }) => [
      `<a href="${inLanguage(operationPath(operation.operationId), language)}">${escapeHtml(titleOf(operation, language))}</a>`,
      `<code>${method} ${escapeHtml(path)}</code><span class="kind">${scopeHtml(operation, language)}</span>`,
    ]);
    const id = tag.toLowerCase().replaceAll(' ', '-');
    return { id, title, html: `<p>${proseHtml(sentence)}</p>${table([words.operation, words.call], rows, 'fields')}` };
  });
  const events = Object.entries(document.webhooks).map(([type, { post }]) => [
    `<a href="${inLanguage(eventPath(type), language)}"><code>${type}</code></a>`,
    proseHtml(whenOf(type, post, language)),
  ]);
  sections.push({
    id: 'webhooks',
    title: words.events,
    html: `<p>${linkedHtml(words.eventsIntro, language)}</p>${table([words.event, words.when], events, 'fields')}`,
  });
  const intro = [words.intro.replace('{url}', publicUrl), ...(explorer ? [words.explorer] : [])];
  const lead = intro.map((text) => `<p>${linkedHtml(text, language)}</p>`).join('');
  return pageOf({ title: words.reference, lead, sections, language });
}

/** Builds the page of an operation of merchants; undefined if there is no such operation. */
export function operationPage(
  document: ApiDocument,
  id: string,
  { language, publicUrl }: ApiSettings,
): ApiPage | undefined {
  const place = merchantOperations(document).find(({ operation }) => operation.operationId === id);
  if (place === undefined) return undefined;
  const { components } = document;
  const { method, path, operation } = place;
  const words = API_WORDS[language];
  const parameters = operation.parameters.map((one) => resolved(one, components.parameters));
  const lead = `<p class="call"><code>${method} ${escapeHtml(path)}</code></p>
${operation.description === undefined ? '' : `<p>${described(operation.description, language)}</p>`}<p>${scopeHtml(operation, language)}</p>`;
  const sections: Section[] = [
    {
      id: 'parameters',
      title: words.parameters,
      html:
        parameters.length === 0
          ? ''
          : table(
              [words.name, words.description],
              parameters.map((one) => parameterRow(one, components, language)),
              'fields',
            ),
    },
    { id: 'request', title: words.request, html: requestHtml(operation, components, language) },
    { id: 'example', title: words.example, html: code(curl(place, parameters, { publicUrl, components })) },
    { id: 'responses', title: words.responses, html: responsesHtml(operation, components, language) },
    { id: 'errors', title: words.errors, html: errorsHtml(operation, components, language) },
  ];
  return pageOf({
    title: titleOf(operation, language),
    above: breadcrumb(operation.tags[0] ?? '', language),
    lead,
    sections: sections.filter(({ html }) => html !== ''),
    language,
  });
}

/** Builds the page of a webhook event; undefined if there is no such event. */
export function eventPage(document: ApiDocument, type: string, { language }: ApiSettings): ApiPage | undefined {
  if (!Object.hasOwn(document.webhooks, type)) return undefined;
  const { post } = document.webhooks[type]!;
  const { components } = document;
  const words = API_WORDS[language];
  const parameters = post.parameters.map((one) => resolved(one, components.parameters));
  const { schema, example } = post.requestBody!.content['application/json']!;
  const settings: FieldSettings = {
    language,
    side: 'answer',
    // The object of an event is described by the sentence about the event.
    descriptions: { 'data.object': whenOf(type, post, language) },
  };
  const answers = Object.entries(post.responses).map(([status, { description = '' }]) => [
    `<code>${status}</code>`,
    described(description, language),
  ]);
  const sections: Section[] = [
    {
      id: 'headers',
      title: words.webhookHeaders,
      html: table(
        [words.name, words.description],
        parameters.map((one) => parameterRow(one, components, language)),
        'fields',
      ),
    },
    { id: 'fields', title: words.fields, html: fieldsHtml(schema, components, settings) },
    { id: 'example', title: words.example, html: code(JSON.stringify(example, null, 2)) },
    { id: 'answer', title: words.answer, html: table([words.status, words.description], answers) },
  ];
  const lead = `<p>${proseHtml(whenOf(type, post, language))}</p><p>${linkedHtml(words.verify, language)}</p>`;
  return pageOf({ title: type, above: breadcrumb('webhooks', language), lead, sections, language });
}

interface Section extends Omit<Heading, 'depth' | 'text'> {
  title: string;
  html: string;
}

interface PageParts {
  title: string;
  /** HTML above the title. */
  above?: string;
  /** HTML between the title and the first section. */
  lead: string;
  sections: readonly Section[];
  language: Language;
}

function pageOf({ title, above = '', lead, sections, language }: PageParts): ApiPage {
  const headings = sections.map(({ id, title: text }) => ({ id, text, depth: 2 }));
  const parts = sections.map((one) => `<h2 id="${one.id}">${escapeHtml(one.title)}</h2>\n${one.html}`);
  const article = `<div class="text">${above}<h1>${escapeHtml(title)}</h1>
${contents(headings, language, 'toc-small')}${lead}
${parts.join('\n')}</div>${contents(headings, language, 'toc')}`;
  return { title, article };
}

function breadcrumb(tag: string, language: Language): string {
  const words = API_WORDS[language];
  const name = tag === 'webhooks' ? words.events : (language === 'zh' && CHINESE_TAGS[tag]?.[0]) || tag;
  const group = inLanguage(`${ROOT}#${tag.toLowerCase().replaceAll(' ', '-')}`, language);
  return `<p class="kind"><a href="${inLanguage(ROOT, language)}">${words.reference}</a> › <a href="${group}">${escapeHtml(name)}</a></p>`;
}

function titleOf({ operationId, summary }: Operation, language: Language): string {
  return (language === 'zh' && CHINESE_OPERATIONS[operationId]) || summary;
}

function whenOf(type: string, { summary }: Operation, language: Language): string {
  return (language === 'zh' && CHINESE_EVENTS[type]) || summary;
}

function scopeHtml({ security }: Operation, language: Language): string {
  const { scope: label, noToken, anyToken } = API_WORDS[language];
  if (security.length === 0) return noToken;
  const scopes = security.flatMap((one) => Object.values(one).flat());
  return scopes.length === 0 ? anyToken : label + scopes.map((scope) => `<code>${scope}</code>`).join(', ');
}

function requestHtml({ requestBody }: Operation, components: Components, language: Language): string {
  const words = API_WORDS[language];
  if (requestBody === undefined) return '';
  const kinds = Object.keys(requestBody.content).map((kind) => `<code>${kind}</code>`);
  const [{ schema } = { schema: {} }] = Object.values(requestBody.content);
  return `<p>${words.mediaTypes}${kinds.join(', ')}</p>${fieldsHtml(schema, components, { language, side: 'request' })}`;
}

function responsesHtml({ responses }: Operation, components: Components, language: Language): string {
  const words = API_WORDS[language];
  const statuses = Object.entries(responses).filter(([status]) => !status.endsWith('XX'));
  const parts = statuses.map(([status, { description = '', content = {} }]) => {
    const said = description === API_WORDS.en.success ? words.success : described(description, language);
    // The error form of a status such as 402 is that of every other error.
    const media = Object.entries(content).filter(([type]) => type !== 'application/problem+json');
    const bodies = media.map(([type, { schema, example }]) => {
      const shown = example === undefined ? '' : code(JSON.stringify(example, null, 2));
      return `<p><code>${type}</code></p>${fieldsHtml(schema, components, { language, side: 'answer' })}${shown}`;
    });
    return `<h3 id="${status}">${status}</h3><p>${said}</p>${bodies.join('')}`;
  });
  const headers = Object.values(responses).flatMap((one) => Object.entries(one.headers ?? {}));
  const rows = [...new Map(headers)].map(([name, header]) => [
    `<code>${name}</code>`,
    described(resolved(header, components.headers).description ?? '', language),
  ]);
  const shown =
    rows.length === 0
      ? ''
      : `<h3 id="headers">${words.responseHeaders}</h3>${table([words.name, words.description], rows)}`;
  return parts.join('') + shown;
}

function errorsHtml(operation: Operation, components: Components, language: Language): string {
  const words = API_WORDS[language];
  const { 'x-error-codes': codes = [], responses } = operation;
  const isOauth = responses['4XX']?.content?.['application/json'] !== undefined;
  const links = generalCodes(components)
    .map((one) => errorLink(one, language))
    .join(', ');
  return `${isOauth ? `<p>${proseHtml(words.oauthErrors)}</p>` : ''}${codes.length === 0 ? '' : errorTable(codes, language)}
<details class="general"><summary>${words.generalErrors}</summary><p>${links}</p></details>`;
}

function parameterRow(one: Parameter, components: Components, language: Language): string[] {
  const words = API_WORDS[language];
  const schema = resolveSchema(one.schema, components);
  const kind = [words[one.in], typeText(schema, components, language), one.required ? words.required : ''];
  const description = described(one.description ?? schema.description ?? '', language);
  return fieldRow(one.name, kind, description, limitsOf(schema, components, language));
}

interface FieldSettings {
  language: Language;
  side: 'request' | 'answer';
  /** Descriptions that the language has elsewhere, by the name of the field. */
  descriptions?: Readonly<Record<string, string>>;
}

/** The table of the fields of a schema and of the schemas inside it, with names such as `data.payment.qrCode`. */
function fieldsHtml(schema: Schema, components: Components, settings: FieldSettings): string {
  const words = API_WORDS[settings.language];
  const rows = fieldsOf(schema, components, settings);
  return rows.length === 0 ? '' : table([words.name, words.description], rows, 'fields');
}

/** Levels of fields inside fields that a table has at most. */
const DEEPEST = 8;

function fieldsOf(schema: Schema, components: Components, settings: FieldSettings, path = ''): string[][] {
  const { language, side, descriptions = {} } = settings;
  const words = API_WORDS[language];
  // A schema that contains itself ends here.
  if (path.split('.').length > DEEPEST) return [];
  return membersOf(schema, components).flatMap(({ name, schema: declared, isRequired }) => {
    const member = resolveSchema(declared, components);
    const needed = side === 'request' ? isRequired && words.required : !isRequired && words.optional;
    const kind = [typeText(member, components, language), needed || ''];
    const own = descriptions[path + name];
    const description = own === undefined ? described(member.description ?? '', language) : proseHtml(own);
    const row = fieldRow(path + name, kind, description, limitsOf(member, components, language));
    const isList = entryOf(member, components) !== undefined;
    return [row, ...fieldsOf(member, components, settings, `${path}${name}${isList ? '[]' : ''}.`)];
  });
}

/** `description` and `limits` are HTML. */
function fieldRow(name: string, kind: readonly string[], description: string, limits: string): string[] {
  const kinds = kind.filter(Boolean).join(' · ');
  return [
    `<code>${escapeHtml(name)}</code><span class="kind">${kinds}</span>`,
    `${description}${limits && `<span class="kind">${limits}</span>`}`,
  ];
}

interface Member {
  name: string;
  schema: Schema;
  isRequired: boolean;
}

/** The members of an object, of all its parts and alternatives, or of the entries of a list. */
function membersOf(schema: Schema, components: Components): Member[] {
  const whole = resolveSchema(schema, components);
  const required = new Set(whole.required);
  const found = new Map<string, Member>();
  for (const [name, member] of Object.entries(whole.properties ?? {}))
    found.set(name, { name, schema: member, isRequired: required.has(name) });
  // A part may describe a member again, as an event does with `data`; the last description is the most exact.
  for (const part of [...(whole.allOf ?? []), ...(whole.items ? [whole.items] : [])])
    for (const member of membersOf(part, components))
      found.set(member.name, {
        ...member,
        isRequired: member.isRequired || found.get(member.name)?.isRequired === true,
      });
  const options = alternativesOf(whole).map((part) => membersOf(part, components));
  const filled = options.filter((members) => members.length > 0);
  for (const member of filled.flat())
    found.set(member.name, {
      ...member,
      isRequired: filled.every((members) => members.some((one) => one.name === member.name && one.isRequired)),
    });
  return [...found.values()];
}

function entryOf(schema: Schema, components: Components): Schema | undefined {
  if (schema.items !== undefined) return schema.items;
  const entries = alternativesOf(schema).map((part) => entryOf(resolveSchema(part, components), components));
  return entries.find((entry) => entry !== undefined);
}

function alternativesOf({ anyOf = [], oneOf = [] }: Schema): Schema[] {
  return [...anyOf, ...oneOf];
}

/** The members beside a reference, such as a description, replace those of its target. */
function resolveSchema(schema: Schema, components: Components): Schema {
  if (schema.$ref === undefined) return schema;
  const { $ref, ...beside } = schema;
  return { ...resolveSchema(components.schemas[nameOf($ref)] ?? {}, components), ...beside };
}

function resolved<Value>(value: Value | { $ref: string }, named: Readonly<Record<string, Value>>): Value {
  const { $ref } = value as { $ref?: string };
  return $ref === undefined ? (value as Value) : named[nameOf($ref)]!;
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

function typeText(schema: Schema, components: Components, language: Language): string {
  const words = API_WORDS[language];
  const { type, format, items } = schema;
  if (items !== undefined)
    return words.arrayOf.replace('{type}', typeText(resolveSchema(items, components), components, language));
  const own = [type ?? (schema.properties || schema.allOf ? 'object' : 'any')].flat();
  const parts = alternativesOf(schema).map((part) => resolveSchema(part, components));
  const types =
    parts.length === 0
      ? own
      : parts.map((part) => (part.type === 'null' ? 'null' : typeText(part, components, language)));
  const isNullable = types.includes('null');
  const named = [...new Set(types.filter((one) => one !== 'null'))].join(' | ');
  return `${named}${format === undefined ? '' : ` (${String(format)})`}${isNullable ? ` ${words.orNull}` : ''}`;
}

/** Permitted values and sizes of a field as HTML, for example `1–127 characters`. */
function limitsOf(schema: Schema, components: Components, language: Language): string {
  const words = API_WORDS[language];
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern, format } = schema;
  const values = schema.enum?.map((one) => `<code>${escapeHtml(String(one))}</code>`).join(', ');
  const inside = [...alternativesOf(schema), ...(schema.items ? [schema.items] : [])].map((part) =>
    limitsOf(resolveSchema(part, components), components, language),
  );
  return [
    values && words.oneOf + values,
    'const' in schema && `${words.always}<code>${escapeHtml(String(schema['const']))}</code>`,
    range(minLength, maxLength, (text) => words.characters.replace('{range}', text)),
    range(minItems, maxItems, (text) => words.entries.replace('{range}', text)),
    range(minimum, maximum, (text) => text),
    // The expression of a format such as date-time says less than its name.
    typeof pattern === 'string' &&
      format === undefined &&
      `${words.pattern}<code class="pattern">${escapeHtml(pattern)}</code>`,
    ...inside,
  ]
    .filter(Boolean)
    .join(' · ');
}

function range(least: unknown, most: unknown, words: (range: string) => string): string {
  const isBound = (one: unknown): one is number => typeof one === 'number' && Math.abs(one) < Number.MAX_SAFE_INTEGER;
  if (isBound(least) && isBound(most)) return words(least === most ? String(least) : `${least}–${most}`);
  if (isBound(most)) return words(`≤ ${most}`);
  return isBound(least) ? words(`≥ ${least}`) : '';
}

const SAMPLE_UUID = '00000000-0000-4000-8000-000000000000';

/** A command for a shell that makes the example request. */
function curl(
  { method, path, operation }: Place,
  parameters: readonly Parameter[],
  { publicUrl, components }: { publicUrl: string; components: Components },
): string {
  const given = ({ name, example, schema }: Parameter): string => {
    const { examples = [], enum: values = [], format } = resolveSchema(schema, components);
    const known = [example, answerValue(operation, name), ...examples, ...values].find(Boolean);
    return String(known ?? (format === 'uuid' ? SAMPLE_UUID : `{${name}}`));
  };
  const filled = parameters
    .filter((one) => one.in === 'path')
    .reduce((text, one) => text.replace(`{${one.name}}`, encodeURIComponent(given(one))), path);
  const query = parameters.filter((one) => one.in === 'query' && one.required);
  const asked = query.map((one) => `${one.name}=${encodeURIComponent(given(one))}`).join('&');
  const url = `${publicUrl}${filled}${asked && `?${asked}`}`;
  const media = operation.requestBody?.content['application/json'];
  const example = media?.example ?? Object.values(media?.examples ?? {})[0]?.value;
  const isWrite = method !== 'GET' && !(method === 'POST' && example !== undefined);
  const lines = [`curl ${isWrite ? `-X ${method} ` : ''}${/[?&]/.test(url) ? `'${url}'` : url}`];
  if (operation.security.length > 0) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  if (operation.requestBody?.content['application/x-www-form-urlencoded'])
    // A secret in a command line would stay in the history of the shell.
    lines.push(
      ...Object.entries(example ?? {}).map(
        ([name, value]) => `-d ${name}=${name === 'client_secret' ? '"$CLIENT_SECRET"' : String(value)}`,
      ),
    );
  else if (example !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`);
    if (parameters.some(({ name }) => name.toLowerCase() === 'idempotency-key'))
      lines.push(`-H 'Idempotency-Key: request-1001'`);
    lines.push(`-d '${JSON.stringify(example, null, 2).replaceAll("'", String.raw`'\''`)}'`);
  }
  return lines.join(' \\\n  ');
}

/** The value that a member has in the example of the response, where a parameter usually comes back. */
function answerValue({ responses }: Operation, name: string): unknown {
  const [answer] = Object.entries(responses).flatMap(([status, one]) => (status.startsWith('2') ? [one] : []));
  const { data } = (answer?.content?.['application/json']?.example ?? {}) as { data?: unknown };
  const [entry] = [data].flat() as (Json | undefined)[];
  return entry?.[name];
}

/** A table; its cells are HTML. */
function table(head: readonly string[], rows: readonly (readonly string[])[], look = ''): string {
  const cells = rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`);
  return `<div class="wide" tabindex="0"><table${look && ` class="${look}"`}><thead><tr>${head.map((one) => `<th>${one}</th>`).join('')}</tr></thead><tbody>
${cells.join('\n')}
</tbody></table></div>`;
}

function code(text: string): string {
  return `<div class="sample"><pre tabindex="0"><code>${escapeHtml(text)}</code></pre></div>`;
}

/** The Chinese descriptions by the English ones. */
const CHINESE: Readonly<Record<string, string>> = { ...PAYMENT_DESCRIPTIONS, ...PLATFORM_DESCRIPTIONS };

/** A description of the OpenAPI document as HTML, marked as English where there is no translation. */
function described(text: string, language: Language): string {
  if (language === 'en' || text === '') return proseHtml(text);
  const chinese = CHINESE[text];
  return chinese === undefined ? `<span lang="${LANGUAGE_TAGS.en}">${proseHtml(text)}</span>` : proseHtml(chinese);
}
