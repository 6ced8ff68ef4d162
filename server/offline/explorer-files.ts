// The files of the API explorer, and the part of the OpenAPI document that each of its pages shows.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { merchantScopes } from '../domain.ts';
import { isMerchantEvent } from '../events/record.ts';
import { type ExplorerFile, codedNames, swaggerAssets } from '../http/built-files.ts';
import { mergeDocument, readWords } from '../http/openapi/document.ts';
import type { Json } from '../http/openapi/schemas.ts';
import { VERSION } from '../http/version.ts';
import { explorerStyle } from '../pages/document.ts';
import {
  CONSOLE_INTERCEPTOR,
  EXPLORER_PAGES,
  EXPLORER_PLUGIN,
  EXPLORER_VIEWS,
  type ExplorerPage,
  type ExplorerView,
  explorerHeader,
  explorerTitle,
  readAsset,
  renderExplorer,
} from './explorer-page.ts';
import { allRoutes } from './route-groups.ts';

/** Builds every file of the API explorer: the whole OpenAPI document, and a page and a document for each view. */
export async function makeExplorerFiles(): Promise<Record<ExplorerFile, Uint8Array>> {
  const document = mergeDocument(await allRoutes(), await readWords(), { version: VERSION });
  const { merchant, console } = await renderViews();
  const texts = {
    'doc.json': JSON.stringify(document),
    'index.html': merchant.html,
    'merchant.js': merchant.script,
    'merchant.json': JSON.stringify(documentOfView(document, 'merchant')),
    'console.html': console.html,
    'console.js': console.script,
    'console.json': JSON.stringify(documentOfView(document, 'console')),
    'explorer.css': merchant.style,
  };
  const made = Object.entries(texts).map(([name, text]): [string, Uint8Array] => [name, Buffer.from(text)]);
  for (const name of swaggerAssets) made.push([name, await readAsset(name)]);
  return Object.fromEntries(made) as Record<ExplorerFile, Uint8Array>;
}

async function renderViews(): Promise<Record<ExplorerView, ExplorerPage>> {
  const style = explorerStyle();
  const pages = EXPLORER_VIEWS.map(async (view): Promise<[ExplorerView, ExplorerPage]> => [
    view,
    await renderExplorer({
      title: explorerTitle(view),
      document: `/swagger/${view}.json`,
      script: `/swagger/${view}.js`,
      header: explorerHeader(view),
      style,
      plugin: EXPLORER_PLUGIN,
      ...(view === 'console' && { requestInterceptor: CONSOLE_INTERCEPTOR }),
    }),
  ]);
  return Object.fromEntries(await Promise.all(pages)) as Record<ExplorerView, ExplorerPage>;
}

/** Writes the explorer files into a folder during a build, also in compressed form (brotli and gzip). */
export async function writeExplorerFiles(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(await makeExplorerFiles())) {
    await writeFile(join(folder, name), bytes);
    const coded = codedNames(name as ExplorerFile);
    if (coded === null) continue;
    await writeFile(join(folder, coded.br), brotliCompressSync(bytes));
    await writeFile(join(folder, coded.gzip), gzipSync(bytes, { level: 9 }));
  }
}

const WORDS: Readonly<Record<ExplorerView, string>> = {
  merchant:
    'What shops and agents call. *Authorize* takes the `client_id` and the secret of an API application, fetches a token and sends it with every call. Without a selected scope the token has all scopes of the application, also those that only trusted applications have.',
  console:
    'What administrators call. After `POST /api/v1/login` the browser keeps the session; *Authorize* takes the token of that response instead.',
};

/** Operations for administrators, load balancers and channels are in the console view. */
function viewOfPath(path: string): ExplorerView {
  return /^\/(api\/v1|health|notify)(\/|$)/.test(path) ? 'console' : 'merchant';
}

