import { once } from 'node:events';
import { startSimulator, type SimulatorOptions } from './simulator.ts';

/** Runs the simulator as a process of its own: tells its address once it listens, ends at SIGTERM or SIGINT. */
export async function runSimulator(options: SimulatorOptions, tellReady: (url: string) => void): Promise<void> {
  const simulator = await startSimulator(options);
  tellReady(simulator.url);
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await simulator.close();
}
