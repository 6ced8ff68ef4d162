// Generates Python source for the API client of merchants, from the same document as client-source.ts, and writes both.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { mergeDocument, readWords } from '../http/openapi/document.ts';
import { type Json, isJson } from '../http/openapi/schemas.ts';
import { VERSION } from '../http/version.ts';
import { bodyOf, clientSource, type Document, eventsIn, namesFrom, type Place, placesIn } from './client-source.ts';
import { allRoutes } from './route-groups.ts';

const HEAD = `# Generated from the OpenAPI document by the build (\`npm run build\`). Do not edit.
from __future__ import annotations

from typing import Any, Literal, Mapping, NamedTuple, NotRequired, TypeAlias, TypedDict


class Operation(NamedTuple):
    """Where an operation is; \`body\` has the members of its body, and is None if it takes any member or no body."""

    method: str
    path: str
    query: tuple[str, ...]
    body: tuple[str, ...] | None
    is_open: bool
`;

/** Writes the generated source files of both API clients into a folder: `operations.ts` and `operations.py`. */
export async function writeClientSources(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const document = mergeDocument(await allRoutes(), await readWords(), { version: VERSION });
  await writeFile(join(folder, 'operations.ts'), clientSource(document));
  await writeFile(join(folder, 'operations.py'), pythonSource(document));
}

/** Returns the Python source of the API client: merchant operations, their types and the webhook events. */
export function pythonSource(document: Json): string {
  const whole = document as unknown as Document;
  const { schemas } = whole.components;
  const places = placesIn(whole);
  const events = eventsIn(whole);
  const types = new Types(schemas);
  for (const name of namesFrom([places, events], schemas)) types.declare(name, schemas[name] ?? {});
  const methods = places.map((place) => methodText(place, types));
  const eventNames = events.map(([type, operation]) => {
    const name = `${pascal(type)}Event`;
    types.declare(name, { ...bodyOf(operation), description: operation.summary });
    return name;
  });
  const test = { properties: { type: { const: 'webhook.test' } } };
  types.declare('WebhookTestEvent', { allOf: [{ $ref: '#/components/schemas/Event' }, test] });
  const all = [...eventNames, 'WebhookTestEvent'].join(' | ');
  types.alias('WebhookEvent', all, 'An event that the service sends to a webhook.');
  const table = places.map(
    ({ verb, path, operation, query, members, isOpen }) =>
      `    ${text(operation.operationId)}: Operation(${text(verb)}, ${text(path)}, ${tuple(query)}, ${members ? tuple(members) : 'None'}, ${isOpen ? 'True' : 'False'}),`,
  );
  return [
    HEAD,
    `OPERATIONS: dict[str, Operation] = {\n${table.join('\n')}\n}\n`,
    `class Operations:\n    """One method for each operation of the API for merchants."""\n\n    def _call(self, name: str, parameters: Mapping[str, object], headers: Mapping[str, str | None], body: object = None) -> Any:\n        raise NotImplementedError\n\n${methods.join('\n\n')}\n`,
    ...types.classes,
    types.aliases.join('\n'),
  ].join('\n\n');
}

/** Declares a Python type for each schema; an object inside another one gets a name made of both. */
class Types {
  readonly classes: string[] = [];
  /** They stand after the classes, each after those that it names, because Python evaluates them at once. */
  readonly aliases: string[] = [];
  readonly #names = new Set<string>();
  readonly #schemas: Readonly<Record<string, Json>>;

  constructor(schemas: Readonly<Record<string, Json>>) {
    this.#schemas = schemas;
  }

