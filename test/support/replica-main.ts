import { pino } from 'pino';
import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Config } from '../../config/config.ts';
import { loadConfig } from '../../config/load.ts';
import { buildApp } from '../../server/app.ts';
import { listen } from '../../server/http/server.ts';
import { PATIENT, PATIENT_CALLERS } from './database.ts';
import type { ReplicaOptions } from './replica.ts';

/**
 * Starts several processes that behave as one replica: ready when all are ready, and dead when one of them died, with its signal.
 * Returns false if there is nothing to supervise, because this is one of them or only one is wanted.
 */
async function superviseReplica(workers: number): Promise<boolean> {
  if (cluster.isWorker) {
    // A kill of the supervisor is meant for the replica.
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

/** A replica in its own process, so that it can be killed: its options are JSON in PAY_TEST_REPLICA; PAY_TEST_WORKERS starts several workers. */
const orders = JSON.parse(process.env.PAY_TEST_REPLICA ?? '{}') as ReplicaOptions;
if (!(await superviseReplica(Number(process.env['PAY_TEST_WORKERS'] ?? 1)))) await serve();

async function serve(): Promise<void> {
  const { simulatorUrl, crashAt, requestsDie, ownTimeouts = false, jumpSeconds = 0, machineAheadMs } = orders;
  let { aheadMs = 0 } = orders;
  if (machineAheadMs !== undefined) {
    aheadMs = machineAheadMs;
    shiftDate(() => aheadMs);
  }
  process.on('SIGUSR2', () => void (aheadMs += jumpSeconds * 1000));
  const dying = requestsDie ? await import('./dying-requests.ts') : undefined;
  const config = loadConfig({ env: process.env, cwd: process.cwd() }) as Config;
  const app = await buildApp(config, {
    simulatorUrl,
    ...(!ownTimeouts && { databaseTimeouts: PATIENT }),
    patience: PATIENT_CALLERS,
    ...(machineAheadMs === undefined && { now: () => new Date(Date.now() + aheadMs) }),
    logger: pino({ level: process.env.PAY_TEST_LOG ?? 'silent' }),
    checkpoint: (name) => {
      if (name === crashAt) process.kill(process.pid, 'SIGKILL');
      return dying?.dieAt(name);
    },
  });
  dying?.findDoomed(app.koa);
  const server = await listen(app.koa, { ...config.server, host: '127.0.0.1', port: orders.port });
  const work = () => {
    if (orders.bills) return void app.bills.sweep.once().catch(() => {});
    void app.sweep.once().catch(() => {});
    void app.deliveries.once().catch(() => {});
  };
  if (orders.jobs) app.startJobs();
  const timer = orders.jobs ? undefined : setInterval(work, orders.sweepEveryMs ?? 500);
  process.stdout.write('ready\n');

  process.once('SIGTERM', async () => {
    clearInterval(timer);
    await server.close();
    await app.close();
    // One of several workers would otherwise outlive its supervisor.
    if (process.connected) process.exit(0);
  });
}

/** Gives this process the clock of a machine that is ahead. */
function shiftDate(ahead: () => number): void {
  const Real = Date;
  class Shifted extends Real {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [Shifted.now()] : given) as [number]));
    }
    static override now(): number {
      return Real.now() + ahead();
    }
  }
  globalThis.Date = Shifted as DateConstructor;
}
