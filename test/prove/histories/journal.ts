import { appendFileSync, writeFileSync } from 'node:fs';
import type { Actor, Facts, HistoryEvent } from './event.ts';
import { writeEdn } from './edn.ts';

/** Where a history is written: each event at once, so that a recording that breaks off leaves what it saw. */
export interface Journal {
  /** How many operations were done. */
  readonly answered: number;
  note(type: HistoryEvent['type'], process: Actor, f: string, value: Facts): HistoryEvent;
  /** A client whose number nobody had: one whose operation ended in doubt never acts again. */
  newProcess(): number;
  /** The clock of the channel begins to go ahead by so much (ms). */
  jump(byMs: number): void;
  /** The history's own time of a moment by the clock of the channel (ms), of one while that clock goes ahead, when it began to. */
  timeOf(channelMs: number): number;
  /** Writes the same history for Elle. */
  writeEdn(file: string): void;
}

/** Begins a history; `file` is made anew. */
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
      // The clock goes ahead step by step, and what is due happens in between: of that nobody knows how far ahead it was.
      const wallMs = jumps.reduce((ms, { at, byMs }) => (ms >= at ? Math.max(at, ms - byMs) : ms), channelMs);
      return (wallMs - beganMs) * 1e6;
    },
    writeEdn: (path) => writeFileSync(path, events.map((event) => `${writeEdn(event)}\n`).join('')),
  };
}

/** Both clocks at one moment; a process that was set aside between them reads them again. */
function bothClocks(): { ns: bigint; ms: number } {
  for (;;) {
    const ns = process.hrtime.bigint();
    const ms = Date.now();
    if (process.hrtime.bigint() - ns < 500_000n) return { ns, ms };
  }
}
