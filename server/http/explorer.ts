import { builtFiles } from './built-files.ts';
import type { Encoded } from './reply.ts';

/** Only our own origin: scripts, styles, requests. */
export const explorerPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Files of swagger-ui-dist that the pages load. */
export const swaggerAssets = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-32x32.png',
] as const;

/** What the explorer consists of, with the media types: the whole document, and for each view a page, its script and its document. */
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

/** Name of a file of the explorer. */
export type ExplorerFile = keyof typeof explorerFiles;

const read = builtFiles<ExplorerFile | CodedFile>('explorer', 'explorer-thread');

/** Names of a file in each coding; `null` for files that are compressed already. */
export const codedNames = (name: ExplorerFile): Record<keyof Encoded, CodedFile> | null =>
  name.endsWith('.png') ? null : { br: `${name}.br`, gzip: `${name}.gz` };

type CodedFile = `${ExplorerFile}.${'br' | 'gz'}`;

/**
 * A file of the explorer; made once, see `builtFiles`. A build has made its codings, too; in a checkout there are none. One buffer is
 * for all who ask: a copy for each would wait in memory as long as they do not take it.
 */
export async function readExplorerFile(name: ExplorerFile): Promise<{ body: Buffer; encoded: Encoded }> {
  const body = Buffer.from((await read(name))!);
  const encoded: Partial<Record<keyof Encoded, Buffer>> = {};
  for (const [coding, file] of Object.entries(codedNames(name) ?? {}) as [keyof Encoded, CodedFile][]) {
    const bytes = await read(file);
    if (bytes) encoded[coding] = Buffer.from(bytes);
  }
  return { body, encoded };
}
