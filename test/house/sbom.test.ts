import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv } from 'ajv';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '../support/folder.ts';
import { root } from './sources.ts';

interface Component {
  'bom-ref': string;
  group?: string;
  name: string;
  version: string;
  purl: string;
  hashes: { alg: string; content: string }[];
  licenses?: unknown[];
}

interface Bom {
  components: Component[];
  dependencies: { ref: string; dependsOn: string[] }[];
  metadata: { component: Component };
}

interface Lock {
  packages: Record<
    string,
    { version: string; dev?: boolean; integrity: string; dependencies?: Record<string, string> }
  >;
}

/** Creates the SBOM as `npm pack` does, in a new folder. */
function makeBom(t: ExecutionContext): string {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'bin'));
  for (const name of ['bin/sbom.mjs', 'package-lock.json']) cpSync(join(root, name), join(folder, name));
  execFileSync(process.execPath, [join(folder, 'bin/sbom.mjs')]);
  const text = readFileSync(join(folder, 'sbom.cdx.json'), 'utf8');
  execFileSync(process.execPath, [join(folder, 'bin/sbom.mjs'), 'remove']);
  t.false(existsSync(join(folder, 'sbom.cdx.json')));
  return text;
}

/** The validator for CycloneDX 1.6, with the schema from the vendor's own library. */
function cycloneDx() {
  const schemas = join(
    dirname(createRequire(import.meta.url).resolve('@cyclonedx/cyclonedx-library/package.json')),
    'res/schema',
  );
  const read = (name: string) =>
    JSON.parse(readFileSync(join(schemas, `${name}.SNAPSHOT.schema.json`), 'utf8')) as object;
  const ajv = new Ajv({ strict: false, validateFormats: false });
  for (const name of ['spdx', 'jsf-0.82'])
    ajv.addSchema(read(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  return ajv.compile(read('bom-1.6'));
}

test('the SBOM is valid CycloneDX, and the same lock file gives the same bytes', (t) => {
  const text = makeBom(t);
  t.is(makeBom(t), text);
  const isValid = cycloneDx();
  t.true(isValid(JSON.parse(text)), JSON.stringify(isValid.errors));
  t.false(isValid({ ...(JSON.parse(text) as object), components: [{ type: 'library' }] }));
});

test('the SBOM lists exactly the production packages of the lock file with hash and licence', (t) => {
  const { components, dependencies, metadata } = JSON.parse(makeBom(t)) as Bom;
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as Lock;
  const locked = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev);
  const wanted = new Map(
    locked.map(([path, { version, integrity }]) => {
      const name = path.split('node_modules/').at(-1);
      return [`${name}@${version}`, Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')];
    }),
  );
  const found = components.map(({ group, name, version, hashes }) => [
    `${group ? `${group}/` : ''}${name}@${version}`,
    hashes.map(({ content }) => content).join(),
  ]);
  t.deepEqual(found.map(String).toSorted(), [...wanted].map(String).toSorted());
  t.is(found.length, wanted.size);
  t.deepEqual(
    components.filter(({ licenses }) => licenses === undefined).map(({ purl }) => purl),
    [],
  );
  for (const { purl } of components) t.regex(purl, /^pkg:npm\/(%40[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/);

  const refs = new Set([metadata.component['bom-ref'], ...components.map((one) => one['bom-ref'])]);
  t.deepEqual(dependencies.map(({ ref }) => ref).toSorted(), [...refs].toSorted());
  for (const { dependsOn } of dependencies) for (const ref of dependsOn) t.true(refs.has(ref), ref);
  const own = dependencies.find(({ ref }) => ref === metadata.component['bom-ref']);
  t.is(own?.dependsOn.length, Object.keys(packages['']?.dependencies ?? {}).length);
});
