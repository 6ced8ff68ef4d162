import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExplorerFile } from '../http/explorer.ts';
import { mergeDocument } from '../http/openapi.ts';
import { readWords } from '../http/openapi-words.ts';
import { readAsset, swaggerAssets, renderExplorer } from '../http/swagger.ts';
import { VERSION } from '../http/version.ts';
import { allRoutes } from './route-groups.ts';

/** Makes every file of the API explorer: the document of all operations, the page, and what it loads. */
export async function makeExplorerFiles(): Promise<Record<ExplorerFile, Uint8Array>> {
  const document = mergeDocument(await allRoutes(), await readWords(), { version: VERSION });
  const { html, script, style } = await renderExplorer();
  const texts = {
    'doc.json': JSON.stringify(document),
    'index.html': html,
    'explorer.js': script,
    'explorer.css': style,
  };
  const made = Object.entries(texts).map(([name, text]): [string, Uint8Array] => [name, Buffer.from(text)]);
  for (const name of swaggerAssets) made.push([name, await readAsset(name)]);
  return Object.fromEntries(made) as Record<ExplorerFile, Uint8Array>;
}

/** Writes them into a folder, for a build. */
export async function writeExplorerFiles(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, bytes] of Object.entries(await makeExplorerFiles())) await writeFile(join(folder, name), bytes);
}
