import { execFile, execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { keptFolder } from './kept.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A folder with the files that a build needs and the `dist` that was built there: the compiler takes ten seconds of a processor. */
export function builtFolder(): Promise<string> {
  return keptFolder('built', async (folder) => {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
    execFileSync(process.execPath, [join(root, 'bin/build.mjs'), join(folder, 'dist')]);
  });
}

/** Copies the files of a clean clone, so that the package is built as for a release. */
export function clone(folder: string): string {
  const at = join(folder, 'clone');
  mkdirSync(at);
  const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
  const names = [
    'bin',
    'cli',
    'config',
    'server',
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
  ];
  for (const name of [...names, ...files.filter((file) => file.endsWith('.md'))])
    cpSync(join(root, name), join(at, name), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(at, 'node_modules'));
  return at;
}

/** Makes the package of a clone in a new folder; returns its path. */
export async function pack(at: string, to: string, ...flags: string[]): Promise<string> {
  mkdirSync(to);
  await promisify(execFile)('npm', ['pack', '--pack-destination', to, ...flags], { cwd: at });
  const [name = ''] = readdirSync(to);
  return join(to, name);
}

/** Packages that read files in their own folders. */
const EXTERNAL = ['argon2', '@electric-sql/pglite', 'pg-native'];

/**
 * Bundles a program of the sources once for a run: loading the 1,700 modules of a service one by one takes 1.5 s of a processor, and
 * half of that from the bundle. A test file that runs alone gets the program itself.
 */
export async function bundled(program: string): Promise<string> {
  if (!process.env.PAY_TEST_KEPT) return program;
  const name = basename(program, '.ts');
  const folder = await keptFolder(`bundle-${name}`, async (made) => void (await bundleInto(made, program)));
  return join(folder, `${name}.mjs`);
}

/** Bundles a program into a folder; each module keeps its source address. Returns the path of the bundle. */
export async function bundleInto(folder: string, program: string): Promise<string> {
  const { build } = await import('esbuild');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  await build({
    entryPoints: [program],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    // Dynamically imported modules stay in separate files.
    splitting: true,
    platform: 'node',
    format: 'esm',
    // MikroORM and the service compare classes by name.
    keepNames: true,
    external: EXTERNAL,
    // Packages in CommonJS require Node's own modules.
    banner: { js: `const require = (await import('node:module')).createRequire(import.meta.url);` },
    plugins: [{ name: 'addresses', setup: (bundler) => bundler.onLoad({ filter: /\.[cm]?[jt]s$/ }, withItsAddress) }],
    logLevel: 'error',
  });
  return join(folder, `${basename(program, '.ts')}.mjs`);
}

function withItsAddress({ path }: { path: string }): { contents: string; loader: 'ts' | 'js' } {
  const contents = readFileSync(path, 'utf8')
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(path)));
  return { contents, loader: path.endsWith('ts') ? 'ts' : 'js' };
}
