import { UsageError } from './errors.ts';
import { asCalled } from './hints.ts';
import { ENGLISH, type Language, type Speech, type Text, say, speechOf, textIn } from './language.ts';
import { type Style, cutTo, isPainted, padTo, wrap } from './terminal-text.ts';
import type { Terminal } from './terminal.ts';
import {
  type Column,
  type Row,
  type View,
  cellOf,
  human,
  lookOf,
  oneLine,
  plain,
  valueOf,
  visible,
  widest,
} from './values.ts';

/** `columns` is the width of the terminal. Times such as `5m ago` are computed from `now`. */
interface TableSpace {
  columns: number;
  style: Style;
  now: Date;
  headers: boolean;
  speech?: Speech;
}

/** `hidden` are the titles of columns that did not fit. */
interface DrawnTable {
  text: string;
  hidden: string[];
}

const GAP = 2;
const LEAST = 6;

interface Laid {
  column: Column;
  title: string;
  cells: string[];
  width: number;
}

/** Truncates texts and then drops columns from the right until the rows fit. Ids are never truncated. */
export function drawTable(rows: readonly Row[], columns: readonly Column[], space: TableSpace): DrawnTable {
  const laid = columns.map((column) => lay(rows, column, space));
  const { kept, hidden } = fit(laid, space.columns);
  const head = space.headers ? [line(kept, (part) => space.style('bold', fill(part, part.title)))] : [];
  const body = rows.map((row, index) => line(kept, (part) => cell(part, row, index, space.style)));
  return { text: [...head, ...body].map((text) => `${text}\n`).join(''), hidden: hidden.map((part) => part.title) };
}

function lay(rows: readonly Row[], column: Column, space: TableSpace): Laid {
  const title = titleOf(column, space.speech);
  const cells = rows.map((row) => human(row, column, space.now, space.speech));
  return {
    column,
    title,
    cells,
    width: Math.max(column.width ?? 0, widest([...(space.headers ? [title] : []), ...cells])),
  };
}

function fit(laid: readonly Laid[], columns: number): { kept: Laid[]; hidden: Laid[] } {
  const kept = [...laid];
  const hidden: Laid[] = [];
  while (kept.length > 1 && total(kept.map(least)) > columns) hidden.unshift(...kept.splice(-1));
  let surplus = total(kept.map((part) => part.width)) - columns;
  while (surplus > 0) {
    const widestPart = kept.filter((part) => part.width > least(part)).toSorted((a, b) => b.width - a.width)[0];
    if (!widestPart) break;
    widestPart.width -= 1;
    surplus -= 1;
  }
  return { kept, hidden };
}

function least(part: Laid): number {
  const cuttable = part.column.kind === undefined || part.column.kind === 'text';
  return cuttable ? Math.min(part.width, LEAST) : part.width;
}

function total(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP, -GAP);
}

function line(parts: readonly Laid[], draw: (part: Laid) => string): string {
  return parts.map(draw).join(' '.repeat(GAP)).trimEnd();
}

function cell(part: Laid, row: Row, index: number, style: Style): string {
  const text = part.cells[index] ?? '';
  const drawn = fill(part, text);
  const look = part.column.kind === 'status' ? lookOf(plain(cellOf(row, part.column))) : part.column.look?.(row);
  return look ? style(look, drawn) : drawn;
}

function fill(part: Laid, text: string): string {
  return padTo(
    cutTo(text, part.width),
    part.width,
    part.column.kind === 'money' || part.column.kind === 'minor' ? 'left' : 'right',
  );
}

/** The heading of a column: its title, or its field name in words (`createdAt` → `CREATED`). */
function titleOf(column: Column, speech: Speech = ENGLISH): string {
  const known = speech.label(column.title ?? '') ?? speech.label(column.field);
  if (known !== undefined) return known;
  if (column.title !== undefined) return column.title;
  const words = column.field.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[._]/g, ' ');
  return words.replace(/ At$/, '').toUpperCase();
}

/** Draws one object as `label  value` lines: first the fields in `columns`, then the remaining fields. */
export function drawCard(
  row: Row,
  columns: readonly Column[],
  space: TableSpace,
  more: readonly Column[] = [],
): string {
  const shown = new Set(columns.map((column) => column.field));
  const rest = Object.keys(row).filter((field) => !shown.has(field));
  const known = (field: string): Column => more.find((column) => column.field === field) ?? { field };
  const all = [...columns, ...rest.map((field): Column => ({ kind: guess(field, row[field]), ...known(field) }))];
  const width = widest(all.map((column) => labelOf(column, space)));
  const lines = all.flatMap((column) => cardLines(row, column, width, space));
  return lines.map((text) => `${text}\n`).join('');
}