  declare(name: string, schema: Json): void {
    if (this.#names.has(name)) return;
    const object = this.#flat(schema);
    if (object) this.#object(name, object);
    else this.alias(name, this.of(schema, name), schema['description']);
  }

  alias(name: string, type: string, words: unknown): void {
    this.#names.add(name);
    this.aliases.push(`${commentOf(words, '')}${name}: TypeAlias = ${type}\n`);
  }

  /** Returns the type of a schema; `name` is the one that an object in it gets. */
  of(schema: Json, name: string): string {
    const { $ref, anyOf, oneOf, type, items, additionalProperties } = schema;
    if (typeof $ref === 'string') {
      const target = $ref.slice($ref.lastIndexOf('/') + 1);
      this.declare(target, this.#schemas[target] ?? {});
      return target;
    }
    if ('const' in schema) return literal([schema['const']]);
    if (Array.isArray(schema['enum'])) return literal(schema['enum']);
    const options = anyOf ?? oneOf;
    if (Array.isArray(options))
      return union(options.map((part, at) => this.of(part as Json, at === 0 ? name : name + (at + 1))));
    if (Array.isArray(type)) return union(type.map((one) => this.of({ ...schema, type: one as string }, name)));
    const object = this.#flat(schema);
    if (object) {
      const free = this.#names.has(name) || name in this.#schemas ? `${name}Data` : name;
      this.#object(free, object);
      return free;
    }
    if (type === 'array') return `list[${this.of((items ?? {}) as Json, `${name}Item`)}]`;
    if (type === 'object')
      return `dict[str, ${isJson(additionalProperties) ? this.of(additionalProperties, `${name}Value`) : 'Any'}]`;
    return PLAIN[String(type)] ?? 'Any';
  }

  /** An object with members, the parts of `allOf` joined; undefined for any other schema. */
  #flat(schema: Json): Json | undefined {
    const { $ref, allOf, anyOf, oneOf, properties = {}, required = [] } = schema;
    if (typeof $ref === 'string') return this.#flat(this.#schemas[$ref.slice($ref.lastIndexOf('/') + 1)] ?? {});
    const parts = Array.isArray(allOf) ? allOf.map((part) => this.#flat(part as Json)) : [];
    if (anyOf ?? oneOf) return undefined;
    const all = { ...Object.assign({}, ...parts.map((part) => part?.['properties'])), ...(properties as Json) } as Json;
    if (Object.keys(all).length === 0) return undefined;
    const must = [...parts.flatMap((part) => (part?.['required'] ?? []) as string[]), ...(required as string[])];
    return { description: schema['description'], properties: all, required: must };
  }

  #object(name: string, { description, properties, required }: Json): void {
    if (this.#names.has(name)) throw new Error(`Two types of the Python client are named ${name}.`);
    this.#names.add(name);
    const members = Object.entries(properties as Record<string, Json>).map(([member, schema]) => {
      const type = this.of(schema, name + pascal(member));
      const isRequired = (required as string[]).includes(member);
      return { member, type: isRequired ? type : `NotRequired[${type}]`, words: schema['description'] };
    });
    const doc = docOf(description ?? `${name} of the OpenAPI document.`, '    ');
    // A name that Python cannot write as an attribute needs the other form.
    const isPlain = members.every(({ member }) => /^[A-Za-z]\w*$/.test(member) && !KEYWORDS.has(member));
    const lines = members.map(({ member, type, words }) =>
      isPlain ? `${commentOf(words, '    ')}    ${member}: ${type}` : `    ${text(member)}: ${text(type)},`,
    );
    this.classes.push(
      isPlain
        ? `class ${name}(TypedDict):\n${doc}\n${lines.join('\n')}\n`
        : `${name} = TypedDict(${text(name)}, {\n${lines.join('\n')}\n})\n`,
    );
  }
}

function methodText({ path, operation, query, headers }: Place, types: Types): string {
  const { operationId, summary, parameters, requestBody, responses } = operation;
  const name = pascal(operationId);
  const body = bodyOf(operation);
  const given = parameters.map(({ name: own, required = false, schema, in: place }) => {
    const type = types.of(schema, name + pascal(own));
    const written = place === 'query' && type === 'str' && /^(limit|after|cursor)$/.test(own) ? 'str | int' : type;
    return { name: snake(own), isRequired: required || place === 'path', type: written };
  });
  if (body)
    given.push({ name: 'body', isRequired: requestBody?.required === true, type: types.of(body, `${name}Body`) });
  const words = [...given.filter((one) => one.isRequired), ...given.filter((one) => !one.isRequired)].map(
    ({ name: own, isRequired, type }) => `${own}: ${type}${isRequired ? '' : ' | None = None'}`,
  );
  const pairs = (names: readonly string[]) => `{${names.map((own) => `${text(own)}: ${snake(own)}`).join(', ')}}`;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, own = '']) => own);
  const sent = [text(operationId), pairs([...inPath, ...query]), pairs(headers), ...(body ? ['body'] : [])];
  const answers = Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]) => (content ? Object.entries(content) : [undefined]));
  // 200 and 201 often have the same schema.
  const different = answers.filter((one, at) => answers.findIndex((other) => isDeepStrictEqual(one, other)) === at);
  const answer = different.map((one) => {
    if (one === undefined) return 'None';
    return /[/+]json$/.test(one[0]) ? types.of(one[1].schema, `${name}Answer`) : 'str';
  });
  return `    def ${snake(operationId)}(self${words.length > 0 ? `, *, ${words.join(', ')}` : ''}) -> ${union(answer)}:\n${docOf(summary, '        ')}\n        return self._call(${sent.join(', ')})`;
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
};

/** The reserved words of Python. */
const KEYWORDS = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for ' +
    'from global if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

function literal(values: readonly unknown[]): string {
  const known = values.filter((value) => value !== null);
  const named = known.length > 0 ? [`Literal[${known.map(text).join(', ')}]`] : [];
  return union([...named, ...(known.length < values.length ? ['None'] : [])]);
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ');
}

/** A text, number or truth value in Python. */
function text(value: unknown): string {
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value);
}

function tuple(names: readonly string[]): string {
  return names.length === 0 ? '()' : `(${names.map((name) => `${text(name)},`).join(' ')})`;
}

/** The name of an operation, a parameter or a header in Python, for example `placePayment` as `place_payment`. */
function snake(name: string): string {
  return name
    .replaceAll('-', '_')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

function pascal(name: string): string {
  return name.replaceAll(/(?:^|[^A-Za-z\d])([A-Za-z\d])/g, (_, letter: string) => letter.toUpperCase());
}

function docOf(words: unknown, indent: string): string {
  return `${indent}"""${lineOf(words).replaceAll('\\', '\\\\').replaceAll('"', "'")}"""`;
}

function commentOf(words: unknown, indent: string): string {
  return lineOf(words) === '' ? '' : `${indent}# ${lineOf(words)}\n`;
}

function lineOf(words: unknown): string {
  return typeof words === 'string' ? words.trim().replaceAll(/\s+/g, ' ') : '';
}
