import { readFile } from 'node:fs/promises';
import type { Context } from 'koa';
import type { swaggerAssets } from './explorer.ts';

/** What a page of the explorer has of its own. */
export interface ExplorerParts {
  title: string;
  /** Address of the document that it shows. */
  document: string;
  /** Address of its script. */
  script: string;
  /** What stands above the operations: HTML. */
  header: string;
  /** The look, over that of Swagger UI: CSS. */
  style: string;
  /** A plugin of Swagger UI: JavaScript. */
  plugin: string;
  /** Sees every request before it is sent: a function in JavaScript. */
  requestInterceptor?: string;
}

/** A page of the explorer in the three files that a strict content policy wants. */
export interface ExplorerPage {
  html: string;
  script: string;
  style: string;
}

/** A file of swagger-ui-dist. */
export async function readAsset(name: (typeof swaggerAssets)[number]): Promise<Uint8Array> {
  return readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
}

/**
 * Renders a page of koa2-swagger-ui and takes it apart: its CDN links become local ones, its inline script and style become
 * files, its font link goes. Throws when a new version of the page no longer has the expected parts.
 */
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
  return new Error('The page of koa2-swagger-ui has changed; adapt server/http/swagger.ts.');
}
