import { padTo, wrap } from '../../width.ts';

const KEYS: readonly [string, string][] = [
  ['Tab, ← →', 'another section; Shift-Tab the one before'],
  ['↑ ↓, j k', 'another row; also PgUp, PgDn, Home, End'],
  ['Enter', 'explain the order of the row'],
  ['/', 'show only rows with a text; Esc shows all of them again'],
  ['Ctrl-Z', 'stop; fg goes on'],
  ['q, Ctrl-C', 'quit'],
];

const SECTIONS: readonly [string, string][] = [
  ['Orders', 'open now, and what was paid, closed, failed and refunded in the last hour; + means that there are more'],
  ['Channels', 'the last minute: calls, how long they took, and after how many nobody knows what the channel did'],
  ['Due work', 'what is to be done, how much of it is running, and since when the oldest waits for somebody'],
  ['Webhooks', 'deliveries that wait, by application; failing ones have failed at least once'],
  ['Exceptions', 'the newest that are open; payctl exception resolve ends them'],
  ['Replicas', 'processes of the service: how late their event loop is, processors and memory'],
  ['Events', 'the newest of the event log. Every event is counted; when many come at once, some are not shown'],
];

const PIPE = 'In a pipe, or with -o jsonl, payctl top prints one JSON object a second.';
const TERM = 12;

/** What `?` shows, on a screen of a width. */
export function helpLines(columns: number): string[] {
  const list = (terms: readonly [string, string][]): string[] =>
    terms.flatMap(([term, words]) =>
      wrap(words, Math.max(20, columns - TERM - 2)).map((line, at) => `  ${padTo(at === 0 ? term : '', TERM)}${line}`),
    );
  return ['Keys', ...list(KEYS), '', 'Sections', ...list(SECTIONS), '', ...wrap(PIPE, columns)];
}
