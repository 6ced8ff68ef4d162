import test from 'ava';
import { readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { complaint, inside } from './import-rules.ts';
import { circlesOf, loadedWith, readSource, root, type Source, sourcesIn } from './sources.ts';

const sources = sourcesIn('server', 'cli', 'config', 'bin');

test('every import follows the import rules', (t) => {
  t.true(sources.length > 20);
  const complaints = sources.flatMap((source) => source.imports.flatMap((found) => complaint(source, found) ?? []));
  t.deepEqual(complaints, []);
});

test('every imported own file exists and is named with its extension', (t) => {
  const paths = new Set(sources.map(({ path }) => path));
  const missing = sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, ours }) => ours && !paths.has(target) && !target.endsWith('.json'))
      .map(({ target }) => `${path} imports ${target}`),
  );
  t.deepEqual(missing, []);
});

/** Development packages used only at build time. */
const ofTheBuild: Readonly<Record<string, string>> = {
  'server/offline/guide-files.ts': 'marked',
  'bin/build.mjs': 'esbuild',
};

test('runtime code imports only production dependencies, and Node.js modules by node:', (t) => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, object>;
  const known = new Set(Object.keys(dependencies ?? {}));
  const builtin = new Set(builtinModules);
  const wrong = sources.flatMap(({ path, imports }) =>
    imports
      .filter(({ target, ours, typeOnly }) => !ours && !typeOnly && !target.startsWith('node:') && !known.has(target))
      .filter(({ target }) => ofTheBuild[path] !== target)
      .map(({ target }) => `${path} imports ${builtin.has(target) ? `${target} without node:` : target}`),
  );
  t.deepEqual(wrong, []);
});

test('no import cycle exists, including type imports and `import()`', (t) => {
  t.deepEqual(circlesOf(sources), []);
});

test('the check finds import cycles', (t) => {
  const made = (files: Record<string, string>) =>
    circlesOf(Object.entries(files).map(([path, text]) => readSource(path, text)));
  const a = "import { b } from './b.ts';";
  const b = "import { c } from './c.ts';";
  t.deepEqual(made({ 'x/a.ts': a, 'x/b.ts': b, 'x/c.ts': '' }), []);
  t.deepEqual(made({ 'x/a.ts': a, 'x/b.ts': b, 'x/c.ts': "import type { A } from './a.ts';" }), [
    ['x/a.ts', 'x/b.ts', 'x/c.ts'],
  ]);
  t.deepEqual(made({ 'x/a.ts': a, 'x/b.ts': "export type { A } from './a.ts';", 'x/c.ts': b }), [['x/a.ts', 'x/b.ts']]);
  t.deepEqual(made({ 'x/a.ts': a, 'x/b.ts': "const a = await import('./a.ts');" }), [['x/a.ts', 'x/b.ts']]);
});

