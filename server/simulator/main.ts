import { once } from 'node:events';
import { startSimulator, type SimulatorOptions } from './simulator.ts';

/** Runs the simulator as a process of its own: prints one JSON line with its address, ends at SIGTERM or SIGINT. */
export async function runSimulator(options: SimulatorOptions, print: (line: string) => void): Promise<void> {
  const simulator = await startSimulator(options);
  print(JSON.stringify({ simulator: simulator.url }));
  await Promise.race([once(process, 'SIGTERM'), once(process, 'SIGINT')]);
  await simulator.close();
}
