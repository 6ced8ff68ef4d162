import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../house/sources.ts';
import { until } from '../service.ts';

/** The last commit of the first release: its schema is the first migration. */
export const FIRST_RELEASE = '4eaea0523f';

/** A checkout of the first release with what it needs, or why there is none. */
export type Checkout = { folder: string } | { missing: string };

/** Lays the first release down below a folder, with its own dependencies; says why when the history or the registry is not there. */
export function checkOutFirstRelease(below: string): Checkout {
  const folder = join(below, 'first-release');
  mkdirSync(folder);
  const git = (...args: string[]) => spawnSync('git', args, { cwd: root, maxBuffer: 1 << 28 });
  const archive = git('archive', '--format=tar', FIRST_RELEASE);
  if (archive.status !== 0) return { missing: 'the history of this checkout does not reach back to the first release' };
  execFileSync('tar', ['-x', '-C', folder], { input: archive.stdout });
  const flags = ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
  const { status } = spawnSync('npm', flags, { cwd: folder, stdio: 'ignore' });
  return status === 0 ? { folder } : { missing: 'the packages of the first release could not be installed' };
}

/** A service of the first release in a process of its own. */
export interface FirstRelease {
  url: string;
  /** Ends it as an operator does. */
  stop(): Promise<void>;
}

/** Starts it on a port and waits until it answers. */
export async function startFirstRelease(
  folder: string,
  environment: Record<string, string>,
  port: number,
): Promise<FirstRelease> {
  const url = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [join(folder, 'bin/payctl.ts'), 'server', 'start'], {
    cwd: folder,
    env: {
      ...bare(),
      ...environment,
      PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      PAY_SERVER_PUBLIC_URL: url,
      PAY_METRICS_LISTEN: '127.0.0.1:0',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  process.once('exit', () => child.kill('SIGKILL'));
  await answers(child, url);
  return {
    url,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** Makes the first administrator with the first release's own tool, and the schema if there is none. */
export function bootstrapFirstRelease(
  folder: string,
  environment: Record<string, string>,
  { username, password }: { username: string; password: string },
): void {
  const words = ['bootstrap', 'admin', '--username', username, '--password-stdin', '--migrate'];
  execFileSync(process.execPath, [join(folder, 'bin/payctl.ts'), ...words], {
    cwd: folder,
    env: { ...bare(), ...environment, PAYCTL_CONFIG_DIR: join(folder, 'payctl') },
    input: `${password}\n`,
    stdio: ['pipe', 'ignore', 'inherit'],
  });
}

/** Nothing of the tests' own environment, which may have keys that the first release does not know. */
function bare(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(PAY|NODE_ENV)/.test(name)));
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  await until('the first release answers', () => {
    if (child.exitCode !== null) throw new Error(`the first release ended: ${child.exitCode}`);
    return fetch(`${url}/health/db`).then(
      ({ ok }) => ok,
      () => false,
    );
  });
}
