import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { builtFolder } from '../support/built.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const bin = join(root, 'bin/payctl.ts');

const WATCH = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
const seen = [];
registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } });
process.on('exit', () => process.stderr.write(JSON.stringify(seen)));
`)}`;

async function loadedBy(argv: readonly string[], program = bin, env: Record<string, string> = {}): Promise<string[]> {
  // A command that cannot reach its server fails; what it loaded is on stderr, too.
  const { stderr = '' } = await run(process.execPath, ['--import', WATCH, program, ...argv], {
    env: { ...process.env, PAYCTL_CONFIG_DIR: '/nonexistent', ...env },
  }).catch((error: unknown) => {
    if (env['PAYCTL_SERVER'] === undefined) throw error;
    return error as { stderr?: string };
  });
  const urls = JSON.parse(stderr.slice(stderr.indexOf('['))) as string[];
  return urls.map((url) => (url.startsWith('file:') ? relative(root, fileURLToPath(url)) : url)).toSorted();
}

const ours = (loaded: readonly string[]) => loaded.filter((name) => !name.startsWith('node:'));

test('--version loads four files, and of Node.js only what reads a file', async (t) => {
  for (const flag of ['--version', '-V']) {
    const loaded = await loadedBy([flag]);
    t.deepEqual(ours(loaded), ['bin/payctl.ts', 'cli/at-once.ts', 'cli/version.ts', 'cli/whole-write.ts']);
    t.deepEqual(
      loaded.filter((name) => name.startsWith('node:')),
      ['node:fs'],
    );
  }
});

test('conflicting colour variables cause no Node.js warning on stderr', async (t) => {
  for (const [env, painted] of [
    [{ NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    [{ NODE_DISABLE_COLORS: '1', FORCE_COLOR: '1' }, true],
  ] as const)
    for (const argv of [['--help'], ['config', 'explain'], ['order', 'list', '--help']]) {
      const { stdout, stderr } = await run(process.execPath, [bin, ...argv], {
        env: { PATH: process.env['PATH'], PAYCTL_CONFIG_DIR: '/nonexistent', ...env },
      });
      t.is(stderr, '', argv.join(' '));
      if (argv.includes('--help')) t.is(stdout.includes('\u001B['), painted, argv.join(' '));
    }
});

test('version and help of a built payctl load one file, and a command of it some twenty', async (t) => {
  const built = join(await builtFolder(), 'dist/bin/payctl.js');
  const loadedFrom = async (argv: readonly string[]) =>
    (await loadedBy(argv, built)).map((name) => name.slice(name.indexOf('dist/')));
  for (const argv of [['--version'], [], ['--help'], ['order', '-h'], ['refunds', 'create', '--help']])
    t.deepEqual(await loadedFrom(argv), ['dist/bin/payctl.js', 'dist/lib/at-once.js'], argv.join(' '));
  const command = ours(await loadedFrom(['context', 'list']));
  t.true(command.includes('dist/lib/main.js') && command.length < 25, command.join(' '));
});

test('a command loads its own noun, and neither the server nor inquirer, zod or qrcode', async (t) => {
  const loaded = await loadedBy(['context', 'list']);
  t.deepEqual(
    loaded.filter((name) => /^server\/|^config\/|inquirer|zod|qrcode|smol-toml/.test(name)),
    ['server/domain.ts'],
  );
  t.deepEqual(
    loaded.filter((name) => name.startsWith('cli/commands/')),
    ['cli/commands/context.ts', 'cli/commands/index.ts'],
  );
});

test('a command loads the same files for an application as for an administrator, and nothing of mcp', async (t) => {
  const env = (more: Record<string, string>) => ({ PAYCTL_SERVER: 'http://127.0.0.1:9', ...more });
  const admin = await loadedBy(['order', 'get', 'P1'], bin, env({ PAYCTL_TOKEN: 'pays_x' }));
  const merchant = await loadedBy(
    ['order', 'get', 'P1'],
    bin,
    env({ PAYCTL_CLIENT_ID: 'app_1', PAYCTL_CLIENT_SECRET: 'pays_x' }),
  );
  t.deepEqual(ours(merchant), ours(admin));
  t.true(merchant.includes('cli/application.ts'));
  t.false(merchant.some((name) => /^cli\/mcp\/|modelcontextprotocol|zod/.test(name)));
});

/** Reports at exit which parts of fetch and WebSocket Node.js has loaded. */
const FETCH = `data:text/javascript,${encodeURIComponent(`
process.on('exit', () => {
  const parts = process.moduleLoadList.filter((name) => name.includes('undici'));
  process.stderr.write(JSON.stringify({ parts, http: process.moduleLoadList.includes('NativeModule http') }));
});
`)}`;

test('a command that calls the service loads http, and no part of fetch', async (t) => {
  const env = {
    ...process.env,
    PAYCTL_CONFIG_DIR: '/nonexistent',
    PAYCTL_TOKEN: 'pays_x',
    PAYCTL_SERVER: 'http://127.0.0.1:9',
  };
  const error = await t.throwsAsync(run(process.execPath, ['--import', FETCH, bin, 'app', 'list'], { env }));
  const { code, stderr = '' } = error as { code?: number; stderr?: string };
  t.is(code, 7, stderr);
  t.deepEqual(JSON.parse(stderr.slice(stderr.indexOf('{'))), { parts: [], http: true });
});

test('help of mcp loads neither the MCP SDK nor zod', async (t) => {
  const loaded = await loadedBy(['mcp', '--help']);
  t.true(loaded.includes('cli/commands/mcp.ts'));
  t.deepEqual(
    loaded.filter((name) => /^cli\/mcp\/|modelcontextprotocol|zod|ajv/.test(name)),
    [],
  );
});

test('an outdated Node.js is reported in one line', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'payctl-old-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const old = `data:text/javascript,${encodeURIComponent("Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })")}`;
  const error = await t.throwsAsync(run(process.execPath, ['--import', old, bin, '--version']));
  t.is((error as { stderr?: string } | undefined)?.stderr, 'payctl needs Node.js 24.15 or newer; this is 20.19.0.\n');
});

test('payctl without a terminal does not prompt, and the process exits', async (t) => {
  const env = { ...process.env, PAYCTL_CONFIG_DIR: '/nonexistent' };
  const child = run(process.execPath, [bin, 'login', '--server', 'http://127.0.0.1:9'], { env });
  child.child.stdin?.end();
  const error = (await t.throwsAsync(child)) as { code?: number; stdout?: string; stderr?: string } | undefined;
  t.is(error?.code, 2);
  t.is(error?.stdout, '');
  t.regex(error?.stderr ?? '', /^error: --username is required when not running interactively\.$/m);
});
