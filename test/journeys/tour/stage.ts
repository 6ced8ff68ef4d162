import { type ChildProcess, type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { bundled } from '../../support/built.ts';
import { freePort } from '../../support/free-port.ts';

const payctlPath = join(import.meta.dirname, '../../../bin/payctl.ts');

/** The result of a program run. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** A temporary folder with its own configuration, and the service that uses it. */
export interface Stage {
  folder: string;
  url: string;
  simulatorUrl: string;
  /** The environment of every process of the stage. */
  env: NodeJS.ProcessEnv;
  payctl(argv: readonly string[], stdin?: string): Promise<Ran>;
  run(program: string, argv: readonly string[], stdin?: string): Promise<Ran>;
  /** Starts the service and waits until it is ready. */
  start(): Promise<void>;
  /** Stops every process and removes the folder. */
  close(): Promise<void>;
}

/**
 * Creates the folder and chooses free ports; starts no process. A backup is restored as the database, because a new one takes seconds
 * to create. `program` replaces the payctl of this checkout.
 */
export async function openStage(
  prefix: string,
  extra: Readonly<Record<string, string>> = {},
  backup?: string,
  program?: string,
): Promise<Stage> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), prefix)));
  if (backup) await restore(backup, join(folder, 'pglite'));
  const [port, simulatorPort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const simulatorUrl = `http://127.0.0.1:${simulatorPort}`;
  await writeConfig(folder, { url, port, simulatorPort }, extra);
  const env = cleanEnvironment(folder, url, simulatorUrl);
  const running = new Set<ChildProcess>();
  let closed = false;
  const payctl = async () => program ?? (await bundled(payctlPath));
  const begin = (program: string, argv: readonly string[]): ChildProcessWithoutNullStreams => {
    if (closed) throw new Error('the stage is closed');
    const child = spawn(program, argv, { cwd: folder, env, stdio: 'pipe' });
    running.add(child);
    child.once('close', () => running.delete(child));
    return child;
  };
  const run: Stage['run'] = (program, argv, stdin = '') => toEnd(begin(program, argv), stdin);
  return {
    folder,
    url,
    simulatorUrl,
    env,
    run,
    payctl: async (argv, stdin) => run(process.execPath, [await payctl(), ...argv], stdin),
    async start() {
      const service = begin(process.execPath, [await payctl(), 'server', 'start']);
      service.stdin.end();
      await ready(service);
    },
    async close() {
      closed = true;
      await Promise.all([...running].map(stop));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function restore(backup: string, folder: string): Promise<void> {
  await mkdir(folder, { mode: 0o700 });
  await promisify(execFile)('tar', ['-xzf', backup, '-C', folder]);
}

interface Ports {
  url: string;
  port: number | undefined;
  simulatorPort: number | undefined;
}

async function writeConfig(
  folder: string,
  { url, port, simulatorPort }: Ports,
  extra: Readonly<Record<string, string>>,
): Promise<void> {
  const lines = [
    'Debug = true',
    '[Server]',
    `Listen = "127.0.0.1:${port}"`,
    `PublicUrl = "${url}"`,
    '[Database]',
    'Url = "pglite://./pglite"',
    '[Simulator]',
    `Listen = "127.0.0.1:${simulatorPort}"`,
    'Dir = "./simulator"',
    '[Metrics]',
    'Listen = "127.0.0.1:0"',
    ...Object.entries(extra).flatMap(([table, text]) => [`[${table}]`, text]),
  ];
  await mkdir(join(folder, 'config'));
  const paths = (line: string) => line.replace('"pglite://./', `"pglite://${folder}/`).replace('"./', `"${folder}/`);
  await writeFile(join(folder, 'config/local.toml'), `${lines.map(paths).join('\n')}\n`);
}

/** The environment without the caller's settings, which must not affect the stage. */
function cleanEnvironment(folder: string, url: string, simulatorUrl: string): NodeJS.ProcessEnv {
  const foreign = /^(PAY_|PAYCTL_|FORCE_COLOR$|NODE_ENV$|NODE_OPTIONS$|http_proxy$|https_proxy$|HTTPS?_PROXY$)/;
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(kept),
    PAYCTL_CONFIG_DIR: join(folder, 'payctl'),
    PAYCTL_SERVER: url,
    PAYCTL_SIMULATOR: simulatorUrl,
    // During a test run the code is already compiled.
    NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] || join(folder, 'compiled'),
    NO_COLOR: '1',
  };
}

async function toEnd(child: ChildProcessWithoutNullStreams, stdin: string): Promise<Ran> {
  const ran = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text));
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...ran };
}

/** Reads the log until the service is ready; throws with the end of the log if it stops before. */
async function ready(service: ChildProcessWithoutNullStreams): Promise<void> {
  const last: string[] = [];
  const keep = (line: string) => last.push(line) > 20 && last.shift();
  createInterface(service.stderr).on('line', keep);
  const log = createInterface(service.stdout);
  const isReady = new Promise<void>((resolve) => {
    log.on('line', (line) => {
      keep(line);
      if (/"msg":"ready"/.test(line)) resolve();
    });
  });
  const ended = once(service, 'close').then(([code]) => {
    throw new Error(`the service ended with ${String(code)} before it was ready:\n${last.join('\n')}`);
  });
  ended.catch(() => {});
  await Promise.race([isReady, ended]);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await ended;
  clearTimeout(impatience);
}
