import cluster from 'node:cluster';
import { once } from 'node:events';
import { AggregatorRegistry } from 'prom-client';
import type { Ending, Life, SupervisorWord, ToldError, WorkerWord } from './life.ts';

/** Whether a supervisor started this process. */
export function isWorker(): boolean {
  return cluster.isWorker;
}

/** Serves as one of several; what keeps it from starting is told by the supervisor, once. */
export async function work(serve: (life: Life) => Promise<void>): Promise<void> {
  let isReady = false;
  const life: Life = {
    name: cluster.worker!.id,
    ends: untilToldToEnd(),
    // Both are the supervisor's.
    openSimulator: async () => undefined,
    async openMetrics(registry) {
      AggregatorRegistry.setRegistries(registry);
      // Made for its listener: it answers when the supervisor asks for the figures.
      void new AggregatorRegistry();
      return { close: async () => {} };
    },
    ready() {
      isReady = true;
      tell({ pay: 'ready' });
    },
  };
  try {
    await serve(life);
  } catch (error) {
    if (isReady) throw error;
    await new Promise<void>((resolve) => tell({ pay: 'failed', error: told(error) }, resolve));
    process.exit(1);
  }
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
