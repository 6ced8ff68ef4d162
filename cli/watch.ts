import type { Command } from 'commander';
import { setTimeout as wait } from 'node:timers/promises';
import type { Context } from './context.ts';
import { Cancelled, UsageError, ignoreUnreachable } from './errors.ts';
import { integer, seconds } from './options.ts';
import { createPrint, drawTable } from './output.ts';
import { ownSequence } from './terminal-text.ts';
import type { Sink } from './terminal.ts';
import { type Row, type View, plain, valueOf } from './values.ts';

/** Lines at the bottom of the output that are redrawn in place. */
interface Region {
  /** Replaces the lines. Lines that do not fit on the screen are cut off. */
  show(lines: readonly string[]): Promise<void>;
}

// Turns off line wrap, so that each line takes one row.
const ONE_ROW = ownSequence('[?7l');
const RUNNING_OVER = ownSequence('[?7h');
// Erases the rest of the line. It is written before the new text of the line: after a text of full width, it would
// erase the last character.
const TO_END_OF_LINE = ownSequence('[K');
const TO_END_OF_SCREEN = ownSequence('[J');

function createRegion(out: Sink): Region {
  let shown: readonly string[] = [];
  let width = out.columns;
  return {
    async show(lines) {
      const fitting = lines.slice(0, Math.max(1, out.rows - 1));
      // After a resize the terminal wraps the old lines differently, so the old lines stay on the screen and are not
      // replaced.
      if (out.columns !== width) shown = [];
      width = out.columns;
      await out.write(redrawn(shown, fitting));
      shown = fitting;
    },
  };
}

/** The output that moves the cursor up, replaces the old lines, and leaves the cursor below the new lines. */
export function redrawn(before: readonly string[], after: readonly string[]): string {
  const up = before.length > 0 ? ownSequence(`[${before.length}A`) : '';
  const rows = after.map((line, at) => (line === before[at] ? '\n' : `${TO_END_OF_LINE}${line}\n`));
  const rest = before.length > after.length ? TO_END_OF_SCREEN : '';
  return `${ONE_ROW}${up}${rows.join('')}${rest}${RUNNING_OVER}`;
}

/** The values of the flags --watch, --interval (seconds) and --count (number of refreshes) of a list command. */
export interface WatchFlags {
  watch?: boolean;
  interval?: number;
  count?: number;
}

/** Adds --watch, --interval and --count. */
export function watchFlags(command: Command): Command {
  return command
    .option('--watch', 'refresh repeatedly: redraw on a terminal, print new or changed rows in a pipe')
    .option('--interval <seconds>', 'with --watch: seconds between two refreshes', seconds, 2)
    .option('--count <n>', 'with --watch: stop after this many refreshes', integer(1, 1_000_000));
}

interface Watched {
  view: View;
  /** Reads the current rows, newest first. `isKnown` tells whether an earlier poll returned a row. */
  poll(isKnown: (row: Row) => boolean): Promise<readonly Row[]>;
  /** The part of a row that is compared with the earlier poll; by default the whole row. */
  comparedPart?(row: Row): unknown;
}

const MAX_REMEMBERED_ROWS = 20_000;

/** Whether the list is redrawn in place instead of printed line by line. */
export function isDrawn({ print, terminal, flags }: Context): boolean {
  return print.format === 'table' && terminal.out.isTerminal && !flags.quiet;
}

/** Polls and prints the rows until the operator stops payctl, the reader closes the pipe, or `count` polls are done. */
export async function watch(context: Context, flags: WatchFlags, watched: Watched): Promise<void> {
  const { terminal } = context;
  const show = isDrawn(context) ? drawer(context, watched.view) : printer(context, watched);
  const known = new Map<string, string>();
  const idOf = (row: Row): string => plain(valueOf(row, watched.view.id));
  let hasPolled = false;
  for (let left = flags.count ?? Number.POSITIVE_INFINITY; ; left -= 1) {
    const polling = watched.poll((row) => known.has(idOf(row)));
    // At the first poll an unreachable server is an error. Later polls ignore an unreachable server.
    const rows = await (hasPolled ? polling.catch(ignoreUnreachable) : polling);
    hasPolled = true;
    await show(rows, known);
    for (const row of rows ?? []) remember(known, idOf(row), comparedTextOf(watched, row));
    if (left <= 1 || terminal.out.closed) return;
    await wait((flags.interval ?? 2) * 1000, undefined, { signal: terminal.signal }).catch(() => {
      throw new Cancelled('Stopped.');
    });
  }
}

type Show = (rows: readonly Row[] | undefined, known: ReadonlyMap<string, string>) => Promise<void>;

function comparedTextOf({ comparedPart }: Watched, row: Row): string {
  return JSON.stringify(comparedPart ? comparedPart(row) : row);
}

function remember(known: Map<string, string>, id: string, comparedPart: string): void {
  known.delete(id);
  known.set(id, comparedPart);
  for (const oldest of known.keys()) {
    if (known.size <= MAX_REMEMBERED_ROWS) return;
    known.delete(oldest);
  }
}

function drawer({ terminal, print, flags }: Context, view: View): Show {
  const { out } = terminal;
  const region = createRegion(out);
  const columns = print.fields
    ? print.fields.map((field) => view.columns.find((one) => one.field === field) ?? { field })
    : view.columns;
  let last: readonly Row[] = [];
  return async (rows) => {
    last = rows ?? last;
    const space = { columns: out.columns, style: out.style, now: terminal.now(), headers: flags.headers !== false };
    const lines = drawTable(last, columns, space).text.split('\n').slice(0, -1);
    const at = terminal.now().toTimeString().slice(0, 8);
    const state = rows
      ? out.style('dim', `${at}  Ctrl-C to stop`)
      : out.style('red', `${at}  the service cannot be reached`);
    await region.show([...lines.slice(0, Math.max(1, out.rows - 2)), state]);
  };
}

function printer(context: Context, watched: Watched): Show {
  const { terminal, flags, print } = context;
  if (print.format === 'env') throw new UsageError('-o env supports a single object, not a list.', 'use -o jsonl');
  // A watched list has no end, so JSON is printed as one document per line.
  const lines = print.format === 'json' ? createPrint(terminal, { ...flags, output: 'jsonl' }) : print;
  const { view } = watched;
  let printed = 0;
  let isAway = false;
  return async (rows, known) => {
    if (!rows !== isAway)
      await print.note(rows ? 'The service can be reached again.' : 'The service cannot be reached; trying again.');
    isAway = !rows;
    const changed = (rows ?? []).filter(
      (row) => known.get(plain(valueOf(row, view.id))) !== comparedTextOf(watched, row),
    );
    if (changed.length > 0) await lines.list(changed.toReversed(), view, { continued: printed > 0 });
    printed += changed.length;
  };
}
