import { readFile } from 'node:fs/promises';
import type { Context } from 'koa';

/** The page of the explorer in the three files that a strict content policy wants. */
export interface ExplorerPage {
  html: string;
  script: string;
  style: string;
}

/** Files of swagger-ui-dist that the page needs. */
export const swaggerAssets = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
] as const;

/** A file of swagger-ui-dist. */
export async function readAsset(name: (typeof swaggerAssets)[number]): Promise<Uint8Array> {
  return readFile(new URL(import.meta.resolve(`swagger-ui-dist/${name}`)));
}

/**
 * Renders the page of koa2-swagger-ui once and takes it apart: its CDN links become local ones, its inline script and
 * style become files, its font link goes. Throws when a new version of the page no longer has the expected parts.
 */
export async function renderExplorer(): Promise<ExplorerPage> {
  const { koaSwagger } = await import('koa2-swagger-ui');
  const render = koaSwagger({
    title: 'Unified payment service – API explorer',
    routePrefix: false,
    swaggerCdnUrl: 'cdn:',
    swaggerVersion: 'version',
    hideTopbar: true,
    favicon: '/swagger/favicon-32x32.png',
    swaggerOptions: {
      dom_id: '#swagger-ui',
      url: '/swagger/doc.json',
      layout: 'BaseLayout',
      docExpansion: 'list',
      deepLinking: false,
      queryConfigEnabled: false,
      validatorUrl: null,
    },
  });
  const answer = { body: '', type: '', path: '/' };
  await render(answer as unknown as Context, async () => {});
  return takeApart(answer.body);
}

const guideLinks =
  '<nav class="guides"><a href="/docs?lang=en">Guides</a> <a href="/docs?lang=zh" lang="zh-CN" hreflang="zh-CN">中文文档</a></nav>';

const ownStyle = `.symbols { position: absolute; width: 0; height: 0; }
.guides { max-width: 1460px; margin: 0 auto; padding: 1rem 1.25rem 0; font: 1rem sans-serif; }
.guides a { margin-right: 1rem; color: #1a5fb4; }
`;

function takeApart(page: string): ExplorerPage {
  const script = inside(page, /<script>([^]*?)<\/script>/);
  const style = inside(page, /<style>([^]*?)<\/style>/);
  const html = page
    .replace(/<link href="https:\/\/fonts[^>]*>/, '')
    .replace(/<script>[^]*?<\/script>/, '<script src="/swagger/explorer.js"></script>')
    .replace(/<style>[^]*?<\/style>/, '<link rel="stylesheet" href="/swagger/explorer.css">')
    .replace(/ style="position:absolute;[^"]*"/, ' class="symbols"')
    .replaceAll('cdn:/version/', '/swagger/')
    .replace('swagger-ui.min.css', 'swagger-ui.css')
    .replace('<div id="swagger-ui">', `${guideLinks}\n$&`);
  if (!html.includes(guideLinks) || /https?:\/\/(?!www\.w3\.org)|cdn:|<script>|<style| style=| on\w+=/.test(html)) {
    throw new Error('The page of koa2-swagger-ui has changed; adapt server/http/swagger.ts.');
  }
  return { html, script, style: `${style}\n${ownStyle}` };
}

function inside(page: string, pattern: RegExp): string {
  const found = pattern.exec(page)?.[1];
  if (found === undefined) throw new Error('The page of koa2-swagger-ui has changed; adapt server/http/swagger.ts.');
  return found;
}