test('payctl starts without the server, the schema, zod, Koa, the database and inquirer', (t) => {
  const starts = ['bin/payctl.ts', 'cli/main.ts'].map((start) => loadedWith(start, sources));
  const files = starts.flatMap((loaded) => [...loaded.files]);
  const packages = starts.flatMap((loaded) => [...loaded.packages]);
  t.true(files.includes('cli/context.ts'));
  t.deepEqual(
    files.filter((path) => /^(server|config)\//.test(path) && path !== 'server/domain.ts'),
    [],
  );
  t.deepEqual(
    packages.filter((name) => !name.startsWith('node:') && name !== 'commander'),
    [],
  );
});

test('only prompts.ts loads inquirer', (t) => {
  const loaders = sources.filter(({ imports }) => imports.some(({ target }) => target === 'inquirer'));
  t.true(loaders.every(({ path }) => path === 'cli/prompts.ts'));
});

test('the inside does not read the clock, and only server/main.ts reads the environment', (t) => {
  const isInside = ({ path }: Source) => inside.some((folder) => path.startsWith(`server/${folder}/`));
  const clock = sources.filter(
    (source) => isInside(source) && /\bDate\.now\(|\bnew Date\(\)/.test(withoutComments(source)),
  );
  t.deepEqual(paths(clock), []);
  const environment = sources.filter(
    (source) => /^(server|config)\//.test(source.path) && /\bprocess\.env\b/.test(withoutComments(source)),
  );
  t.deepEqual(
    paths(environment).filter((path) => path !== 'server/main.ts'),
    [],
  );
});

function paths(found: readonly Source[]): string[] {
  return found.map(({ path }) => path);
}

function withoutComments({ text }: Source): string {
  return text.replaceAll(/^\s*\/\*[^]*?\*\/|\/\/ .*$/gm, '');
}

test('the import parser reads every form of import', (t) => {
  const { imports } = readSource(
    'server/payments/x.ts',
    [
      "import a from 'a';",
      "import { b, type B } from '../b.ts';",
      "import type { C } from './c.ts';",
      "import {\n  d,\n  type D as E,\n} from '@scope/d/deep';",
      "import 'e';",
      "export { F } from '../../config/f.ts';",
      "export * from './g.ts';",
      "export type { H } from 'h';",
      "const i = await import('i');",
      "type J = typeof import('j');",
      "import * as k from 'node:k';",
      "// import l from 'l';",
      "/** import('m') */",
      "export const n = 'n';",
      "export const path = join('o', 'p');",
    ].join('\n'),
  );
  const short = imports.map(({ target, typeOnly, dynamic, names }) =>
    [target, typeOnly && 'types', dynamic && 'dynamic', ...names].filter(Boolean).join(' '),
  );
  t.deepEqual(short, [
    'a a',
    'server/b.ts b',
    'server/payments/c.ts types C',
    '@scope/d d',
    'e',
    'config/f.ts F',
    'server/payments/g.ts *',
    'h types H',
    'node:k * as k',
    'i dynamic',
  ]);
});

test('the import rules reject forbidden imports and accept allowed ones', (t) => {
  const judge = (path: string, text: string) => {
    const source = readSource(path, text);
    return source.imports.map((found) => complaint(source, found)).every((said) => said === undefined);
  };
  t.false(judge('server/payments/place.ts', "import Koa from 'koa';"));
  t.false(judge('server/payments/place.ts', "import { store } from '../db/store.ts';"));
  t.false(judge('server/payments/place.ts', "import { sign } from '../identity/tokens.ts';"));
  t.true(judge('server/payments/place.ts', "import type { App } from '../identity/api-apps.ts';"));
  t.true(judge('server/skillpay/operations.ts', "import { viewRefund } from '../payments/view.ts';"));
  t.false(judge('server/skillpay/operations.ts', "import { products } from '../catalog/products.ts';"));
  t.false(judge('server/payments/place.ts', "import type { Skill } from '../skillpay/resource.ts';"));
  t.false(judge('server/identity/tokens.ts', "import { viewRefund } from '../payments/view.ts';"));
  t.false(judge('server/channels/alipay/channel.ts', "import { x } from '../wechat/signature.ts';"));
  t.true(judge('server/routes/v2/pay.ts', "import { ChannelDisabled } from '../../payments/place.ts';"));
  t.false(judge('server/routes/v2/pay.ts', "import { placePayment } from '../../payments/place.ts';"));
  t.false(judge('cli/commands/app.ts', "import { loadConfig } from '../../config/load.ts';"));
  t.true(judge('cli/commands/bootstrap.ts', "const server = await import('../../server/app.ts');"));
  t.false(judge('server/http/input.ts', "const db = await import('../db/orm.ts');"));
  t.false(judge('server/db/store.ts', "import { x } from '../payments/place.ts';"));
  t.false(judge('server/db/entities/orders.ts', "import type { Scene } from '../../payments/channel.ts';"));
  t.true(judge('server/db/entities/orders.ts', "import type { Scene } from '../../domain.ts';"));
  t.false(judge('server/lounge/sofa.ts', "import { x } from '../errors.ts';"));
});
