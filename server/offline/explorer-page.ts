// The pages of the API explorer: the header, the Swagger UI plugin, and the page of koa2-swagger-ui as three files.
import type { Context } from 'koa';
import { readFile } from 'node:fs/promises';
import type { swaggerAssets } from '../http/built-files.ts';
import { guidePath } from '../pages/guides.ts';
import { LANGUAGE_TAGS, inLanguage } from '../pages/language.ts';

/** Each view is a page with a part of the operations: those for merchants, or all others. */
export const EXPLORER_VIEWS = ['merchant', 'console'] as const;

export type ExplorerView = (typeof EXPLORER_VIEWS)[number];

export const EXPLORER_PAGES = {
  merchant: { title: 'Merchant API', path: '/swagger/index.html' },
  console: { title: 'Console API', path: '/swagger/console.html' },
} as const satisfies Readonly<Record<ExplorerView, { title: string; path: string }>>;

/** Returns the title of a view's page. */
export function explorerTitle(view: ExplorerView): string {
  return `${EXPLORER_PAGES[view].title} – Unified payment service`;
}

/** Returns the HTML header that a view's page shows above the operations. */
export function explorerHeader(view: ExplorerView): string {
  const views = EXPLORER_VIEWS.map((one) => {
    const { title, path } = EXPLORER_PAGES[one];
    return `<a${one === view ? ' aria-current="page"' : ''} href="${path}">${title}</a>`;
  });
  const chinese = LANGUAGE_TAGS.zh;
  return `<header class="top"><a class="brand" href="${guides('en')}">Unified payment service</a>
<nav class="views" aria-label="Views of the API">${views.join('')}</nav>
<nav class="guides" aria-label="Guides"><a href="${guides('en')}">Guides</a><a href="${guides('zh')}" lang="${chinese}" hreflang="${chinese}">中文文档</a></nav></header>
<noscript><p class="unscripted">The explorer needs JavaScript. Without it, read the definition: <a href="/swagger/${view}.json">${view}.json</a>.</p></noscript>`;
}

function guides(language: 'en' | 'zh'): string {
  return inLanguage(guidePath('index'), language);
}

/**
 * JavaScript for browsers. The filter shows operations that contain every typed word in their group, method, path,
 * summary or operationId.
 */
export const EXPLORER_PLUGIN = `() => {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
  dark.addEventListener('change', follow);
  follow();

  const isFiltered = (state) => typeof state.get('filter') === 'string' && state.get('filter').trim() !== '';
  const textOf = (tag, item) =>
    [tag, item.get('method'), item.get('path'), item.getIn(['operation', 'summary']), item.getIn(['operation', 'operationId'])]
      .join(' ')
      .toLowerCase();

  return {
    fn: {
      opsFilter(tags, phrase) {
        const words = phrase.toLowerCase().split(/\\s+/);
        const fits = (tag) => (item) => words.every((word) => textOf(tag, item).includes(word));
        return tags
          .map((group, tag) => group.update('operations', (items) => items.filter(fits(tag))))
          .filter((group) => group.get('operations').size > 0);
      },
    },
    statePlugins: {
      spec: {
        wrapSelectors: {
          selectWebhooksOperations: (original, system) => () => {
            const events = original() ?? {};
            const phrase = system.layoutSelectors.currentFilter();
            if (typeof phrase !== 'string') return events;
            const words = phrase.trim().toLowerCase().split(/\\s+/);
            const text = (path, one) => ['webhooks', path, one.operation?.summary, one.operation?.operationId].join(' ').toLowerCase();
            const left = Object.entries(events).map(([path, items]) => [path, items.filter((one) => words.every((word) => text(path, one).includes(word)))]);
            return Object.fromEntries(left.filter(([, items]) => items.length > 0));
          },
        },
      },
      layout: {
        wrapSelectors: {
          isShown: (original) => (state, thing, otherwise) =>
            original(thing, otherwise || (thing[0] === 'operations-tag' && isFiltered(state))),
        },
      },
    },
    wrapComponents: {
      FilterContainer: (original, { React, layoutActions }) => () =>
        React.createElement('search', { className: 'filter-container' },
          React.createElement('input', {
            className: 'operation-filter-input',
            type: 'search',
            placeholder: 'Filter by name, path or group',
            'aria-label': 'Filter the operations',
            onChange: (event) => layoutActions.updateFilter(event.target.value),
          })),
    },
  };
}`;

