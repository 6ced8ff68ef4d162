// Builds dist/. An installed package runs dist/, because Node.js does not strip types from files below node_modules.
// `npm ci` runs this script (`prepare`) with the Node.js of the machine, so the script is plain JavaScript for Node.js
// 18 and newer.
import { spawn } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules, createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { showProgress } from './progress.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const draft = `${out}.${process.pid}`;
const guides = join(root, 'server', 'pages', 'guides');
const pictures = join(root, 'server', 'pages', 'pictures');
const clients = join(root, 'server', 'client');

/** The path of the TypeScript compiler; undefined in a production install, which uses the packaged dist/. */
function findCompiler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  } catch {
    return undefined;
  }
}

/** Runs a program and returns whether it succeeded. Timers go on meanwhile, so that the progress line does. */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: 'inherit' });
    child.on('error', reject);
    child.on('exit', (status) => resolve(status === 0));
  });
}

function compile(compiler) {
  const project = join(root, 'tsconfig.build.json');
  return run(process.execPath, [compiler, '--project', project, '--outDir', draft]);
}

function copyAssets() {
  // Not copied: the Markdown of the guides, because `makeGuides` writes the rendered pages; the clients, which are built;
  // the pictures, which only README.md shows.
  const isAsset = (path) =>
    ![guides, clients, pictures].includes(path) &&
    (statSync(path).isDirectory() || !/\.(ts|mjs|md)$|\/\.[^/]*$|\/tsconfig\.json$/.test(path));
  for (const folder of ['config', 'server', 'cli']) {
    cpSync(join(root, folder), join(draft, folder), {
      recursive: true,
      filter: (path) => isAsset(path) && !isLocal(relative(root, path)),
    });
  }
}

/** Builds the files of the API explorer, so that the service does not have to build them. */
const makeExplorer = () => make('server/offline/explorer-files', 'writeExplorerFiles', 'server/explorer');

/**
 * Builds both client packages in clients/. The generated operations are not committed to git, so this function also
 * copies them into the checkout.
 */
