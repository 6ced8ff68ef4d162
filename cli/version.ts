import { readFileSync } from 'node:fs';

/** The version of the installed package. */
export function packageVersion(): string {
  // The package file is one folder up in the sources, two folders up in dist/cli.
  for (const place of ['../package.json', '../../package.json']) {
    const found = readPackage(new URL(place, import.meta.url));
    if (found) return found;
  }
  return 'unknown';
}

function readPackage(file: URL): string | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version;
  } catch {
    return undefined;
  }
}