/**
 * JavaScript for browsers. Adds the CSRF token to every request except GET and HEAD, because the service requires it
 * together with the session cookie.
 */
export const CONSOLE_INTERCEPTOR = `(request) => {
  const named = (name) => document.cookie.split('; ').find((pair) => pair.startsWith(name + '='))?.slice(name.length + 1);
  const value = named('__Host-csrf_token') ?? named('csrf_token');
  if (value && !/^(GET|HEAD)$/i.test(request.method ?? 'GET')) request.headers['X-CSRF-Token'] = value;
  return request;
}`;

interface ExplorerParts {
  title: string;
  /** URL path of the OpenAPI document that the page shows. */
  document: string;
  /** URL path of the page's script. */
  script: string;
  header: string;
  style: string;
  /** A Swagger UI plugin as JavaScript text. */
  plugin: string;
  /** A JavaScript function as text. It receives every request before it is sent. */
  requestInterceptor?: string;
}

/** The page has three files, because a strict content security policy forbids inline scripts and styles. */
export interface ExplorerPage {
  html: string;
  script: string;
  style: string;
}

/** Reads a file of the package swagger-ui-dist. */
export async function readAsset(name: (typeof swaggerAssets)[number]): Promise<Uint8Array> {
  return readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
}

/** Renders the page of koa2-swagger-ui as three local files. Throws if a new version lacks an expected part. */
export async function renderExplorer(parts: ExplorerParts): Promise<ExplorerPage> {
  const { koaSwagger } = await import('koa2-swagger-ui');
  const { title, document, style, plugin, requestInterceptor } = parts;
  const render = koaSwagger({
    title,
    routePrefix: false,
    swaggerCdnUrl: 'cdn:',
    swaggerVersion: 'version',
    hideTopbar: true,
    favicon: '/swagger/favicon-32x32.png',
    customCSS: style,
    swaggerOptions: {
      dom_id: '#swagger-ui',
      url: document,
      layout: 'BaseLayout',
      docExpansion: 'none',
      defaultModelsExpandDepth: '0',
      deepLinking: true,
      filter: true,
      queryConfigEnabled: false,
      validatorUrl: null,
      plugins: plugin,
      requestInterceptor,
    },
  });
  const answer = { body: '', type: '', path: '/' };
  await render(answer as unknown as Context, async () => {});
  return takeApart(answer.body, parts);
}

const head =
  '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="robots" content="noindex">';

function takeApart(page: string, parts: ExplorerParts): ExplorerPage {
  const script = inside(page, /<script>([^]*?)<\/script>/);
  const style = inside(page, /<style>([^]*?)<\/style>/);
  const html = page
    .replace(/<link href="https:\/\/fonts[^>]*>/, head)
    .replace(/<script>[^]*?<\/script>/, `<script src="${parts.script}"></script>`)
    .replace(/<style>[^]*?<\/style>/, '<link rel="stylesheet" href="/swagger/explorer.css">')
    .replace(/ style="position:absolute;[^"]*"/, ' class="symbols"')
    .replaceAll('cdn:/version/', '/swagger/')
    .replace('swagger-ui.min.css', 'swagger-ui.css')
    .replace('<div id="swagger-ui"></div>', () => `${parts.header}\n<main id="swagger-ui"></main>`);
  const whole = [head, parts.script, 'class="symbols"', parts.header].every((part) => html.includes(part));
  if (!whole || /https?:\/\/(?!www\.w3\.org)|cdn:|<script>|<style| style=| on\w+=/.test(html)) throw changed();
  return { html, script, style };
}

function inside(page: string, pattern: RegExp): string {
  const found = pattern.exec(page)?.[1];
  if (found === undefined) throw changed();
  return found;
}

function changed(): Error {
  return new Error('The page of koa2-swagger-ui has changed; adapt server/offline/explorer-page.ts.');
}
