import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { createInterface } from 'node:readline';

/** The checkout that is measured. */
export const root = join(import.meta.dirname, '../..');
/** The command as an installed package runs it. */
export const payctl = join(root, 'dist/bin/payctl.js');

/** Processes and files of one benchmark; `close`, or the end of this process, ends them all. */
export interface Processes {
  folder: string;
  /** The environment of every child: none of the caller's settings, and a compile cache of its own. */
  env: Record<string, string>;
  begin(argv: readonly string[], env?: Record<string, string>): ChildProcess;
  /** Starts a program that prints its address as its first line. */
  address(
    argv: readonly string[],
    env: Record<string, string>,
  ): Promise<{ url: string; pid: number; child: ChildProcess }>;
  end(child: ChildProcess): Promise<void>;
  close(): Promise<void>;
}

/** The Node.js flags in a program's first line, as for `#!/usr/bin/env -S node --flag`. */
export function flagsOf(program = ''): string[] {
  if (!isAbsolute(program)) return [];
  const [, flags = ''] = /^#!.* node( .*)?\n/.exec(readFileSync(program, 'utf8')) ?? [];
  return flags.split(' ').filter(Boolean);
}

/** The arguments of Node.js that set V8 flags inside the process before the program is loaded. */
export function setting(flags: readonly string[]): string[] {
  const calls = flags.map((flag) => `setFlagsFromString(${JSON.stringify(flag)});`);
  return flags.length === 0 ? [] : importing(`import { setFlagsFromString } from 'node:v8'; ${calls.join(' ')}`);
}

/** Starts a service once more and returns the V8 flags that it sets by itself until it is ready. */
export async function flagsSetBy(
  processes: Processes,
  argv: readonly string[],
  env: Record<string, string>,
): Promise<string[]> {
  const file = join(processes.folder, 'flags');
  writeFileSync(file, '');
  const listen = `127.0.0.1:${await freePort()}`;
  const own = { ...env, PAY_SERVER_LISTEN: listen, PAY_SERVER_DRAIN_SECONDS: '0', BENCH_FLAGS: file };
  const child = processes.begin([...flagsOf(argv[0]), ...importing(NOTE_FLAGS), ...argv], own);
  child.stdout?.resume();
  await untilHealthy(`http://${listen}`, child);
  await processes.end(child);
  return readFileSync(file, 'utf8').split('\n').filter(Boolean);
}

const NOTE_FLAGS = `
  import { appendFileSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  import v8 from 'node:v8';
  const set = v8.setFlagsFromString;
  v8.setFlagsFromString = (flags) => (appendFileSync(process.env.BENCH_FLAGS, flags + '\\n'), set(flags));
  syncBuiltinESMExports();`;

function importing(code: string): string[] {
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
}

/** Creates the folder and environment of child processes. */
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
    async address(argv, extra): ReturnType<Processes['address']> {
      const child = begin(argv, extra);
      const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${argv.at(-1)} ended`)));
      ended.catch(() => {});
      const [line] = (await Promise.race([once(createInterface(child.stdout!), 'line'), ended])) as [string];
      return { url: line, pid: child.pid!, child };
    },
    async close() {
      await Promise.all([...running].map(end));
    },
  };
}

/** Starts a simulator process; returns its address and the settings that a service needs to pay through it. */
export async function openSimulator(
  processes: Processes,
): Promise<{ url: string; env: Record<string, string>; close(): Promise<void> }> {
  const dir = mkdtempSync(join(processes.folder, 'simulator-'));
  const child = processes.begin([payctl, 'simulator', 'start', '--listen', '127.0.0.1:0', '--dir', dir]);
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string];
  const { simulator } = JSON.parse(line) as { simulator: string };
  // The webhook of the benchmark's shop is on this machine.
  const env = { PAY_SIMULATOR_URL: simulator, PAY_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  return { url: simulator, env, close: () => processes.end(child) };
}

/** Memory of a process and its children (MB). */
export function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  const own = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
  return children.reduce((sum, child) => sum + residentMegabytes(Number(child)), own);
}

/** One tick of the kernel's accounting, as it is reported to programs on every system (ms). */
const TICK_MS = 10;

/** Processor time of a process and its children so far (ms); NaN where the system does not report it. */
export function processorMs(pid: number): number {
  if (process.platform !== 'linux') return Number.NaN;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + processorMs(Number(child)), ownMs(pid));
}

function ownMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The fields after the name, which may contain anything: user and system time are the 12th and 13th.
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

/** Returns a port that was just free, below the system's ephemeral ports. */
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

/** Polls until the answer is 200; throws if the process ends before, or after two minutes. */
export async function untilHealthy(url: string, child: ChildProcess): Promise<void> {
  const end = performance.now() + 120_000;
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined);
    await answer?.arrayBuffer();
    // If another process holds the port, this process ends, and the answer is not its own.
    if (answer?.status === 200 && child.exitCode === null) return;
    if (child.exitCode !== null || performance.now() > end) throw new Error(`${url} did not become ready`);
    await new Promise((resolve) => setTimeout(resolve, 4));
  }
}
