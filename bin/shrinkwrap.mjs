// Writes npm-shrinkwrap.json, which locks the dependencies of the package, before `npm pack`, and removes the file
// afterwards. The content is the production part of package-lock.json. The file must not stay, because npm would use it
// instead of package-lock.json. Plain JavaScript, like build.mjs.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = join(root, 'npm-shrinkwrap.json');

function write() {
  const { packages, ...lock } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { devDependencies: _development, ...own } = packages[''];
  const needed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const locked = { ...lock, packages: { '': own, ...Object.fromEntries(needed) } };
  writeFileSync(file, `${JSON.stringify(locked, null, 2)}\n`);
}

if (process.argv[2] === 'remove') rmSync(file, { force: true });
else write();
