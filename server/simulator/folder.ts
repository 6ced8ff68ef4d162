/** The data folder of a simulator. Only one process at a time uses it. Its files are readable only by their owner. */
import {
  closeSync,
  existsSync,
  ftruncateSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { LocalError } from '../errors.ts';
import { lockFolder, nameHolder } from '../folder-lock.ts';

/** Writes a file atomically, readable only by its owner. */
export function writePrivately(file: string, text: string): void {
  const draft = `${file}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}

/** An append-only file of JSON lines. */
interface Journal {
  /** Writes one line before it returns, so that the line survives a crash of the process. */
  append(line: object): void;
  close(): void;
}

export type OpenJournal = (replay: (line: Record<string, unknown>) => void) => Journal;

/** Opens a journal, calls `replay` for every complete line, and cuts off a line that a crash left incomplete. */
export function openJournal(file: string, replay: (line: Record<string, unknown>) => void): Journal {
  const bytes = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const whole = bytes.lastIndexOf(0x0a) + 1;
  for (const line of bytes.subarray(0, whole).toString('utf8').split('\n')) {
    if (line !== '') replay(JSON.parse(line) as Record<string, unknown>);
  }
  const handle = openSync(file, 'a', 0o600);
  ftruncateSync(handle, whole);
  return {
    append(line) {
      const text = Buffer.from(`${JSON.stringify(line)}\n`, 'utf8');
      for (let written = 0; written < text.length;) written += writeSync(handle, text, written);
    },
    close: () => closeSync(handle),
  };
}

/**
 * Locks a folder for this process; the returned function unlocks it. Throws if another running process has locked it.
 */
export function takeSimulatorFolder(dir: string): () => void {
  return lockFolder(dir, {
    key: 'Simulator.Dir',
    refuse: (holder) =>
      new LocalError(
        'simulator_in_use',
        409,
        `The folder ${dir} of the simulator is in use by ${nameHolder(holder)}.`,
        { hint: 'Stop that process, or set Simulator.Url to the URL of its simulator.' },
      ),
  });
}
