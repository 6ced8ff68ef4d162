// Makes dist/, which is what an installed package runs: Node strips no types below node_modules.
// `npm ci` runs this by `prepare` on whatever Node the machine has: plain JavaScript, Node 18 and newer.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const draft = `${out}.${process.pid}`;
const guides = join(root, 'server', 'pages', 'guides');

/** The compiler, or undefined: a production install has none and takes dist/ as it came. */
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

/** Everything that is neither a source nor a document goes along as it is. */
function copyAssets() {
  // The guides go along as the pages that are made of them.
  const isAsset = (path) =>
    path !== guides && (statSync(path).isDirectory() || !/\.(ts|mjs|md)$|\/\.[^/]*$/.test(path));
  for (const folder of ['config', 'server', 'cli']) {
    cpSync(join(root, folder), join(draft, folder), {
      recursive: true,
      filter: (path) => isAsset(path) && !isLocal(relative(root, path)),
    });
  }
}

/** The files of the API explorer, so that a service makes none. */
const makeExplorer = () => make('server/offline/explorer-files', 'writeExplorerFiles', 'server/explorer');

/**
 * The client, of the document that the service serves, with its types; compiled more strictly than what only runs here. The checkout gets
 * its operations, too: they are not committed.
 */
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

/** The guides, of their Markdown. */
const makeGuides = () => make('server/offline/guide-files', 'writeGuideFiles', 'server/guides', guides);

/** The help of every command, so that it is shown without loading one. */
const makeHelp = () => make('cli/help-files', 'writeHelpFiles', 'cli/help');

/** Files are made by what was compiled, on the Node that it is for. */
function make(program, write, folder, ...more) {
  const run = `import(process.argv[1]).then((made) => made.${write}(...process.argv.slice(2)))`;
  const args = ['--eval', run, pathToFileURL(join(draft, `${program}.js`)).href, join(draft, folder), ...more];
  const { status, error } = spawnSync(findNode(), args, { cwd: root, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}

/** That of the development packages, since the machine's may be too old for what is built. */
function findNode() {
  try {
    return join(dirname(createRequire(import.meta.url).resolve('node/package.json')), 'bin', 'node');
  } catch {
    return process.execPath;
  }
}

/** What is for this machine alone, and what travels beside dist/. */
function isLocal(path) {
  if (path === join('config', 'deploy')) return true;
  return path.startsWith('config') && path.endsWith('.toml') && !path.endsWith('default.toml');
}

/** A build that is killed cannot remove its draft; the next one does. */
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
    // What runs from the old folder meanwhile sees all of the old one or all of the new one.
    rmSync(out, { recursive: true, force: true });
    renameSync(draft, out);
    return true;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

process.exitCode = main() ? 0 : 1;
