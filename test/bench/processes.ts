import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';

/** The checkout that is measured. */
export const root = join(import.meta.dirname, '../..');
/** The command as an installed package runs it. */
export const payctl = join(root, 'dist/bin/payctl.js');

/** Processes and files of one benchmark; everything ends with `close`, and with this process at the latest. */
export interface Processes {
  folder: string;
  /** The environment of every child: nothing of the caller's settings, and a compile cache of its own. */
  env: Record<string, string>;
  begin(argv: readonly string[], env?: Record<string, string>): ChildProcess;
  /** Starts a program that prints its address as its first line. */
  address(program: string, env: Record<string, string>): Promise<{ url: string; pid: number }>;
  end(child: ChildProcess): Promise<void>;
  close(): Promise<void>;
}

/** What the first line of a program tells Node.js, as when it is run by its name: `#!/usr/bin/env -S node --flag`. */
function flagsOf(program = ''): string[] {
  if (!isAbsolute(program)) return [];
  const [, flags = ''] = /^#!.* node( .*)?\n/.exec(readFileSync(program, 'utf8')) ?? [];
  return flags.split(' ').filter(Boolean);
}

/** Opens the stage on which children run. */
export function openProcesses(): Processes {
  const folder = mkdtempSync(join(tmpdir(), 'pay-bench-'));
  const running = new Set<ChildProcess>();
  const env = cleanEnvironment(folder);
  const killAll = () => running.forEach((child) => child.kill('SIGKILL'));
  process.once('exit', () => {
    killAll();
    rmSync(folder, { recursive: true, force: true });
  });
  const begin: Processes['begin'] = (argv, extra = {}) => {
    const child = spawn(process.execPath, [...flagsOf(argv[0]), ...argv], {
      cwd: folder,
      env: { ...env, ...extra },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    running.add(child);
    child.once('exit', () => running.delete(child));
    return child;
  };
  const end: Processes['end'] = async (child) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const impatience = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(impatience);
  };
  return {
    folder,
    env,
    begin,
    end,
    async address(program, extra): ReturnType<Processes['address']> {
      const child = begin([join(import.meta.dirname, program)], extra);
      const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${program} ended`)));
      ended.catch(() => {});
      const [line] = (await Promise.race([once(createInterface(child.stdout!), 'line'), ended])) as [string];
      return { url: line, pid: child.pid! };
    },
    async close() {
      await Promise.all([...running].map(end));
    },
  };
}

/** A simulator in a process of its own, and what a service needs to know to pay through it. */
export async function openSimulator(
  processes: Processes,
): Promise<{ env: Record<string, string>; close(): Promise<void> }> {
  const dir = mkdtempSync(join(processes.folder, 'simulator-'));
  const child = processes.begin([payctl, 'simulator', 'start', '--listen', '127.0.0.1:0', '--dir', dir]);
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  const { simulator } = JSON.parse(line) as { simulator: string };
  // The webhook of the benchmark's shop is on this machine.
  const env = { PAY_SIMULATOR_URL: simulator, PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  return { env, close: () => processes.end(child) };
}

/** Memory of a process and of those that it started (MB). */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const own = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  return children.reduce((sum, child) => sum + residentMegabytes(Number(child)), own);
}

/** One tick of the kernel's books, which is what it tells programs on every system (ms). */
const TICK_MS = 10;

/** How long a process and those that it started were on a processor so far (ms); NaN where the system does not tell. */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + processorMs(Number(child)), ownMs(pid));
}

function ownMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may hold anything: user and system time are the 12th and 13th.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

function cleanEnvironment(folder: string): Record<string, string> {
  const foreign = /^(PAY_|PAYCTL_|NODE_|FORCE_COLOR$|(http|https|all)_proxy$)/i;
  const kept = Object.entries(process.env).filter(([name, value]) => value !== undefined && !foreign.test(name));
  return {
    ...(Object.fromEntries(kept) as Record<string, string>),
    NODE_COMPILE_CACHE: join(folder, 'compiled'),
    PAYCTL_CONFIG_DIR: join(folder, 'payctl'),
    NO_COLOR: '1',
  };
}

/** A port that was free a moment ago, below those that the system gives away by itself. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const server = createServer().listen(port, '127.0.0.1');
    const free = await Promise.race([
      once(server, 'listening').then(() => true),
      once(server, 'error').then(() => false),
    ]);
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

/** Asks until the answer is 200; throws when the process ends before, or after two minutes. */
export async function untilHealthy(url: string, child: ChildProcess): Promise<void> {
  const end = performance.now() + 120_000;
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    await answer?.arrayBuffer();
    // Somebody else may have the port: then the process ends, and the answer is not its own.
    if (answer?.status === 200 && child.exitCode === null) return;
    if (child.exitCode !== null || performance.now() > end) throw new Error(`${url} did not become ready`);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
}
