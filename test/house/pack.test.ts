import test from 'ava';
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testSecrets } from '../../server/identity/api-app-rows.ts';
import { builtFolder } from '../support/built.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root } from './sources.ts';

/** Patterns of secrets that no packaged file may contain. */
const secretLooks = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[A-Za-z0-9+/]{40}/,
  /\bpays_[\w-]{20,}/,
  /\bwhsec_[\w+/]{20,}/,
  /\beyJ[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/,
  /\b_authToken\b|\bnpm_[A-Za-z0-9]{36}\b/,
  /postgres:\/\/\w+:[^@\s<…$]+@(?!localhost|127\.0\.0\.1|db|host|…)/,
];

test('the package contains the program and its documents, and no key, secret, test or database', async (t) => {
  const folder = temporaryFolder(t);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'config'));
  for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'config/default.toml'])
    copyFileSync(join(root, name), join(folder, name));
  cpSync(join(root, 'config/deploy'), join(folder, 'config/deploy'), { recursive: true });
  cpSync(join(await builtFolder(), 'dist'), join(folder, 'dist'), { recursive: true });
  // Files that may exist on the machine that releases.
  for (const name of ['data', 'test', 'keys']) mkdirSync(join(folder, name));
  for (const name of ['.env', '.npmrc', 'config/local.toml', 'data/jwt-secret-key', 'keys/app.key', 'test/a.key'])
    writeFileSync(join(folder, name), 'not for others');
  const pack = ['pack', '--dry-run', '--ignore-scripts', '--json', '--offline'];
  const answer = execFileSync('npm', pack, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const [{ files }] = JSON.parse(answer) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  const isMeant =
    /^(package\.json|npm-shrinkwrap\.json|sbom\.cdx\.json|README\.md|CHANGELOG\.md|config\/default\.toml|config\/deploy\/([\w.-]+\/)*[\w.-]+|dist\/(bin|lib)\/[\w.-]+\.js|dist\/lib\/LICENSES\.txt|dist\/cli\/help\/[\w-]+\.json|dist\/config\/default\.toml|dist\/clients\/ts\/(\w+\.(js|d\.ts)|package\.json|README\.md)|dist\/clients\/python\/(pyproject\.toml|README\.md|unified_payment_client\/(\w+\.py|py\.typed))|dist\/server\/explorer\/[\w.-]+\.(html|js|json|css|png|br|gz)|dist\/server\/guides\/(en|zh)\/[\w-]+\.html|dist\/server\/(pages\/style|simulator)\/\w+\.css)$/;
  t.deepEqual(
    paths.filter((path) => !isMeant.test(path)),
    [],
  );
  t.true(paths.includes('dist/clients/ts/index.js') && paths.includes('dist/clients/ts/index.d.ts'));
  t.true(paths.includes('dist/bin/payctl.js') && paths.includes('config/deploy/pay.service'));
  for (const path of paths) {
    const text = Object.values(testSecrets).reduce(
      (rest, published) => rest.replaceAll(published, ''),
      readFileSync(join(folder, path), 'utf8'),
    );
    for (const looks of secretLooks) t.notRegex(text, looks, path);
  }
});