function guess(field: string, value: unknown): Column['kind'] {
  if (typeof value === 'boolean') return 'yesno';
  if (typeof value === 'number' && /amount$/i.test(field)) return 'money';
  return /(At|Before|After|Until|From|To)$/.test(field) && typeof value === 'string' ? 'time' : 'text';
}

function labelOf({ field }: Column, { speech = ENGLISH }: TableSpace): string {
  return speech.label(field) ?? field;
}

function cardLines(row: Row, column: Column, width: number, space: TableSpace): string[] {
  const value = cellOf(row, column);
  const label = space.style('dim', padTo(labelOf(column, space), width));
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    return [`${label}  ${value.length}`, ...value.map((item) => `  - ${visible(JSON.stringify(item))}`)];
  }
  const text = human(row, column, space.now, space.speech);
  // Next to a word stands its code, which the filters of lists accept.
  const code = typeof value === 'string' ? visible(value) : '';
  const isShort = column.kind === 'time' || (column.words !== undefined && value !== '' && code !== text);
  const exact = isShort && typeof value === 'string' ? `  ${space.style('dim', code)}` : '';
  const look = column.kind === 'status' ? lookOf(plain(value)) : undefined;
  return [`${label}  ${look ? space.style(look, text) : text}${exact}`];
}

export const FORMATS = ['table', 'tsv', 'json', 'jsonl', 'env', 'name'] as const;
export type Format = (typeof FORMATS)[number];

export interface OutputFlags {
  output?: Format;
  fields?: readonly string[];
  headers?: boolean;
  quiet?: boolean;
  /** The language of what people read; English by default. */
  language?: Language;
}

/** Writes data to stdout in the chosen format, and messages to stderr. */
export interface Print {
  /** The chosen format; by default a table on a terminal and TSV in a pipe. */
  readonly format: Format;
  readonly json: boolean;
  readonly fields: readonly string[] | undefined;
  /** The language of the output: English in every format except the table, because programs read the others. */
  readonly language: Language;
  /** The words of that language. */
  speech(): Promise<Speech>;
  /** Prints one object: JSON without a wrapper, or `label  value` lines on a terminal. */
  item(row: Row, view: View): Promise<void>;
  /** Prints a list: a JSON array without a wrapper, or a table. `continued` omits the heading for later pages. */
  list(rows: readonly Row[], view: View, part?: { continued: boolean }): Promise<void>;
  /** Whether the format has one line per row, so that each page can be printed when it arrives. */
  readonly linewise: boolean;
  /** Prints on stderr. JSON mode without a terminal drops messages, so that stderr contains only the error object. */
  note(text: Text): Promise<void>;
  /** Prints a message about a completed change; -q suppresses it. */
  done(text: Text): Promise<void>;
}

/** Creates the functions that print the output of one command. */
export function createPrint(terminal: Terminal, flags: OutputFlags): Print {
  const format = flags.output ?? (terminal.out.isTerminal ? 'table' : 'tsv');
  const json = format === 'json' || format === 'jsonl';
  const language = format === 'table' ? (flags.language ?? 'en') : 'en';
  const speech = (): Promise<Speech> => speechOf(language);
  const space = async (): Promise<TableSpace> => ({
    columns: terminal.out.columns,
    style: terminal.out.style,
    now: terminal.now(),
    headers: flags.headers !== false,
    speech: await speech(),
  });
  const note = async (text: Text): Promise<void> => {
    if (json && !terminal.err.isTerminal) return;
    await terminal.err.write(`${folded(asCalled(textIn(text, await speech()), terminal.env), terminal)}\n`);
  };
  return {
    format,
    json,
    fields: flags.fields,
    language,
    speech,
    async item(row, view) {
      await terminal.out.write(itemText(row, view, format, flags, await space()));
    },
    linewise: flags.quiet === true || format === 'jsonl' || format === 'tsv' || format === 'name',
    async list(rows, view, part) {
      const { text, hidden } = listText(
        rows,
        view,
        format,
        part?.continued ? { ...flags, headers: false } : flags,
        part?.continued ? { ...(await space()), headers: false } : await space(),
      );
      await terminal.out.write(text);
      if (hidden.length > 0 && !part?.continued)
        await note(
          hidden.length === 1
            ? say`1 more column does not fit; select columns with --fields.`
            : say`${hidden.length} more columns do not fit; select columns with --fields.`,
        );
    },
    note,
    async done(text) {
      if (!flags.quiet) await note(text);
    },
  };
}

