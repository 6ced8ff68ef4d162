import { once as happens } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { once } from './once.ts';

/** Only our own origin: scripts, styles, requests. */
export const explorerPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** What the explorer consists of, with the media types. */
export const explorerFiles = {
  'doc.json': 'application/json; charset=utf-8',
  'index.html': 'text/html; charset=utf-8',
  'explorer.js': 'text/javascript; charset=utf-8',
  'explorer.css': 'text/css; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

/** Name of a file of the explorer. */
export type ExplorerFile = keyof typeof explorerFiles;

const built = new URL('../explorer/', import.meta.url);

/**
 * A file of the explorer. A build has them all, so a running service makes none; in a checkout they are made when one is first asked
 * for, in a thread of their own, because that takes a second of computing and would hold up every other request.
 */
export async function readExplorerFile(name: ExplorerFile): Promise<Uint8Array> {
  try {
    return await readFile(new URL(name, built));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return (await makeInThread())[name];
  }
}

const makeInThread = once(async () => {
  const thread = new Worker(new URL('../offline/explorer-thread.ts', import.meta.url));
  const [files] = (await happens(thread, 'message')) as [Record<ExplorerFile, Uint8Array>];
  return files;
});
