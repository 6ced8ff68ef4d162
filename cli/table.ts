import { cellOf, human, lookOf, visible, widest, type Column, type Row } from './values.ts';
import { cutTo, padTo } from './width.ts';
import type { Style } from './style.ts';

/** What a table must know about where it is shown. */
export interface TableSpace {
  columns: number;
  style: Style;
  now: Date;
  headers: boolean;
}

/** A drawn table; `hidden` are the headings of the columns that found no room. */
export interface DrawnTable {
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

/** Draws rows to fit the width: texts are cut first, then columns are left out from the right; ids are never cut. */
export function drawTable(rows: readonly Row[], columns: readonly Column[], space: TableSpace): DrawnTable {
  const laid = columns.map((column) => lay(rows, column, space));
  const { kept, hidden } = fit(laid, space.columns);
  const head = space.headers ? [line(kept, (part) => space.style('bold', fill(part, part.title)))] : [];
  const body = rows.map((row, index) => line(kept, (part) => cell(part, row, index, space.style)));
  return { text: [...head, ...body].map((text) => `${text}\n`).join(''), hidden: hidden.map((part) => part.title) };
}

function lay(rows: readonly Row[], column: Column, space: TableSpace): Laid {
  const title = titleOf(column);
  const cells = rows.map((row) => human(row, column, space.now));
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
  const look = part.column.kind === 'status' ? lookOf(text) : part.column.look?.(row);
  return look ? style(look, drawn) : drawn;
}

function fill(part: Laid, text: string): string {
  return padTo(
    cutTo(text, part.width),
    part.width,
    part.column.kind === 'money' || part.column.kind === 'minor' ? 'left' : 'right',
  );
}

/** The heading of a column: its title, or its field in words (`createdAt` → `CREATED`). */
export function titleOf(column: Column): string {
  if (column.title !== undefined) return column.title;
  const words = column.field.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll(/[._]/g, ' ');
  return words.replace(/ At$/, '').toUpperCase();
}

/** Draws one object as `label  value` lines: the columns of its view first, then whatever else it has. */
export function drawCard(row: Row, columns: readonly Column[], space: TableSpace): string {
  const shown = new Set(columns.map((column) => column.field));
  const rest = Object.keys(row).filter((field) => !shown.has(field));
  const all = [...columns, ...rest.map((field): Column => ({ field, kind: guess(field, row[field]) }))];
  const width = widest(all.map((column) => column.field));
  const lines = all.flatMap((column) => cardLines(row, column, width, space));
  return lines.map((text) => `${text}\n`).join('');
}

function guess(field: string, value: unknown): Column['kind'] {
  if (typeof value === 'boolean') return 'yesno';
  if (typeof value === 'number' && /amount$/i.test(field)) return 'money';
  return /(At|Before|After|Until|From|To)$/.test(field) && typeof value === 'string' ? 'time' : 'text';
}

function cardLines(row: Row, column: Column, width: number, space: TableSpace): string[] {
  const value = cellOf(row, column);
  const label = space.style('dim', padTo(column.field, width));
  if (Array.isArray(value) && value.some((item) => typeof item === 'object')) {
    return [`${label}  ${value.length}`, ...value.map((item) => `  - ${visible(JSON.stringify(item))}`)];
  }
  const text = human(row, column, space.now);
  const exact = column.kind === 'time' && typeof value === 'string' ? `  ${space.style('dim', visible(value))}` : '';
  const look = column.kind === 'status' ? lookOf(text) : undefined;
  return [`${label}  ${look ? space.style(look, text) : text}${exact}`];
}
