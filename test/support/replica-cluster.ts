import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';

/**
 * Makes several processes of a replica that behave as the one that was asked for: ready when all are, dead when one of them died,
 * with its signal. Says false where there is nothing to supervise, because this is one of them or there is to be only one.
 */
export async function superviseReplica(workers: number): Promise<boolean> {
  if (cluster.isWorker) {
    // Whoever kills the supervisor means the replica.
    process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
    return false;
  }
  if (workers <= 1) return false;
  cluster.setupPrimary({ silent: true });
  const all = Array.from({ length: workers }, () => cluster.fork());
  for (const signal of ['SIGUSR2', 'SIGTERM'] as const)
    process.on(signal, () => all.map((worker) => worker.process.kill(signal)));
  for (const worker of all) worker.process.stderr?.pipe(process.stderr);
  const ends = all.map(endOf);
  const isReady = await Promise.race([
    Promise.all(all.map(readyOf)).then(() => true),
    ...ends.map((end) => end.then(() => false)),
  ]);
  if (isReady) process.stdout.write('ready\n');
  void Promise.all(ends).then(() => process.exit(0));
  return true;
}

async function readyOf(worker: Worker): Promise<void> {
  await once(worker.process.stdout!, 'data');
}

async function endOf(worker: Worker): Promise<void> {
  const [code, signal] = (await once(worker, 'exit')) as [number | null, NodeJS.Signals | null];
  if (signal !== null) process.kill(process.pid, signal);
  else if (code !== 0) process.exit(code ?? 1);
}
