import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { codedNames, type ExplorerFile, swaggerAssets } from '../http/explorer.ts';
import { mergeDocument } from '../http/openapi.ts';
import { readWords } from '../http/openapi-words.ts';
import { type ExplorerPage, readAsset, renderExplorer } from '../http/swagger.ts';
import { VERSION } from '../http/version.ts';
import { EXPLORER_VIEWS, type ExplorerView, explorerHeader, explorerTitle } from '../pages/explorer-page.ts';
import { CONSOLE_INTERCEPTOR, EXPLORER_PLUGIN } from '../pages/explorer-script.ts';
import { explorerStyle } from '../pages/stylesheet.ts';
import { documentOfView } from './explorer-views.ts';
import { allRoutes } from './route-groups.ts';

/** Makes every file of the API explorer: the document of all operations, the two views of it, and what their pages load. */
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

/** Writes them into a folder, for a build, each also in the codings that clients accept. */
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
