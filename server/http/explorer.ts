import { builtFiles } from './built-files.ts';

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

/** A file of the explorer; made once, see `builtFiles`. */
export const readExplorerFile = builtFiles<ExplorerFile>('explorer', 'explorer-thread');
