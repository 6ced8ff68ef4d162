import { execFile, spawn, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test, { type ExecutionContext } from 'ava';
import { randomBytes, createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { builtFolder, clone, pack } from '../support/built.ts';
import { temporaryFolder } from '../support/folder.ts';
import { readDockerfile } from '../house/dockerfile.ts';
import { root } from '../house/sources.ts';
import { copyOf, createDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/service.ts';

const run = promisify(execFile);

/** The durations (ms) of the first start and restore of an installed package, and the output of the restore. */
interface FirstDay {
  startedMs: number;
  restoredMs: number;
  /** Output of the check of a restored backup. */
  restored: string;
}

/**
 * Follows README.md, "Production", with a package installed in `home`: first administrator, start, login, and the check of a restored
 * backup. `health` is the health check command of the container, for port 8080.
 */
async function firstProductionDay(t: ExecutionContext, home: string, health: readonly string[]): Promise<FirstDay> {
  const { url, drop } = await createDatabase({ direct: true, empty: true });
  t.teardown(drop);
  const at = join(home, '..', 'day');
  mkdirSync(at);
  const [port, metrics] = [await freePort(), await freePort()];
  const secret = (name: string): string => {
    writeFileSync(join(at, name), randomBytes(32).toString('base64'), { mode: 0o600 });
    return join(at, name);
  };
  const toml = `[Server]\nListen = "127.0.0.1:${port}"\nPublicUrl = "https://pay.shop.example"\nTrustedProxies = 1\n[Metrics]\nListen = "127.0.0.1:${metrics}"\n[Database]\nUrl = "${url}"\n`;
  writeFileSync(join(at, 'pay.toml'), toml);
  const env = {
    PATH: process.env['PATH'],
    NODE_ENV: 'production',
    PAY_CONFIG: join(at, 'pay.toml'),
    PAY_JWT_SECRET_KEY_FILE: secret('jwt'),
    PAY_SECURITY_MASTER_KEY_FILE: secret('master'),
    PAYCTL_CONFIG_DIR: join(at, 'payctl'),
  };
  const program = join(home, 'dist/bin/payctl.js');
  const payctl = (line: string) => run(process.execPath, [program, ...line.split(' ')], { cwd: at, env });

  const began = performance.now();
  await payctl('bootstrap admin -u admin --generate --secret-file admin.password --migrate');
  const service = spawn(process.execPath, [program, 'server', 'start'], { cwd: at, env, stdio: 'ignore' });
  t.teardown(() => void service.kill('SIGKILL'));
  const [, ...words] = health.map((word) => word.replace(':8080', `:${port}`));
  await until('the service is well', () =>
    run(process.execPath, words).then(
      () => true,
      () => false,
    ),
  );
  const startedMs = performance.now() - began;
  for (const [path, status] of [
    ['/docs/api/refundPayment', 200],
    ['/docs/api/webhooks/order.paid', 200],
    ['/swagger/doc.json', 404],
  ] as const)
    t.is((await fetch(`http://127.0.0.1:${port}${path}`)).status, status, path);
  await payctl(`login --server http://127.0.0.1:${port} -u admin --password-file admin.password`);
  const looked = await payctl('doctor --json').then(
    () => '[]',
    (ended: { stdout: string }) => ended.stdout,
  );
  const failed = (JSON.parse(looked) as { check: string; status: string }[]).filter(
    ({ status }) => status === 'failed',
  );
  t.deepEqual(
    failed.map(({ check }) => check),
    ['channels'],
    'all that a new service lacks is a channel',
  );
  service.kill('SIGTERM');
  t.deepEqual(await once(service, 'exit'), [0, null]);

  const backup = performance.now();
  writeFileSync(join(at, 'url'), await copyOf(t, url), { mode: 0o600 });
  const { stdout, stderr } = await payctl('server restore-check --url-file url -o table');
  return { startedMs, restoredMs: performance.now() - backup, restored: stdout + stderr };
}

/** The npm registry of this machine. */
const UPSTREAM = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim().replace(/\/$/, '');

/** A proxy of the npm registry that records the requested paths. */
interface WatchedRegistry {
  url: string;
  asked: string[];
  /** Errors of the npm registry behind this proxy. */
  unreachable: string[];
  close(): void;
}

/** A package published by this proxy: its archive and its package.json. */
interface Published {
  archive: Buffer;
  manifest: { name: string; version: string };
}

/** Forwards reads to the npm registry, except for the published package; rewrites archive addresses to this proxy. */
async function watchRegistry({ archive, manifest }: Published): Promise<WatchedRegistry> {
  const asked: string[] = [];
  const unreachable: string[] = [];
  // As registries do: npm follows the lock of a package only if this member is set.
  const described = (): unknown => ({
    name: manifest.name,
    'dist-tags': { latest: manifest.version },
    versions: {
      [manifest.version]: {
        ...manifest,
        _hasShrinkwrap: true,
        dist: {
          tarball: `${url}/${manifest.name}.tgz`,
          integrity: `sha512-${createHash('sha512').update(archive).digest('base64')}`,
        },
      },
    },
  });
  const server = createServer((request, response) => {
    const path = request.url ?? '/';
    asked.push(path);
    if (path === `/${manifest.name}`) return void response.end(JSON.stringify(described()));
    if (path === `/${manifest.name}.tgz`) return void response.end(archive);
    const { accept = '*/*' } = request.headers;
    fetch(UPSTREAM + path, { headers: { accept } })
      .then(async (answer) => {
        const type = answer.headers.get('content-type') ?? 'application/octet-stream';
        const bytes = Buffer.from(await answer.arrayBuffer());
        const body = type.includes('json') ? bytes.toString('utf8').replaceAll(UPSTREAM, url) : bytes;
        response.writeHead(answer.status, { 'content-type': type }).end(body);
      })
      .catch((error: unknown) => {
        unreachable.push(`${path}: ${String((error as Error).cause ?? error)}`);
        response.writeHead(502).end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, unreachable, close: () => void server.close().closeAllConnections() };
}

const NAME = 'unified-payment-service';

/** A preload script that records every connection of a Node process: npm, and the install scripts that it runs. */
const WATCH = `
const { appendFileSync } = require('node:fs');
const { Socket } = require('node:net');
const connect = Socket.prototype.connect;
Socket.prototype.connect = function (...args) {
  const { host, port, path } = [args[0]].flat()[0] ?? {};
  if (!path) appendFileSync(process.env.CONNECTIONS, (host ?? 'localhost') + ':' + port + '\\n');
  return connect.apply(this, args);
};
`;

/** Packs again, from a build of the same sources in another folder. */
async function packBuilt(at: string, to: string): Promise<string> {
  rmSync(join(at, 'dist'), { recursive: true });
  cpSync(join(await builtFolder(), 'dist'), join(at, 'dist'), { recursive: true });
  const { scripts } = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  await run('sh', ['-c', scripts['prepack']!], { cwd: at });
  const archive = await pack(at, to, '--ignore-scripts');
  await run('sh', ['-c', scripts['postpack']!], { cwd: at });
  return archive;
}

/** Asserts that the package's parts list names every installed version, and that every required entry is installed. */
function requireListed(t: ExecutionContext, home: string): void {
  const { components } = JSON.parse(readFileSync(join(home, 'sbom.cdx.json'), 'utf8')) as {
    components: { group?: string; name: string; version: string; scope: string }[];
  };
  const there = Object.entries(installed(home)).map(
    ([path, version]) => `${path.split('node_modules/').at(-1)}@${version}`,
  );
  const named = (of: typeof components) =>
    of.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name}@${version}`);
  const [listed, needed] = [named(components), named(components.filter(({ scope }) => scope === 'required'))];
  t.deepEqual(
    there.filter((one) => !listed.includes(one)),
    [],
  );
  t.deepEqual(
    needed.filter((one) => !there.includes(one)),
    [],
  );
}

interface Lock {
  packages: Record<string, { version?: string; optional?: boolean; dev?: boolean; hasInstallScript?: boolean }>;
}

/** The packages below a folder, by relative path, with their versions. */
function installed(folder: string, below = ''): Record<string, string> {
  const at = join(folder, below, 'node_modules');
  if (!existsSync(at)) return {};
  const names = readdirSync(at).flatMap((name) =>
    name.startsWith('@')
      ? readdirSync(join(at, name)).map((inner) => `${name}/${inner}`)
      : name.startsWith('.')
        ? []
        : [name],
  );
  const found = names.map((name): Record<string, string> => {
    const path = join(below, 'node_modules', name);
    const { version } = JSON.parse(readFileSync(join(folder, path, 'package.json'), 'utf8')) as { version: string };
    return { [path]: version, ...installed(folder, path) };
  });
  return Object.assign({}, ...found) as Record<string, string>;
}

/** The total size of all files below a folder, in bytes. */
function sizeOf(at: string): number {
  const files = readdirSync(at, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0);
}

/** Asserts that exactly the locked production packages are installed, in their versions. */
function requireLocked(t: ExecutionContext, home: string): void {
  const { packages } = JSON.parse(readFileSync(join(home, 'npm-shrinkwrap.json'), 'utf8')) as Lock;
  const tree = installed(home);
  for (const [path, { version, optional, dev }] of Object.entries(packages)) {
    t.falsy(dev, path);
    if (path !== '' && !(optional && !(path in tree))) t.is(tree[path], version, path);
  }
  const paths = Object.keys(tree);
  t.true(paths.length > 100);
  t.deepEqual(
    paths.filter((path) => !(path in packages) || /scarf|swagger-ui-dist/.test(path)),
    [],
  );
  const withScripts = Object.keys(packages).filter((path) => path !== '' && packages[path]?.hasInstallScript);
  t.deepEqual(withScripts, ['node_modules/argon2']);
}

test('a package installs exactly its locked tree, connects only to the registry, and starts in production', async (t) => {
  const folder = temporaryFolder(t);
  const at = clone(folder);
  const archive = await pack(at, join(folder, 'first'));
  const again = await packBuilt(at, join(folder, 'second'));
  t.true(readFileSync(archive).equals(readFileSync(again)), 'the same source gives the same bytes');
  for (const made of ['npm-shrinkwrap.json', 'sbom.cdx.json'])
    t.false(existsSync(join(at, made)), 'files generated for the package are removed');

  const manifest = JSON.parse(readFileSync(join(at, 'package.json'), 'utf8')) as { name: string; version: string };
  const registry = await watchRegistry({ archive: readFileSync(archive), manifest });
  t.teardown(registry.close);
  const inFolder = (name: string): string => join(folder, name);
  writeFileSync(inFolder('watch.cjs'), WATCH);
  writeFileSync(inFolder('connections'), '');
  const env = {
    ...process.env,
    NODE_OPTIONS: `--require ${inFolder('watch.cjs')}`,
    CONNECTIONS: inFolder('connections'),
    npm_config_registry: registry.url,
    npm_config_replace_registry_host: 'always',
  };
  const npm = (...words: string[]) =>
    registryOrWhy(run('npm', [...words, '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder, env }));
  const registryOrWhy = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: unknown) => {
      const [first] = registry.unreachable;
      if (first) throw new Error(`This test needs the npm registry, or a npm cache that has everything: ${first}`);
      throw error;
    });

  // The steps of the Dockerfile, as README.md describes: npm ignores the lock of an archive given as a file.
  const own = inFolder('opt/pay');
  mkdirSync(own, { recursive: true });
  cpSync(join(folder, 'first'), join(folder, 'out'), { recursive: true });
  const began = performance.now();
  const { stages } = readDockerfile(readFileSync(join(root, 'config/deploy/Dockerfile'), 'utf8'));
  const steps = stages.find(({ name }) => name === 'install')!.steps.filter(({ instruction }) => instruction === 'RUN');
  t.is(steps.length, 3);
  const quick = { ...env, npm_config_prefer_offline: 'true' };
  for (const { text } of steps) await registryOrWhy(run('sh', ['-c', text], { cwd: own, env: quick }));
  const installMs = performance.now() - began;
  requireLocked(t, own);
  requireListed(t, own);
  await npm('install', '--global', '--prefix', inFolder('prefix'), NAME);
  requireLocked(t, join(inFolder('prefix'), 'lib/node_modules', NAME));

  const called = new Set(readFileSync(inFolder('connections'), 'utf8').split('\n').filter(Boolean));
  t.true(called.delete(new URL(registry.url).host), 'the watch saw npm ask');
  t.deepEqual([...called], []);
  t.deepEqual(
    registry.asked.filter((path) => /scarf/.test(path)),
    [],
  );
  for (const payctl of [join(own, 'dist/bin/payctl.js'), join(inFolder('prefix'), 'bin/payctl')])
    t.is((await run(process.execPath, [payctl, '--version'])).stdout.trim(), manifest.version);
  t.true(existsSync(join(own, 'dist/server/explorer/swagger-ui-bundle.js')));
  // The files that the last stage copies; its base adds glibc and libstdc++, about 24 MB.
  const megabytes = (sizeOf(own) + statSync(realpathSync(process.execPath)).size) / 1e6;
  t.log(`the image: ${Math.round(megabytes)} MB on its base`);
  t.true(megabytes <= 225, `${megabytes} MB`);
  const hash = "const { hash } = await import('argon2'); console.log((await hash('x')).slice(0, 9));";
  const flags = ['--input-type=module', '--eval', hash];
  t.is((await run(process.execPath, flags, { cwd: own })).stdout, '$argon2id\n');

  const health = stages.at(-1)!.steps.find(({ instruction }) => instruction === 'HEALTHCHECK')!.text;
  const command = JSON.parse(/CMD (\[.*\])$/.exec(health)?.[1] ?? '[]') as string[];
  const { startedMs, restoredMs, restored } = await firstProductionDay(t, own, command);
  t.regex(restored, /This backup can be used: all 9 checks passed\./);
  const [toInstall, toStart, toRestore] = [installMs, startedMs, restoredMs].map((ms) => `${(ms / 1000).toFixed(1)} s`);
  t.log(`installed in ${toInstall}, first production start in ${toStart}, first restored backup in ${toRestore}`);
});
