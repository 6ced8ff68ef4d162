import type { ExecutionContext } from 'ava';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { bundled } from './built.ts';
import { checkAnswersOf } from './documented.ts';
import { freePort } from './free-port.ts';
import type { Service } from './service.ts';

/** How a replica is started. */
export interface ReplicaOptions {
  environment: Record<string, string>;
  simulatorUrl: string;
  port: number;
  /** The checkpoint at which it kills itself. */
  crashAt?: string;
  /** Requests die at the checkpoint in their header `x-dies-at`, so that many deaths need only one process, which is then killed. */
  requestsDie?: boolean;
  sweepEveryMs?: number;
  /** Milliseconds that its clock is ahead, as a test advances a service's clock. */
  aheadMs?: number;
  /** Milliseconds that its machine's clock is ahead; `jump` advances that one. */
  machineAheadMs?: number;
  /** Runs due jobs with its own scheduler, as the service does. */
  jobs?: boolean;
  /** Runs only the due jobs of bills. */
  bills?: boolean;
  /** Uses the service's own limits for the database instead of the tests' patient ones. */
  ownTimeouts?: boolean;
  /** How far each `jump` advances its clock. */
  jumpSeconds?: number;
  /** Prints nothing when it cannot start. */
  quiet?: boolean;
}

/** A replica in its own process. */
export interface Replica {
  url: string;
  /** Resolves with the signal or exit code when it ends. */
  ended: Promise<string | number>;
  kill(signal?: NodeJS.Signals): Promise<string | number>;
  /** Advances its clock. */
  jump(): void;
}

const MAIN = fileURLToPath(new URL('./replica-main.ts', import.meta.url));
const DYING_REQUESTS = new URL('./dying-requests.ts', import.meta.url).href;

/** Starts a replica and waits until it is ready; it is killed when the test ends. */
export async function startReplica(t: Pick<ExecutionContext, 'teardown'>, options: ReplicaOptions): Promise<Replica> {
  const url = `http://127.0.0.1:${options.port}`;
  checkAnswersOf(url);
  const child = spawn(process.execPath, await programFor(options), {
    env: {
      ...process.env,
      PAY_SERVER_PUBLIC_URL: url,
      ...options.environment,
      PAY_TEST_REPLICA: JSON.stringify(options),
    },
    stdio: ['ignore', 'pipe', options.quiet ? 'ignore' : 'inherit'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => (signal ?? code) as string | number);
  await ready(child, ended, options);
  return {
    url,
    ended,
    kill: (signal = 'SIGKILL') => {
      child.kill(signal);
      return ended;
    },
    jump: () => void child.kill('SIGUSR2'),
  };
}

/** Starts a replica of a service in which each request may stop at its own checkpoint; the service runs the jobs. */
export async function startVictim(t: Pick<ExecutionContext, 'teardown'>, service: Service): Promise<Replica> {
  return startReplica(t, {
    environment: { ...service.environment, PAY_SERVER_PUBLIC_URL: service.url },
    simulatorUrl: service.simulator.url,
    port: await freePort(),
    requestsDie: true,
    sweepEveryMs: 3_600_000,
    aheadMs: service.clock.now().getTime() - Date.now(),
  });
}

/** A run starts many replicas from a bundle; `dying-requests.ts` hooks the modules and needs the sources. */
async function programFor({ requestsDie }: ReplicaOptions): Promise<string[]> {
  if (requestsDie) return ['--import', DYING_REQUESTS, MAIN];
  return [await bundled(MAIN)];
}

/** The first of two workers may reach the checkpoint where it kills itself before the second is ready. */
async function ready(child: ChildProcess, ended: Promise<string | number>, { crashAt }: ReplicaOptions): Promise<void> {
  const spoke = once(child.stdout!, 'data');
  const first = await Promise.race([
    spoke,
    ended.then((how) => (crashAt && how === 'SIGKILL' ? how : new Error(`the replica ended: ${how}`))),
  ]);
  if (first instanceof Error) throw first;
}
