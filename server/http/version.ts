import { readFileSync } from 'node:fs';

/** The version in package.json; works in the source tree and in `dist/`. */
export const VERSION: string = readVersion();

function readVersion(): string {
  for (const place of ['../../package.json', '../../../package.json']) {
    try {
      const found = JSON.parse(readFileSync(new URL(place, import.meta.url), 'utf8')) as {
        name?: string;
        version?: string;
      };
      if (found.name === 'unified-payment-service' && found.version) return found.version;
    } catch {
      // The file is missing or unreadable: the next folder is tried.
    }
  }
  return '0.0.0';
}