async function makeClients(compiler) {
  const source = join(draft, 'client.src');
  if (!(await make('server/offline/client-python', 'writeClientSources', 'client.src'))) return false;
  const [ts, python] = [join(clients, 'ts'), join(clients, 'python')];
  const made = { ts: join(draft, 'clients', 'ts'), python: join(draft, 'clients', 'python') };
  const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

  cpSync(join(source, 'operations.py'), join(python, 'unified_payment_client', 'operations.py'));
  cpSync(python, made.python, { recursive: true, filter: (path) => !/__pycache__|\.egg-info|[\\/]build$/.test(path) });
  const project = join(made.python, 'pyproject.toml');
  writeFileSync(project, readFileSync(project, 'utf8').replace('version = "0"', `version = "${version}"`));

  cpSync(join(source, 'operations.ts'), join(ts, 'operations.ts'));
  const files = readdirSync(ts).filter((file) => file.endsWith('.ts'));
  for (const file of files) cpSync(join(ts, file), join(source, file));
  const compilerOptions = { noEmit: false, declaration: true, rootDir: '.', outDir: '../clients/ts' };
  const options = { extends: join(ts, 'tsconfig.json'), compilerOptions, files: ['index.ts'], include: [] };
  writeFileSync(join(source, 'tsconfig.json'), JSON.stringify(options));
  const isCompiled = await run(process.execPath, [compiler, '--project', source]);
  rmSync(source, { recursive: true });
  cpSync(join(ts, 'README.md'), join(made.ts, 'README.md'));
  const manifest = {
    name: 'unified-payment-client',
    version,
    private: true,
    description: `Client of ${name}: payments, refunds, pay-per-call, webhooks.`,
    license,
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' }, './package.json': './package.json' },
    sideEffects: false,
    engines: { node: '>=20' },
  };
  writeFileSync(join(made.ts, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  return isCompiled;
}

const makeGuides = () => make('server/offline/guide-files', 'writeGuideFiles', 'server/guides', guides);

/** Builds the help of every command, so that it is shown without loading the command. */
const makeHelp = () => make('cli/help-files', 'writeHelpFiles', 'cli/help');

/** The first two and the last find files by their own path. `pg` and `debug` load the others only if they are installed. */
const EXTERNAL = ['argon2', '@electric-sql/pglite', 'pg-native', 'supports-color', 'swagger-ui-dist'];

/**
 * Replaces the modules of the build by some 130 files in lib/, which contain the packages, too. Finding and linking the
 * modules one by one took some 40 % of a start.
 */
async function bundle() {
  const { build } = await import('esbuild');
  const lib = join(draft, 'lib');
  const packages = new Set();
  const bundleInto = async (names, more) => {
    const { outputFiles, metafile } = await build({
      entryPoints: names.map((name) => join(draft, 'cli', `${name}.js`)),
      // The names in the output do not contain the draft's folder.
      absWorkingDir: draft,
      // The folder of the build, with or without a tsconfig.json, and a linked node_modules must not change the result.
      preserveSymlinks: true,
      tsconfigRaw: {},
      outdir: lib,
      bundle: true,
      metafile: true,
      write: false,
      platform: 'node',
      format: 'esm',
      target: 'node24',
      legalComments: 'none',
      external: EXTERNAL,
      logLevel: 'error',
      plugins: [{ name: 'payctl', setup }],
      ...more,
    });
    for (const path of Object.keys(metafile.inputs)) {
      const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
      if (folder !== undefined) packages.add(resolve(draft, folder));
    }
    return outputFiles;
  };
  // MikroORM and the service compare classes by name.
  const files = await bundleInto(['main', 'env-proxy'], { splitting: true, keepNames: true });
  files.push(...(await bundleInto(['at-once'])));
  for (const folder of ['cli', 'config', 'server']) removeModules(join(draft, folder));
  mkdirSync(lib);
  for (const { path, text } of files) writeFileSync(path, withBuiltins(text));
  writeFileSync(join(lib, 'LICENSES.txt'), [...packages].sort().map(licenceOf).join('\n'));
  const payctl = join(draft, 'bin', 'payctl.js');
  writeFileSync(payctl, readFileSync(payctl, 'utf8').replaceAll("'../cli/", "'../lib/"));

  function setup(own) {
    own.onLoad({ filter: /\.[cm]?js$/ }, withItsAddress);
    // Commander uses this module only for subcommands in files of their own. Loading it takes 5 ms.
    own.onResolve({ filter: /^node:child_process$/ }, ({ path, importer }) =>
      /[\\/]node_modules[\\/]commander[\\/]/.test(importer) ? { path, namespace: 'lazy' } : undefined,
    );
    own.onLoad({ filter: /./, namespace: 'lazy' }, ({ path }) => ({
      contents: `export default { spawn: (...all) => process.getBuiltinModule(${JSON.stringify(path)}).spawn(...all) };`,
    }));
  }

  /** A module in lib/ still finds its files by the path that it had before. */
  function withItsAddress({ path }) {
    const text = readFileSync(path, 'utf8');
    if (!text.includes('import.meta.')) return undefined;
    const before = relative(lib, path);
    const contents = text
      .replaceAll('import.meta.url', `new URL(${JSON.stringify(before)}, import.meta.url).href`)
      .replaceAll('import.meta.dirname', `import.meta.dirname.concat(${JSON.stringify(`/${dirname(before)}`)})`);
    return { contents, loader: 'js' };
  }
}

/** The name, version and licence of a package in the bundle. Its licence asks for the notice with every copy. */
function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const notices = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file));
  const texts = notices.map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return [`== ${name} ${version} (${license})`, ...texts, ''].join('\n');
}

/**
 * Takes the modules of Node.js as `require` would. `import` also reads those members of them that are loaded when first
 * used, such as `WebSocket` of `node:http`, which takes 50 ms of a start.
 */
