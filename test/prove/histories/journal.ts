import { appendFileSync, writeFileSync } from 'node:fs';
import type { Actor, Facts, HistoryEvent } from './event.ts';
import { writeEdn } from './edn.ts';

/** The writer of a history: each event is written at once, so that an aborted recording keeps its events. */
export interface Journal {
  /** The number of completed operations. */
  readonly answered: number;
  note(type: HistoryEvent['type'], process: Actor, f: string, value: Facts): HistoryEvent;
  /** A new client number: a client whose operation ended unknown never acts again. */
  newProcess(): number;
  /** The channel's clock begins to advance by this much (ms). */
  jump(byMs: number): void;
  /** Converts a time of the channel's clock (ms) into the history's time; during an advance, the time at which it began. */
  timeOf(channelMs: number): number;
  /** Writes the same history for Elle. */
  writeEdn(file: string): void;
}

/** Begins a history; `file` is overwritten. */
export function openJournal(file: string): Journal {
  const events: HistoryEvent[] = [];
  const { ns: began, ms: beganMs } = bothClocks();
  const jumps: { at: number; byMs: number }[] = [];
  let processes = 0;
  let answered = 0;
  writeFileSync(file, '');
  return {
    get answered() {
      return answered;
    },
    note(type, actor, f, value) {
      const time = Number(process.hrtime.bigint() - began);
      const event = { index: events.length, type, process: actor, f, value, time };
      events.push(event);
      if (type === 'ok') answered += 1;
      appendFileSync(file, `${JSON.stringify(event)}\n`);
      return event;
    },
    newProcess: () => processes++,
    jump: (byMs) => void jumps.push({ at: Date.now(), byMs }),
    timeOf(channelMs) {
      // The clock advances in steps while due work runs, so its offset is unknown during an advance.
      const wallMs = jumps.reduce((ms, { at, byMs }) => (ms >= at ? Math.max(at, ms - byMs) : ms), channelMs);
      return (wallMs - beganMs) * 1e6;
    },
    writeEdn: (path) => writeFileSync(path, events.map((event) => `${writeEdn(event)}\n`).join('')),
  };
}

/** Reads both clocks at one moment; a process that was suspended between the reads repeats them. */
function bothClocks(): { ns: bigint; ms: number } {
  for (;;) {
    const ns = process.hrtime.bigint();
    const ms = Date.now();
    if (process.hrtime.bigint() - ns < 500_000n) return { ns, ms };
  }
}
