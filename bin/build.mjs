// Makes dist/, which is what an installed package runs: Node strips no types below node_modules.
// `npm ci` runs this by `prepare` on whatever Node the machine has: plain JavaScript, Node 18 and newer.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const out = resolve(process.argv[2] ?? join(root, 'dist'));
const draft = `${out}.${process.pid}`;

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
  const isAsset = (path) => statSync(path).isDirectory() || !/\.(ts|mjs|md)$|\/\.[^/]*$/.test(path);
  for (const folder of ['config', 'server', 'cli']) {
    cpSync(join(root, folder), join(draft, folder), {
      recursive: true,
      filter: (path) => isAsset(path) && !isLocal(relative(root, path)),
    });
  }
}

/** The files of the API explorer, so that a service makes none. They are made by what was compiled, on the Node that it is for. */
function makeExplorer() {
  const program = join(draft, 'server', 'offline', 'explorer-files.js');
  const run = `import(process.argv[1]).then(({ writeExplorerFiles }) => writeExplorerFiles(process.argv[2]))`;
  const args = ['--eval', run, pathToFileURL(program).href, join(draft, 'server', 'explorer')];
  const { status, error } = spawnSync(findNode(), args, { cwd: root, stdio: 'inherit' });
  if (error) throw error;
  return status === 0;
}

/** The help of every command, so that it is shown without loading one. */
function makeHelp() {
  const program = join(draft, 'cli', 'help-files.js');
  const run = `import(process.argv[1]).then(({ writeHelpFiles }) => writeHelpFiles(process.argv[2]))`;
  const args = ['--eval', run, pathToFileURL(program).href, join(draft, 'cli', 'help')];
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

function main() {
  const compiler = findCompiler();
  if (compiler === undefined || !existsSync(join(root, 'bin', 'payctl.ts'))) return true;
  try {
    if (!compile(compiler)) return false;
    copyAssets();
    if (!makeExplorer() || !makeHelp()) return false;
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
