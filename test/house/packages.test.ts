import test from 'ava';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './sources.ts';

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

const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
  packages: Record<string, LockedPackage & Partial<Manifest>>;
};
const locked = Object.entries(lock.packages).filter(([path]) => path !== '');

test('every dependency is pinned to the version in the lock file', (t) => {
  for (const [name, version] of Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })) {
    t.regex(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
    t.is(lock.packages[`node_modules/${name}`]?.version, version, name);
  }
  t.deepEqual(lock.packages['']?.dependencies, manifest.dependencies);
  t.deepEqual(lock.packages['']?.devDependencies, manifest.devDependencies);
});

test('every locked package has an integrity hash and comes from the npm registry', (t) => {
  for (const [path, { resolved, integrity, inBundle, link }] of locked) {
    t.falsy(link, path);
    if (!inBundle) t.regex(integrity ?? '', /^sha512-/, path);
    if (resolved !== undefined) t.regex(resolved, /^https:\/\/registry\.npmjs\.org\//, path);
  }
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
