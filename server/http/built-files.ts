// Generated files: the guides and the API explorer. A build contains them; a source checkout generates them on first
// use.
import { once as happens } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { Encoded } from './contract.ts';

/**
 * A source checkout generates the files in a worker thread, because the computation would block other requests. The
 * function returns undefined if the file does not exist.
 */
function builtFiles<Name extends string>(
  folder: string,
  thread: string,
): (name: Name) => Promise<Uint8Array | undefined> {
  const built = new URL(`../${folder}/`, import.meta.url);
  const makeInThread = once(async () => {
    const worker = new Worker(new URL(`../offline/${thread}.ts`, import.meta.url));
    const [files] = (await happens(worker, 'message')) as [Partial<Record<Name, Uint8Array>>];
    return files;
  });
  return async (name) => {
    try {
      return await readFile(new URL(name, built));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      return (await makeInThread())[name];
    }
  };
}

/** Calls `make` once and then returns the same value. After a failure, the next call tries again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** Reads a guide that was generated from its Markdown as HTML, for example `zh/webhooks.html`. */
export const readGuideFile = builtFiles<string>('guides', 'guide-thread');

export const explorerPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Files of the package swagger-ui-dist that the pages of the API explorer load. */
export const swaggerAssets = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
] as const;

/** `doc.json` describes the whole API; `merchant.json` and `console.json` are parts with a page of their own. */
export const explorerFiles = {
  'doc.json': 'application/json; charset=utf-8',
  'index.html': 'text/html; charset=utf-8',
  'merchant.js': 'text/javascript; charset=utf-8',
  'merchant.json': 'application/json; charset=utf-8',
  'console.html': 'text/html; charset=utf-8',
  'console.js': 'text/javascript; charset=utf-8',
  'console.json': 'application/json; charset=utf-8',
  'explorer.css': 'text/css; charset=utf-8',
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
} as const;

export type ExplorerFile = keyof typeof explorerFiles;

const read = builtFiles<ExplorerFile | CodedFile>('explorer', 'explorer-thread');

/** The names of a file's compressed versions; null for a file whose format is compressed already. */
export const codedNames = (name: ExplorerFile): Record<keyof Encoded, CodedFile> | null =>
  name.endsWith('.png') ? null : { br: `${name}.br`, gzip: `${name}.gz` };

type CodedFile = `${ExplorerFile}.${'br' | 'gz'}`;

/** A file of the explorer. All responses share one buffer, because a copy for each slow client would stay in memory. */
export async function readExplorerFile(name: ExplorerFile): Promise<{ body: Buffer; encoded: Encoded }> {
  const body = Buffer.from((await read(name))!);
  const encoded: Partial<Record<keyof Encoded, Buffer>> = {};
  for (const [coding, file] of Object.entries(codedNames(name) ?? {}) as [keyof Encoded, CodedFile][]) {
    const bytes = await read(file);
    if (bytes) encoded[coding] = Buffer.from(bytes);
  }
  return { body, encoded };
}
