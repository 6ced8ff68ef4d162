import type { ExecutionContext } from 'ava';
import { cpSync } from 'node:fs';
import { type RunningSimulator, type SimulatorOptions, startSimulator } from '../../server/simulator/simulator.ts';
import { temporaryFolder } from './folder.ts';
import { keptFolder, withNewKeys } from './kept.ts';

const listen = { host: '127.0.0.1', port: 0 };

/** A simulator of a test's own, with the keys that all of a run have; `dir` is its folder. */
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

/** What a simulator makes at its first start, most of a second of a processor's time, is there already in this folder. */
export async function giveKeys(dir: string): Promise<void> {
  const made = await keptFolder('simulator', async (folder) => {
    await withNewKeys(async () => (await startSimulator({ dir: folder, listen })).close());
  });
  cpSync(made, dir, { recursive: true });
}
