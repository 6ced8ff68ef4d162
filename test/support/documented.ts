import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { type Json, codesOf, GENERAL_CODES } from '../../server/http/openapi/schemas.ts';
import { keptFolder } from './kept.ts';
import { allRoutes, fitsPattern } from './routes.ts';
import type { Route } from '../../server/http/router.ts';

interface Described {
  content?: Record<string, { schema: Json }>;
  headers?: Json;
  $ref?: string;
}

/** One operation of the document. */
export interface Operation {
  parameters?: { in?: string; name?: string; $ref?: string }[];
  responses: Record<string, Described>;
}

interface Document {
  /** Paths of pages and assets for browsers. */
  hidden: string[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Json; responses: Record<string, Described> };
}

let document: Promise<Document> | undefined;

/** `doc.json`, as the service serves it. */
export function describedService(): Promise<Document> {
  return (document ??= keptDocument());
}

async function keptDocument(): Promise<Document> {
  const folder = await keptFolder('document', async (made) =>
    writeFileSync(join(made, 'doc.json'), JSON.stringify(await readDocument())),
  );
  return JSON.parse(readFileSync(join(folder, 'doc.json'), 'utf8')) as Document;
}

async function readDocument(): Promise<Document> {
  const routes = await allRoutes();
  const hidden = routes.filter(({ contract }) => contract.hidden).map(({ path }) => path);
  return { ...(mergeDocument(routes, await readWords(), { version: '0.0.0' }) as unknown as Document), hidden };
}

/** For a service with a test's own routes: only checks the routes that the document describes. */
interface Checked {
  onlyDescribed: boolean;
}

const EVERYTHING: Checked = { onlyDescribed: false };
const services = new Map<string, Checked>();
const send = globalThis.fetch;

/** From now on, each answer of this service to `fetch` must be in its document: status, media type, shape of the JSON. */
export function checkAnswersOf(url: string, how = EVERYTHING): void {
  services.set(new URL(url).origin, how);
}

globalThis.fetch = async (input, init) => {
  const answer = await send(input, init);
  const { method, url } = input instanceof Request ? input : { method: init?.method ?? 'GET', url: String(input) };
  const { origin, pathname } = new URL(url);
  const how = services.get(origin);
  // A channel may append a slash to the address; the document has it without.
  const path = pathname.replace(/^(\/notify\/.*[^/])\/$/, '$1');
  if (how) await requireDocumented(init?.method ?? method, path, answer, how);
  return answer;
};

/** Throws when an answer is not as documented. */
export async function requireDocumented(
  method: string,
  path: string,
  answer: Response,
  how: Checked = EVERYTHING,
): Promise<void> {
  const { status, headers } = answer;
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  const whole = await describedService();
  const { components } = whole;
  const operation = findOperation(whole, method, path);
  if (operation === 'hidden' || (!operation && how.onlyDescribed)) return;
  // For an unknown path, a browser gets a page.
  if (!operation && status === 404 && type === 'text/html') return;
  const wrong = (what: string): Error => new Error(`${method} ${path}: ${what}, which is not in doc.json`);
  const described = operation
    ? (operation.responses[status] ?? operation.responses[`${String(status)[0]}XX`])
    : status >= 400 && { $ref: '#/components/responses/Refusal' };
  if (!described) throw wrong(`status ${status}`);
  const { content = {} } = described.$ref ? components.responses[nameIn(described.$ref)]! : described;
  if (type === '' && Object.keys(content).length === 0) return;
  const media = content[type];
  if (!media) throw wrong(`${status} ${type || 'without a body'}`);
  if (!/[/+]json$/.test(type) || method === 'HEAD') return;
  const read = validatorOf(media.schema, components.schemas).safeParse(await answer.clone().json());
  if (!read.success) throw wrong(`${status} ${z.prettifyError(read.error)}`);
}

function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

const validators = new Map<Json, z.ZodType>();

function validatorOf(schema: Json, schemas: Json): z.ZodType {
  const known = validators.get(schema);
  if (known) return known;
  const whole = { ...schema, $defs: Object.fromEntries(namedIn(schema, schemas)) };
  const made = z.fromJSONSchema(JSON.parse(JSON.stringify(whole).replaceAll('#/components/schemas/', '#/$defs/')));
  validators.set(schema, made);
  return made;
}

/** The schemas that a schema refers to, directly or indirectly. */
function namedIn(schema: unknown, schemas: Json, found = new Map<string, unknown>()): Map<string, unknown> {
  for (const [, name = ''] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    if (found.has(name)) continue;
    found.set(name, schemas[name]);
    namedIn(schemas[name], schemas, found);
  }
  return found;
}

/** Pages and assets are not described; a refused method is answered in the format of the path's own methods. */
function findOperation({ paths, hidden }: Document, method: string, path: string): Operation | 'hidden' | undefined {
  const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
  const fitting = [
    paths[path] ?? {},
    ...Object.keys(paths)
      .filter((pattern) => pattern !== path && fitsPattern(pattern, path))
      .map((name) => paths[name]!),
  ];
  const found = fitting.find((verbs) => verbs[verb])?.[verb];
  if (found) return found;
  if (hidden.some((pattern) => fitsPattern(pattern, path))) return 'hidden';
  const others = fitting.flatMap((verbs) => Object.values(verbs))[0]?.responses['4XX'];
  return others && { responses: { '4XX': others } };
}

const ANYWHERE: ReadonlySet<string> = new Set(GENERAL_CODES);

let routes: ReturnType<typeof allRoutes> | undefined;

/** The validation library's messages, which clients must not receive. */
const OF_THE_LIBRARY = /^(Invalid|Too (small|big)|Unrecognized)\b/;

/** Returns the library's message in a problem document, if there is one. */
export function libraryWords(body: unknown): string | undefined {
  const { errors } = (typeof body === 'object' && body !== null ? body : {}) as { errors?: { detail: string }[] };
  return Array.isArray(errors)
    ? errors.map(({ detail }) => detail).find((text) => OF_THE_LIBRARY.test(text))
    : undefined;
}

/** Throws when a problem document has a code that its operation's contract lacks, or a message of the library. */
export async function requireDeclared(method: string, path: string, body: unknown): Promise<void> {
  const foreign = libraryWords(body);
  if (foreign !== undefined) throw new Error(`${method} ${path} answered in the words of a library: ${foreign}`);
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : undefined;
  if (code === undefined || ANYWHERE.has(code)) return;
  const contract = findRoute(await (routes ??= allRoutes()), method, path.split('?')[0] ?? '')?.contract;
  if (contract && codesOf(contract).some((one) => one === code)) return;
  throw new Error(`${method} ${path} answered ${code}, which its contract does not name`);
}

/** A fixed path precedes one with parameters. */
function findRoute(all: readonly Route[], method: string, path: string): Route | undefined {
  const ofMethod = all.filter((route) => route.method === (method === 'HEAD' ? 'GET' : method));
  return ofMethod.find((route) => route.path === path) ?? ofMethod.find((route) => fitsPattern(route.path, path));
}
