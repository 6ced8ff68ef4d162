import { execFileSync } from 'node:child_process';
import { copyFileSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { keptFolder } from './kept.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A folder with what a build needs beside the sources, and the `dist` that was built there: the compiler takes ten seconds of a processor. */
export function builtFolder(): Promise<string> {
  return keptFolder('built', async (folder) => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    execFileSync(process.execPath, [join(root, 'bin/build.mjs'), join(folder, 'dist')]);
  });
}

/** These read files beside themselves. */
const NOT_IN_ONE_FILE = ['argon2', '@electric-sql/pglite', 'pg-native'];

/**
 * A program with all that it loads in one file: its 1,700 modules take 1.5 s of a processor to load one by one, and half of that from
 * here. Each module keeps the address that it has in the sources.
 */
export async function inOneFile(program: string): Promise<string> {
  const folder = await keptFolder('in-one-file', async (made) => {
    const { build } = await import('esbuild');
    symlinkSync(join(root, 'node_modules'), join(made, 'node_modules'));
    await build({
      entryPoints: [program],
      outfile: join(made, 'program.mjs'),
      bundle: true,
      platform: 'node',
      format: 'esm',
      // MikroORM and the service compare classes by name.
      keepNames: true,
      external: NOT_IN_ONE_FILE,
      // Packages in CommonJS ask for Node's own modules by it.
      banner: { js: `const require = (await import('node:module')).createRequire(import.meta.url);` },
      plugins: [{ name: 'addresses', setup: (bundler) => bundler.onLoad({ filter: /\.[cm]?[jt]s$/ }, withItsAddress) }],
      logLevel: 'error',
    });
  });
  return join(folder, 'program.mjs');
}

function withItsAddress({ path }: { path: string }): { contents: string; loader: 'ts' | 'js' } {
  const contents = readFileSync(path, 'utf8')
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)));
  return { contents, loader: path.endsWith('ts') ? 'ts' : 'js' };
}
