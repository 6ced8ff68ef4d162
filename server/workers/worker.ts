import cluster from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../config/config.ts';
import { logsText } from '../http/logger.ts';
import type { Ending, Life, SupervisorWord, ToldError, WorkerWord } from './life.ts';

/** Whether a supervisor started this process. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Serves as one of several; what keeps it from starting is told by the supervisor, once. */
export async function work(config: Config, serve: (life: Life) => Promise<void>): Promise<void> {
  let isReady = false;
  let tellFigures = async (): Promise<void> => {};
  const life: Life = {
    name: cluster.worker!.id,
    ends: untilToldToEnd(),
    // Both are the supervisor's.
    openSimulator: async () => undefined,
    async openMetrics(registry) {
      tellFigures = async () => {
        const figures = await registry.getMetricsAsJSON();
        await new Promise<void>((resolve) => tell({ pay: 'figures', figures }, resolve));
      };
      process.on('message', ({ pay }: Partial<SupervisorWord>) => {
        if (pay === 'figures') void tellFigures();
      });
      return { close: async () => {} };
    },
    // The supervisor tells people, once for all.
    tells: logsText(config) && process.stdout.isTTY === true,
    ready(facts) {
      isReady = true;
      tell({ pay: 'ready', facts });
    },
  };
  try {
    await serve(life);
  } catch (error) {
    if (isReady) throw error;
    await new Promise<void>((resolve) => tell({ pay: 'failed', error: told(error) }, resolve));
    process.exit(1);
  }
  // What it counted last counts.
  await tellFigures();
  // Node keeps a worker alive for its supervisor.
  if (process.connected) process.disconnect();
}

/** A supervisor that is gone can start nobody in its place: the workers end as if it had told them to. */
async function untilToldToEnd(): Promise<Ending> {
  const left = Promise.withResolvers<Ending>();
  process.on('message', (word: Partial<SupervisorWord>) => {
    if (word.pay === 'leave') left.resolve('leave');
  });
  // The supervisor says what SIGHUP means.
  process.on('SIGHUP', () => {});
  return Promise.race([
    left.promise,
    ...[once(process, 'SIGTERM'), once(process, 'SIGINT'), once(process, 'disconnect')].map((told) =>
      told.then((): Ending => 'stop'),
    ),
  ]);
}

function tell(word: WorkerWord, done: () => void = () => {}): void {
  if (process.connected) process.send!(word, undefined, {}, () => done());
  else done();
}

function told(error: unknown): ToldError {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, code, status, options } = error as Error & Partial<ToldError>;
  const { hint } = options ?? {};
  return { name, message, code, status, ...(hint !== undefined && { options: { hint } }) };
}