/** Returns the part of the OpenAPI document that a view shows. Webhook events that merchants receive are in the merchant view. */
export function documentOfView(document: Json, view: ExplorerView): Json {
  const { webhooks, ...whole } = document;
  const cookies = cookieSchemes(asJson(whole['components']));
  const paths = withoutCookies(
    pick(asJson(whole['paths']), (path) => viewOfPath(path) === view),
    cookies,
  );
  const events =
    view === 'merchant' && webhooks !== undefined ? { webhooks: pick(asJson(webhooks), isMerchantEvent) } : {};
  const operations = Object.values({ ...paths, ...asJson(events.webhooks) }).flatMap((item) =>
    Object.values(asJson(item)).map(asJson),
  );
  const tags = new Set(operations.flatMap(({ tags: names }) => (names ?? []) as string[]));
  const schemes = new Set(operations.flatMap(({ security }) => ((security ?? []) as Json[]).flatMap(Object.keys)));
  const info = asJson(whole['info']);
  return {
    ...whole,
    info: {
      ...info,
      title: EXPLORER_PAGES[view].title,
      description: [WORDS[view], info['description']].filter(Boolean).join('\n\n'),
    },
    tags: (whole['tags'] as { name: string }[]).filter(({ name }) => tags.has(name)),
    paths,
    ...events,
    components: withScopes(componentsIn(asJson(whole['components']), { paths, ...events }, schemes)),
  };
}

/** *Authorize* offers the scopes that every application may have: a token with one that it lacks is refused. */
function withScopes(components: Json): Json {
  const isOffered = (scope: string): boolean => merchantScopes.some((one) => one === scope);
  const securitySchemes = mapValues(asJson(components['securitySchemes']), (scheme) => {
    const { flows, ...rest } = asJson(scheme);
    if (flows === undefined) return scheme;
    const offered = mapValues(asJson(flows), (flow) => ({
      ...asJson(flow),
      scopes: pick(asJson(asJson(flow)['scopes']), isOffered),
    }));
    return { ...rest, flows: offered };
  });
  return { ...components, securitySchemes };
}

/** A page cannot set the session cookie, and the browser sends it anyway, so *Authorize* must not offer it. */
function withoutCookies(paths: Json, cookies: ReadonlySet<string>): Json {
  return mapValues(paths, (item) =>
    mapValues(asJson(item), (operation) => {
      const { security } = asJson(operation);
      if (!Array.isArray(security)) return operation;
      const kept = (security as Json[]).filter((one) => !Object.keys(one).some((name) => cookies.has(name)));
      return { ...asJson(operation), security: kept };
    }),
  );
}

function cookieSchemes({ securitySchemes }: Json): ReadonlySet<string> {
  const schemes = Object.entries(asJson(securitySchemes));
  return new Set(schemes.filter(([, scheme]) => asJson(scheme)['in'] === 'cookie').map(([name]) => name));
}

function componentsIn(components: Json, from: unknown, schemes: ReadonlySet<string>): Json {
  const used = new Set<string>();
  const left: unknown[] = [from];
  while (left.length > 0) {
    for (const reference of referencesIn(left.pop())) {
      if (used.has(reference)) continue;
      used.add(reference);
      const [kind = '', name = ''] = reference.split('/');
      left.push(asJson(components[kind])[name]);
    }
  }
  const isUsed = (kind: string, name: string): boolean =>
    kind === 'securitySchemes' ? schemes.has(name) : used.has(`${kind}/${name}`);
  const kept = Object.entries(components).map(([kind, named]): [string, Json] => [
    kind,
    pick(asJson(named), (name) => isUsed(kind, name)),
  ]);
  return Object.fromEntries(kept.filter(([, named]) => Object.keys(named).length > 0));
}

function referencesIn(value: unknown): string[] {
  return [...JSON.stringify(value ?? null).matchAll(/"#\/components\/([\w-]+\/[\w.-]+)/g)].map(
    ([, found = '']) => found,
  );
}

function pick(from: Json, isKept: (name: string) => boolean): Json {
  return Object.fromEntries(Object.entries(from).filter(([name]) => isKept(name)));
}

function mapValues(from: Json, change: (value: unknown) => unknown): Json {
  return Object.fromEntries(Object.entries(from).map(([name, value]) => [name, change(value)]));
}

function asJson(value: unknown): Json {
  return (value ?? {}) as Json;
}