function withBuiltins(text) {
  const names = builtinModules.filter((name) => !name.startsWith('node:')).join('|');
  const get = (name) => `globalThis.process.getBuiltinModule("node:${name}")`;
  return text
    .replace(
      /^(?=[^]*typeof require !== "undefined")/,
      `const require = ${get('module')}.createRequire(import.meta.url);\n`,
    )
    .replace(
      new RegExp(`^import (?:\\* as )?(\\w[\\w$]*)?(?:, )?(\\{[^}]*\\})? ?from "(?:node:)?(${names})";$`, 'gm'),
      (_, whole, parts, name) =>
        [whole, parts?.replaceAll(/(\w) as (?=\w)/g, '$1: ')]
          .filter(Boolean)
          .map((names) => `const ${names} = ${get(name)};`)
          .join(' '),
    );
}

/** Removes the compiled modules; the files of the API explorer stay. */
function removeModules(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (path !== join(draft, 'server', 'explorer')) removeModules(path);
      if (readdirSync(path).length === 0) rmSync(path, { recursive: true });
    } else if (entry.name.endsWith('.js')) rmSync(path);
  }
}

/** Runs a function of the new build on the Node.js version of the service. */
function make(program, write, folder, ...more) {
  const code = `import(process.argv[1]).then((made) => made.${write}(...process.argv.slice(2)))`;
  return run(findNode(), [
    '--eval',
    code,
    pathToFileURL(join(draft, `${program}.js`)).href,
    join(draft, folder),
    ...more,
  ]);
}

/** The Node.js of the development packages, because the machine's own Node.js may be too old for the service. */
function findNode() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch {
    return process.execPath;
  }
}

/** Configuration files of this machine are not packaged, and config/deploy is packaged outside dist/. */
function isLocal(path) {
  if (path === join('config', 'deploy')) return true;
  return path.startsWith('config') && path.endsWith('.toml') && !path.endsWith('default.toml');
}

/** `npm ci` links the programs of the packages, but not that of the checkout; `npx payctl` would build it again. */
function linkPayctl() {
  const programs = join(root, 'node_modules', '.bin');
  if (out !== join(root, 'dist') || !existsSync(programs)) return;
  rmSync(join(programs, 'payctl'), { force: true });
  symlinkSync(join('..', '..', 'dist', 'bin', 'payctl.js'), join(programs, 'payctl'));
}

/** The Node.js of the development packages brings 67 MB of headers for compiled extensions, and nothing here compiles one. */
function removeHeaders() {
  const folder = join(root, 'node_modules', 'node', 'node_modules');
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    if (name.startsWith('node-')) rmSync(join(folder, name, 'include'), { recursive: true, force: true });
}

/** Deletes the temporary folders (`dist.<pid>`) of builds that were killed. */
function removeLeftDrafts() {
  const [folder, name] = [dirname(out), basename(out)];
  for (const found of existsSync(folder) ? readdirSync(folder) : []) {
    const pid = found.startsWith(`${name}.`) ? found.slice(name.length + 1) : '';
    if (/^\d+$/.test(pid) && !isRunning(Number(pid))) rmSync(join(folder, found), { recursive: true, force: true });
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

async function main() {
  const compiler = findCompiler();
  if (compiler === undefined || !existsSync(join(root, 'bin', 'payctl.ts'))) return true;
  removeLeftDrafts();
  removeHeaders();
  const progress = showProgress(process.stderr, 'building');
  const steps = [
    ['compiling', () => compile(compiler)],
    ['the clients', () => (copyAssets(), makeClients(compiler))],
    ['the API explorer', makeExplorer],
    ['the guides', makeGuides],
    ['the help', makeHelp],
    ['the bundle', () => bundle().then(() => true)],
  ];
  try {
    for (const [name, work] of steps) {
      progress.step(name);
      if (!(await work())) return false;
    }
    chmodSync(join(draft, 'bin', 'payctl.js'), 0o755);
    // The new build replaces dist/ as a whole, so that dist/ never mixes files of two builds.
    rmSync(out, { recursive: true, force: true });
    renameSync(draft, out);
    linkPayctl();
    return true;
  } finally {
    progress.end();
    rmSync(draft, { recursive: true, force: true });
  }
}

process.exitCode = (await main()) ? 0 : 1;
