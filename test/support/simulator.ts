import type { ExecutionContext } from 'ava';
import { cpSync } from 'node:fs';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from '../../server/simulator/simulator.ts';
import { temporaryFolder } from './folder.ts';
import { keptFolder, withNewKeys } from './kept.ts';

const listen = { host: '127.0.0.1', port: 0 };

/** Starts a simulator for one test with the run's shared keys; `dir` is its folder. */
export async function ownSimulator(
  t: Pick<ExecutionContext, 'teardown'>,
  options: Omit<SimulatorOptions, 'dir' | 'listen'> = {},
): Promise<RunningSimulator & { dir: string }> {
  const dir = temporaryFolder(t);
  await giveKeys(dir);
  const simulator = await startSimulator({ ...options, dir, listen });
  t.teardown(() => simulator.close());
  return { ...simulator, dir };
}

/** A folder with the files of a simulator's first start, which take most of a second of a processor to create. */
export async function giveKeys(dir: string): Promise<void> {
  const made = await keptFolder('simulator', async (folder) => {
    await withNewKeys(async () => (await startSimulator({ dir: folder, listen })).close());
  });
  cpSync(made, dir, { recursive: true });
}
