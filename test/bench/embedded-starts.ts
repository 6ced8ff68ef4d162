import { once } from 'node:events';
import { join } from 'node:path';
import { type Line, median } from './figures.ts';
import { freePort, payctl, type Processes, untilHealthy } from './processes.ts';

const MOST_MS = 2_500;

/** Transactions of 20 events that are killed before the start: some 50 MB of log without a checkpoint. */
const TRANSACTIONS = 800;

/** Measures a start on the embedded database after a `kill -9` during writes, beside one on an empty folder. */
export async function measureEmbeddedStarts(processes: Processes, rounds: number): Promise<Line> {
  const empty: number[] = [];
  const killed: number[] = [];
  // The first round fills the compile cache.
  for (let round = 0; round <= rounds; round++) {
    const folder = join(processes.folder, `embedded-${round}`);
    const first = await startAndKill(processes, folder);
    await writeAndDie(processes, folder);
    const second = await startAndKill(processes, folder);
    if (round === 0) continue;
    empty.push(first);
    killed.push(second);
  }
  const ms = median(killed);
  return {
    what: 'ready on the embedded database after kill -9 among writes',
    ours: `${Math.round(ms)} ms`,
    baseline: `${Math.round(median(empty))} ms (empty folder)`,
    result: `${Math.round(ms)} ms`,
    aim: `≤ ${MOST_MS} ms`,
    reached: ms <= MOST_MS,
  };
}

async function writeAndDie(processes: Processes, folder: string): Promise<void> {
  const child = processes.begin([join(import.meta.dirname, 'embedded-fill.ts'), folder, String(TRANSACTIONS)]);
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null];
  if (signal !== 'SIGKILL') throw new Error('the embedded database could not be written to');
}

async function startAndKill(processes: Processes, folder: string): Promise<number> {
  const [port, metrics] = [await freePort(), await freePort()];
  const started = performance.now();
  const child = processes.begin([payctl, 'server', 'start'], {
    PAY_DATABASE_URL: `pglite://${folder}`,
    PAY_SERVER_LISTEN: `127.0.0.1:${port}`,
    PAY_METRICS_LISTEN: `127.0.0.1:${metrics}`,
    PAY_LOG_LEVEL: 'warn',
  });
  child.stdout?.resume();
  await untilHealthy(`http://127.0.0.1:${port}`, child);
  const ms = performance.now() - started;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
  return ms;
}
