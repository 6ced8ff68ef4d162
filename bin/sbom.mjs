// Writes sbom.cdx.json, the list of the package's dependencies (CycloneDX), before `npm pack`, and removes the file
// afterwards. The list comes from the production part of package-lock.json. The same package-lock.json always gives the
// same bytes. `npm sbom --omit=dev` is not used, because it omits packages that a development package also needs. Plain
// JavaScript, like build.mjs.
import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const file = join(root, 'sbom.cdx.json');

function write() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const { '': own, ...all } = packages;
  const needed = Object.fromEntries(Object.entries(all).filter(([, { dev }]) => !dev));
  const components = new Map();
  const graph = new Map([[refOf(own.name, own.version), refsOf('', own, needed)]]);
  for (const [path, entry] of Object.entries(needed)) {
    const component = componentOf(nameOf(path), entry);
    const ref = component['bom-ref'];
    // A package version may be installed at several paths. If it is required at one path, it counts as required.
    if (components.get(ref)?.scope !== 'required') components.set(ref, component);
    graph.set(ref, [...(graph.get(ref) ?? []), ...refsOf(path, entry, needed)]);
  }
  const list = [...components.values()].toSorted((one, other) => (one['bom-ref'] < other['bom-ref'] ? -1 : 1));
  const dependencies = [...graph].map(([ref, dependsOn]) => ({ ref, dependsOn: [...new Set(dependsOn)].toSorted() }));
  const body = { metadata: metadataOf(own), components: list, dependencies };
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(body))}`,
    version: 1,
    ...body,
  };
  writeFileSync(file, `${JSON.stringify(bom, null, 2)}\n`);
}

function metadataOf({ name, version, license }) {
  const component = { type: 'application', 'bom-ref': refOf(name, version), name, version, purl: refOf(name, version) };
  return { component: { ...component, ...licensesOf(license) }, lifecycles: [{ phase: 'build' }] };
}

function componentOf(fullName, { version, integrity, license, optional }) {
  const [, group, name] = /^(?:(@[^/]+)\/)?(.+)$/.exec(fullName);
  return {
    type: 'library',
    'bom-ref': refOf(fullName, version),
    ...(group && { group }),
    name,
    version,
    scope: optional ? 'optional' : 'required',
    hashes: integrity.split(' ').map(hashOf),
    ...licensesOf(license),
    purl: refOf(fullName, version),
  };
}

/** Returns the purl (package URL), which identifies an npm package and its version in the SBOM. */
function refOf(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

function hashOf(text) {
  const [, algorithm, digest] = /^sha(\d+)-(.+)$/.exec(text);
  return { alg: `SHA-${algorithm}`, content: Buffer.from(digest, 'base64').toString('hex') };
}

/** The license in package.json: an SPDX identifier, an SPDX expression, or free text. */
function licensesOf(license) {
  if (license === undefined) return {};
  if (/[ ()]/.test(license) && /\b(OR|AND|WITH)\b/.test(license)) return { licenses: [{ expression: license }] };
  return {
    licenses: [
      { license: /^[A-Za-z0-9.+-]+$/.test(license) && license !== 'UNLICENSED' ? { id: license } : { name: license } },
    ],
  };
}

/** Finds dependencies as Node.js does. Missing packages are skipped, because optional dependencies may be missing. */
function refsOf(path, { dependencies = {}, optionalDependencies = {}, peerDependencies = {} }, packages) {
  const wanted = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
  return wanted.flatMap((name) => {
    for (let at = path; ; at = posix.dirname(at) === '.' ? '' : posix.dirname(at)) {
      const found = packages[posix.join(at, 'node_modules', name)];
      if (found) return [refOf(name, found.version)];
      if (at === '') return [];
    }
  });
}

/** A UUID of version 8 (custom) that is derived from the hash of a text. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

if (process.argv[2] === 'remove') rmSync(file, { force: true });
else write();
