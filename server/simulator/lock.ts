import { LocalError } from '../errors.ts';
import { lockFolder, nameHolder } from '../folder-lock.ts';

/** Takes a folder for this process; the returned function gives it back. Throws when a living process has it. */
export function takeSimulatorFolder(dir: string): () => void {
  return lockFolder(dir, {
    key: 'Simulator.Dir',
    refuse: (holder) =>
      new LocalError(
        'simulator_in_use',
        409,
        `The folder ${dir} of the simulator is in use by ${nameHolder(holder)}.`,
        { hint: 'Stop that one, or set Simulator.Url to use it.' },
      ),
  });
}
