import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../config/config.ts';
import { logsText } from '../http/logger.ts';
import type { Ending, Life, SupervisorWord, StartError, WorkerWord } from './life.ts';

/** Whether a supervisor started this process. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Serves as one of several workers; sends the error of a failed start to the supervisor. */
export async function work(config: Config, serve: (life: Life) => Promise<void>): Promise<void> {
  let isReady = false;
  let sendFigures = async (): Promise<void> => {};
  const life: Life = {
    name: cluster.worker!.id,
    ends: untilEnding(),
    // The supervisor runs the simulator and serves the metrics, so a worker does neither.
    openSimulator: async () => undefined,
    async openMetrics(registry) {
      sendFigures = async () => {
        const figures = await registry.getMetricsAsJSON();
        await new Promise<void>((resolve) => send({ pay: 'figures', figures }, resolve));
      };
      process.on('message', ({ pay }: Partial<SupervisorWord>) => {
        if (pay === 'figures') void sendFigures();
      });
      return { close: async () => {} };
    },
    // At a terminal, the supervisor prints the facts once for all workers, so a worker does not log them.
    tells: logsText(config) && process.stdout.isTTY === true,
    ready(facts) {
      isReady = true;
      send({ pay: 'ready', facts });
    },
  };
  try {
    await serve(life);
  } catch (error) {
    if (isReady) throw error;
    await new Promise<void>((resolve) => send({ pay: 'failed', error: errorMembers(error) }, resolve));
    process.exit(1);
  }
  // The metrics are sent once more, so that the last counts are not lost.
  await sendFigures();
  // An open IPC connection to the supervisor would keep this process alive.
  if (process.connected) process.disconnect();
}

/**
 * Resolves when the worker must end: on a message or signal, or when the supervisor has ended. Without a supervisor, a
 * crashed worker would not be replaced.
 */
async function untilEnding(): Promise<Ending> {
  const left = Promise.withResolvers<Ending>();
  process.on('message', (word: Partial<SupervisorWord>) => {
    if (word.pay === 'leave') left.resolve('leave');
  });
  // Ignored, because the supervisor handles SIGHUP.
  process.on('SIGHUP', () => {});
  return Promise.race([
    left.promise,
    ...[once(process, 'SIGTERM'), once(process, 'SIGINT'), once(process, 'disconnect')].map((received) =>
      received.then((): Ending => 'stop'),
    ),
  ]);
}

function send(word: WorkerWord, done: () => void = () => {}): void {
  if (process.connected) process.send!(word, undefined, {}, () => done());
  else done();
}

function errorMembers(error: unknown): StartError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, code, status, options } = error as Error & Partial<StartError>;
  const { hint } = options ?? {};
  return { name, message, code, status, ...(hint !== undefined && { options: { hint } }) };
}