/** A text with colour codes is not wrapped, because its width is unknown. */
function folded(text: string, { err }: Terminal): string {
  const measurable = err.isTerminal && !isPainted(text) && !text.includes('  ');
  return measurable ? wrap(text, err.columns).join('\n') : text;
}

function itemText(row: Row, view: View, format: Format, flags: OutputFlags, space: TableSpace): string {
  if (flags.quiet) return `${plain(valueOf(row, view.id))}\n`;
  if (format === 'name') return `${view.noun}/${plain(valueOf(row, view.id))}\n`;
  const picked = flags.fields ? pick(row, flags.fields) : row;
  if (format === 'json') return `${JSON.stringify(picked, null, 2)}\n`;
  if (format === 'jsonl') return `${JSON.stringify(picked)}\n`;
  if (format === 'env') return envText(picked);
  if (format === 'table') return drawCard(picked, columnsOf(view, flags.fields), space, view.more);
  if (flags.fields) return tsvLine(flags.fields.map((field) => valueOf(row, field)));
  return Object.entries(row)
    .map(([field, value]) => tsvLine([field, value]))
    .join('');
}

function listText(rows: readonly Row[], view: View, format: Format, flags: OutputFlags, space: TableSpace) {
  const text = (body: string): { text: string; hidden: string[] } => ({ text: body, hidden: [] });
  const ids = rows.map((row) => plain(valueOf(row, view.id)));
  if (flags.quiet) return text(ids.map((id) => `${id}\n`).join(''));
  if (format === 'name') return text(ids.map((id) => `${view.noun}/${id}\n`).join(''));
  if (flags.fields) assertKnown(flags.fields, rows, view);
  const picked = flags.fields ? rows.map((row) => pick(row, flags.fields ?? [])) : rows;
  if (format === 'json') return text(`${JSON.stringify(picked, null, 2)}\n`);
  if (format === 'jsonl') return text(picked.map((row) => `${JSON.stringify(row)}\n`).join(''));
  if (format === 'env') throw new UsageError('-o env supports a single object, not a list.', 'use -o json or -o tsv');
  const columns = columnsOf(view, flags.fields);
  if (format === 'table') return rows.length > 0 ? drawTable(rows, columns, space) : text('');
  const head = flags.headers === true ? tsvLine(columns.map((column) => column.field)) : '';
  return text(head + rows.map((row) => tsvLine(columns.map((column) => cellOf(row, column)))).join(''));
}

function assertKnown(fields: readonly string[], rows: readonly Row[], view: View): void {
  const known = new Set([...view.columns.map((column) => column.field), ...rows.flatMap((row) => Object.keys(row))]);
  const unknown = fields.find((field) => !known.has(field) && !known.has(field.split('.')[0] ?? ''));
  if (unknown !== undefined) {
    throw new UsageError(`Unknown field "${unknown}".`, `fields: ${[...known].toSorted().join(', ')}`);
  }
}

function pick(row: Row, fields: readonly string[]): Row {
  return Object.fromEntries(fields.map((field) => [field, valueOf(row, field) ?? null]));
}

function columnsOf(view: View, fields: readonly string[] | undefined): readonly Column[] {
  if (!fields) return view.columns;
  const known = [...view.columns, ...(view.more ?? [])];
  return fields.map((field) => known.find((column) => column.field === field) ?? { field });
}

/** One line of tab-separated values. Tabs and line breaks inside a value are written as `\t` and `\n`. */
export function tsvLine(values: readonly unknown[]): string {
  return `${values.map((value) => oneLine(plain(value).replaceAll('\\', '\\\\'))).join('\t')}\n`;
}

/** An object as shell assignments: `CLIENT_ID=app_…`, quoted if needed. */
export function envText(row: Row): string {
  const entries = Object.entries(row).map(([field, value]) => `${envName(field)}=${envValue(plain(value))}\n`);
  return entries.join('');
}

function envName(field: string): string {
  return field
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replace(/[^A-Za-z0-9_]/g, '_')
    .toUpperCase();
}

function envValue(text: string): string {
  return /^[A-Za-z0-9_./:@%+,=-]*$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
