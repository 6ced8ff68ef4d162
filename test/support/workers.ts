import type { ExecutionContext } from 'ava';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { bundled } from './built.ts';
import { checkAnswersOf } from './documented.ts';
import { temporaryFolder } from './folder.ts';
import { freePort } from './free-port.ts';
import { testEnvironment, until } from './service.ts';

const BIN = fileURLToPath(new URL('../../bin/payctl.ts', import.meta.url));

/** A service with several workers, started as operators start it. */
export interface Workers {
  url: string;
  metricsUrl: string;
  /** Process ids of the workers that reported ready and have not ended. */
  pids(): number[];
  /** Log lines with this message. */
  lines(message: string): Record<string, unknown>[];
  signal(signal: NodeJS.Signals): void;
  /** The exit code and the text on standard error. */
  ended: Promise<{ code: number | null; stderr: string }>;
}

/** Starts `payctl server start` with a database, and waits until all workers are ready or the process has ended. */
export async function startWorkers(
  t: Pick<ExecutionContext, 'teardown'>,
  databaseUrl: string,
  env: Record<string, string>,
): Promise<Workers> {
  const [port, metrics] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  checkAnswersOf(url);
  const child = spawn(process.execPath, [await bundled(BIN), 'server', 'start'], {
    cwd: temporaryFolder(t),
    env: {
      ...process.env,
      ...testEnvironment(databaseUrl),
      PAY_LOG_LEVEL: 'info',
      PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
      PAY_SERVER_PUBLIC_URL: url,
      PAY_SERVER_DRAIN_SECONDS: '0',
      PAY_METRICS_LISTEN: `127.0.0.1:${metrics}`,
      PAY_SERVER_WORKERS: '2',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const log: Record<string, unknown>[] = [];
  createInterface(child.stdout).on('line', (line) => log.push(JSON.parse(line) as Record<string, unknown>));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  let isOver = false;
  const ended = once(child, 'close').then(([code]: unknown[]) => {
    isOver = true;
    return { code: code as number | null, stderr };
  });
  const lines = (message: string) => log.filter(({ msg }) => msg === message);
  // Each process writes its lines at its own pace.
  const areReady = () => lines('all workers are ready').some(({ workers }) => lines('ready').length === workers);
  await until('all workers', async () => isOver || areReady());
  return {
    url,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
    pids: () =>
      lines('ready')
        .map(({ pid }) => pid as number)
        .filter(isAlive),
    lines,
    signal: (signal) => void child.kill(signal),
    ended,
  };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
