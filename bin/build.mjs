// Builds dist/. An installed package runs dist/, because Node.js does not strip types from files below node_modules.
// `npm ci` runs this script (`prepare`) with the Node.js of the machine, so the script is plain JavaScript for Node.js
// 18 and newer.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const draft = `${out}.${process.pid}`;
const guides = join(root, 'server', 'pages', 'guides');

/** The path of the TypeScript compiler; undefined in a production install, which uses the packaged dist/. */
function findCompiler() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
  } catch {
    return undefined;
  }
}

function compile(compiler) {
  const project = join(root, 'tsconfig.build.json');
  const { status, error } = spawnSync(process.execPath, [compiler, '--project', project, '--outDir', draft], {
    cwd: root,
    stdio: 'inherit',
  });
  if (error) throw error;
  return status === 0;
}

function copyAssets() {
  // The Markdown of the guides is not copied, because `makeGuides` writes the rendered pages.
  const isAsset = (path) =>
    path !== guides && (statSync(path).isDirectory() || !/\.(ts|mjs|md)$|\/\.[^/]*$/.test(path));
  for (const folder of ['config', 'server', 'cli']) {
    cpSync(join(root, folder), join(draft, folder), {
      recursive: true,
      filter: (path) => isAsset(path) && !isLocal(relative(root, path)),
    });
  }
}

/** Builds the files of the API explorer, so that the service does not have to build them. */
const makeExplorer = () => make('server/offline/explorer-files', 'writeExplorerFiles', 'server/explorer');

/** The generated operations are not committed to git, so this function also copies them into the checkout. */
function makeClient(compiler) {
  const source = join(draft, 'client.src');
  if (!make('server/offline/client-source', 'writeClientSource', 'client.src')) return false;
  cpSync(join(source, 'operations.ts'), join(root, 'server/client/operations.ts'));
  for (const name of ['client.ts', 'index.ts']) cpSync(join(root, 'server/client', name), join(source, name));
  const compilerOptions = { noEmit: false, declaration: true, rootDir: '.', outDir: '../client' };
  const project = {
    extends: join(root, 'server/client/tsconfig.json'),
    compilerOptions,
    files: ['index.ts'],
    include: [],
  };
  writeFileSync(join(source, 'tsconfig.json'), JSON.stringify(project));
  const { status, error } = spawnSync(process.execPath, [compiler, '--project', source], { stdio: 'inherit' });
  if (error) throw error;
  rmSync(source, { recursive: true });
  return status === 0;
}

const makeGuides = () => make('server/offline/guide-files', 'writeGuideFiles', 'server/guides', guides);

/** Builds the help of every command, so that it is shown without loading the command. */
const makeHelp = () => make('cli/help-files', 'writeHelpFiles', 'cli/help');

/** Runs a function of the new build on the Node.js version of the service. */
function make(program, write, folder, ...more) {
  const run = `import(process.argv[1]).then((made) => made.${write}(...process.argv.slice(2)))`;
  const args = ['--eval', run, pathToFileURL(join(draft, `${program}.js`)).href, join(draft, folder), ...more];
  const { status, error } = spawnSync(findNode(), args, { cwd: root, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
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

function main() {
  const compiler = findCompiler();
  if (compiler === undefined || !existsSync(join(root, 'bin', 'payctl.ts'))) return true;
  removeLeftDrafts();
  try {
    if (!compile(compiler)) return false;
    copyAssets();
    if (!makeClient(compiler) || !makeExplorer() || !makeGuides() || !makeHelp()) return false;
    chmodSync(join(draft, 'bin', 'payctl.js'), 0o755);
    // The new build replaces dist/ as a whole, so that dist/ never mixes files of two builds.
    rmSync(out, { recursive: true, force: true });
    renameSync(draft, out);
    return true;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

process.exitCode = main() ? 0 : 1;
