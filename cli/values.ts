import { exponentOf } from '../server/domain.ts';
import { ENGLISH, type Speech, type Text, type WordGroup, english, say, textIn } from './language.ts';
import { type Look, displayWidth, shown } from './terminal-text.ts';

/** A JSON object in a response of the API, for example one order. A table shows one row for it. */
export type Row = Record<string, unknown>;

/** How a value is formatted. `minor` is an amount in minor units without its currency. */
type Kind = 'text' | 'time' | 'money' | 'minor' | 'status' | 'yesno' | 'id';

/** Dots in `field` address nested fields. `read` computes the value from several fields. */
export interface Column {
  field: string;
  title?: string;
  kind?: Kind;
  read?: (row: Row) => unknown;
  /** The words for the codes in the column, and what a row adds to a code. */
  words?: WordGroup;
  nuance?: (row: Row) => string | undefined;
  /** Minimum width, so that a column keeps its position when rows are printed one at a time or drawn again. */
  width?: number;
  /** Returns the colour of the cell; undefined for the default colour. */
  look?: (row: Row) => Look | undefined;
}

/** How rows are shown: the field that identifies a row, and the columns, most important first. */
export interface View {
  noun: string;
  id: string;
  columns: readonly Column[];
  /** Fields that only the card of one row shows, and that have words for their codes. */
  more?: readonly Column[];
}

/** Returns the value of a field. Dots address nested fields, e.g. `failure.code`. */
export function valueOf(row: Row, field: string): unknown {
  if (Object.hasOwn(row, field)) return row[field];
  let value: unknown = row;
  for (const part of field.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Row)[part];
  }
  return value;
}

/** Returns the value of a table cell: the result of the column's `read`, or the value of its API field. */
export function cellOf(row: Row, column: Column): unknown {
  return column.read ? column.read(row) : valueOf(row, column.field);
}

/** Formats a value for output that other programs read: never shortened, without units and colours. */
export function plain(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join(',');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Formats a table cell for people, e.g. a time as `5m ago`. An empty value becomes `-`. */
export function human(row: Row, column: Column, now: Date, speech: Speech = ENGLISH): string {
  const value = cellOf(row, column);
  if (value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0)) return '-';
  if (column.kind === 'time') return textIn(relativeText(value, now), speech);
  if (column.kind === 'money') return money(value, row['currency']);
  if (column.kind === 'minor' && typeof value === 'number') return minorDigits(value, plain(row['currency']));
  if (column.kind === 'yesno') return textIn(value ? say`yes` : say`no`, speech);
  if (column.words && typeof value === 'string') return visible(speech.word(column.words, value, column.nuance?.(row)));
  return visible(Array.isArray(value) ? plain(value).replaceAll(',', ', ') : plain(value));
}

/** An amount with its decimals and currency, e.g. `12.30 CNY`. */
export function money(value: unknown, currency: unknown): string {
  const code = typeof currency === 'string' ? currency : '';
  const text = typeof value === 'number' ? value.toFixed(decimalsOf(code)) : plain(value);
  return visible(code ? `${text} ${code}` : text);
}

/** Converts minor units to major units with the currency: 1250 in CNY is `12.50 CNY`. */
export function minorMoney(minor: number, currency: string): string {
  return money(minor / 10 ** decimalsOf(currency), currency);
}

/** Converts minor units to major units, without the currency: 1250 in CNY is `12.50`. */
export function minorDigits(minor: number, currency: string): string {
  const decimals = decimalsOf(currency);
  return (minor / 10 ** decimals).toFixed(decimals);
}

function decimalsOf(currency: string): number {
  return exponentOf(currency) ?? 2;
}

const STEPS: readonly [limit: number, seconds: number, ago: (count: number) => Text, ahead: (count: number) => Text][] =
  [
    [60, 1, (count) => say`${count}s ago`, (count) => say`in ${count}s`],
    [3600, 60, (count) => say`${count}m ago`, (count) => say`in ${count}m`],
    [86_400, 3600, (count) => say`${count}h ago`, (count) => say`in ${count}h`],
    [30 * 86_400, 86_400, (count) => say`${count}d ago`, (count) => say`in ${count}d`],
  ];

/** A relative time (`5m ago`, `in 2h`). A time more than a month away is shown as a date. */
export function relativeText(value: unknown, now: Date): Text {
  const at = typeof value === 'string' || typeof value === 'number' ? new Date(value) : undefined;
  if (!at || Number.isNaN(at.getTime())) return visible(plain(value));
  const seconds = Math.round((now.getTime() - at.getTime()) / 1000);
  const distance = Math.abs(seconds);
  if (distance < 1) return say`now`;
  for (const [limit, size, ago, ahead] of STEPS)
    if (distance < limit) return (seconds > 0 ? ago : ahead)(Math.floor(distance / size));
  return at.toISOString().slice(0, 10);
}

/** A relative time in English. */
export function relativeTime(value: unknown, now: Date): string {
  return english(relativeText(value, now));
}

/** A duration with its unit: 86400 is `24 h`, 604800 is `7 d`. */
export function durationText(seconds: number): string {
  const [size, unit] = DURATIONS.find(([size, , least]) => seconds >= least && seconds % size === 0) ?? [1, 's'];
  return `${seconds / size} ${unit}`;
}

const DURATIONS: readonly [size: number, unit: string, least: number][] = [
  [86_400, 'd', 2 * 86_400],
  [3600, 'h', 3600],
  [60, 'min', 60],
];

const GOOD = new Set([
  'paid',
  'succeeded',
  'active',
  'enabled',
  'up',
  'yes',
  'done',
  'ok',
  'fulfilled',
  'delivered',
  'resolved',
  'healed',
  'approved',
]);
const WAIT = new Set([
  'created',
  'pending',
  'processing',
  'closing',
  'degraded',
  'partially_refunded',
  'running',
  'waiting',
  'reading',
  'matching',
  'open',
  'listed',
  'staging',
  'waiting_for_approval',
]);
const BAD = new Set(['failed', 'abnormal', 'refused', 'missing', 'down', 'blocked', 'rejected', 'prod', 'live']);

/** Returns the colour of a status: green = good, yellow = waiting, red = bad; undefined for any other status. */
export function lookOf(text: string): Look | undefined {
  if (GOOD.has(text)) return 'green';
  if (WAIT.has(text)) return 'yellow';
  return BAD.has(text) ? 'red' : undefined;
}

/** An untrusted text in one line. Control characters become `\u001b`, and line breaks become `\n`. */
export function visible(text: string): string {
  return shown(oneLine(text));
}

/** A text in one line. Tabs and line breaks become `\t` and `\n`. */
export function oneLine(text: string): string {
  return text.replaceAll('\r', '\\r').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

/** The display width of the widest text, in columns. */
export function widest(texts: readonly string[]): number {
  return texts.reduce((most, text) => Math.max(most, displayWidth(text)), 0);
}
