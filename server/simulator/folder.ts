/** The folder of a simulator: one process has it, files are written privately, and the journal keeps whole lines. */
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

/** Writes a whole file so that a reader sees the old or the new text, readable by its owner only. */
export function writePrivately(file: string, text: string): void {
  const draft = `${file}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  renameSync(draft, file);
}

/** An append-only file of JSON lines. */
interface Journal {
  /** Writes one line before it returns: the line survives the death of the process. */
  append(line: object): void;
  close(): void;
}

/** Opens a journal and calls `replay` with every whole line that was in it. */
export type OpenJournal = (replay: (line: Record<string, unknown>) => void) => Journal;

/** Opens a journal, calls `replay` with every whole line in it and cuts off a line that a crash tore. */
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
