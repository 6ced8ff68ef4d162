import test from 'ava';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, sourcesIn } from './sources.ts';

interface LockedPackage {
  version?: string;
  resolved?: string;
  integrity?: string;
  link?: boolean;
  inBundle?: boolean;
  hasInstallScript?: boolean;
}

interface Manifest {
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  allowScripts: Record<string, boolean>;
}

interface Lock {
  packages: Record<string, LockedPackage & Partial<Manifest>>;
}

function read<T>(path: string): T {
  return JSON.parse(readFileSync(join(root, path), 'utf8')) as T;
}

const manifest = read<Manifest>('package.json');
const lock = read<Lock>('package-lock.json');
const ofOracles = read<Manifest>('test/oracles/package.json');

for (const [what, { dependencies, devDependencies }, { packages }] of [
  ['the service', manifest, lock],
  ['test/oracles', ofOracles, read<Lock>('test/oracles/package-lock.json')],
] as const) {
  test(`every dependency of ${what} is pinned to the version in the lock file`, (t) => {
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies })) {
      t.regex(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
      t.is(packages[`node_modules/${name}`]?.version, version, name);
    }
    t.deepEqual(packages['']?.dependencies, dependencies);
    t.deepEqual(packages['']?.devDependencies, devDependencies);
  });

  test(`every locked package of ${what} has an integrity hash and comes from the npm registry`, (t) => {
    for (const [path, { resolved, integrity, inBundle, link }] of Object.entries(packages)) {
      if (path === '') continue;
      t.falsy(link, path);
      if (!inBundle) t.regex(integrity ?? '', /^sha512-/, path);
      if (resolved !== undefined) t.regex(resolved, /^https:\/\/registry\.npmjs\.org\//, path);
    }
  });
}

test('only tests in test/oracles/packages import a package of test/oracles', (t) => {
  const names = new Set(Object.keys(ofOracles.devDependencies));
  const users = sourcesIn('server', 'cli', 'config', 'bin', 'test').filter(({ imports }) =>
    imports.some(({ target, ours }) => !ours && names.has(target)),
  );
  t.true(users.length > 5);
  t.deepEqual(
    users.map(({ path }) => path).filter((path) => !path.startsWith('test/oracles/packages/')),
    [],
  );
});

test('the four MikroORM packages have one version', (t) => {
  const versions = Object.entries(manifest.dependencies).filter(([name]) => name.startsWith('@mikro-orm/'));
  t.is(versions.length, 4);
  t.is(new Set(versions.map(([, version]) => version)).size, 1);
});

test('allowScripts names only locked packages', (t) => {
  for (const name of Object.keys(manifest.allowScripts)) t.truthy(lock.packages[`node_modules/${name}`], name);
  t.false(Object.hasOwn(manifest.allowScripts, '@scarf/scarf'));
});
