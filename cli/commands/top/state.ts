import type { Key } from '../../screen/full-screen.ts';
import { human, type Row } from '../../values.ts';
import { orderOf, SECTIONS, type Section, type SectionName } from './sections.ts';

/** A text that covers the whole screen of `payctl top`: the help, or the explanation of an order. */
export interface Page {
  title: string;
  /** Renders the lines for a screen width; undefined while the page loads. */
  render?: (columns: number) => readonly string[];
  /** The rendered lines; undefined while the page loads. */
  lines?: readonly string[];
  /** Index of the first visible line. */
  top: number;
}

export interface State {
  section: SectionName;
  /** The id of the selected row, by section. Without an id the first row is selected. */
  chosen: Readonly<Partial<Record<SectionName, string>>>;
  filter: string;
  isTyping: boolean;
  page?: Page | undefined;
  /** Message in the last line until the next key. */
  notice: string;
}

/** The action that a key requests from the program. Other keys change only the state of the screen. */
export type SideEffect =
  | { kind: 'quit' }
  | { kind: 'suspend' }
  | { kind: 'help' }
  | { kind: 'explain'; orderNo: string };

export const BEGINNING: State = { section: 'events', chosen: {}, filter: '', isTyping: false, notice: '' };

const PAGE_STEP = 10;

/** Returns the state after a key, and the action that the key requests. */
export function press(state: State, key: Key, sections: readonly Section[]): { state: State; sideEffect?: SideEffect } {
  if (key.ctrl && key.name === 'c') return { state, sideEffect: { kind: 'quit' } };
  if (key.ctrl && key.name === 'z') return { state, sideEffect: { kind: 'suspend' } };
  const calm = { ...state, notice: '' };
  if (calm.page) return onPage(calm, calm.page, key);
  if (calm.isTyping) return { state: type(calm, key) };
  return onBoard(calm, key, sections);
}

function onPage(state: State, page: Page, { name, text }: Key): { state: State; sideEffect?: SideEffect } {
  if (name === 'escape' || name === 'q' || name === 'left' || name === 'backspace' || name === 'return')
    return { state: { ...state, page: undefined } };
  const last = Math.max(0, (page.lines?.length ?? 1) - 1);
  const wanted =
    name === 'home' || text === 'g' ? 0 : name === 'end' || text === 'G' ? last : page.top + (MOVES[name] ?? 0);
  return { state: { ...state, page: { ...page, top: Math.max(0, Math.min(wanted, last)) } } };
}

function type(state: State, { name, text, ctrl }: Key): State {
  if (name === 'return') return { ...state, isTyping: false };
  if (name === 'escape') return { ...state, isTyping: false, filter: '' };
  if (name === 'backspace') return { ...state, filter: [...state.filter].slice(0, -1).join('') };
  if (ctrl && name === 'u') return { ...state, filter: '' };
  return { ...state, filter: (state.filter + text).slice(0, MOST_FILTER) };
}

const MOST_FILTER = 64;

const MOVES: Readonly<Record<string, number>> = {
  up: -1,
  k: -1,
  down: 1,
  j: 1,
  pageup: -PAGE_STEP,
  pagedown: PAGE_STEP,
  space: PAGE_STEP,
};

function onBoard(
  state: State,
  { name, shift, text }: Key,
  sections: readonly Section[],
): { state: State; sideEffect?: SideEffect } {
  if (name === 'q') return { state, sideEffect: { kind: 'quit' } };
  if (text === '?' || name === 'f1') return { state, sideEffect: { kind: 'help' } };
  if (text === '/') return { state: { ...state, isTyping: true } };
  if (name === 'escape') return { state: { ...state, filter: '', chosen: {} } };
  if (name === 'tab' || name === 'right' || name === 'left')
    return { state: { ...state, section: next(state.section, shift || name === 'left' ? -1 : 1) } };
  const section = sections.find((one) => one.name === state.section)!;
  if (name === 'return') return open(state, section);
  if (name === 'home' || text === 'g') return { state: choose(state, section, 0) };
  if (name === 'end' || text === 'G') return { state: choose(state, section, section.rows.length - 1) };
  const move = MOVES[name];
  return { state: move === undefined ? state : choose(state, section, chosenAt(state, section) + move) };
}

function next(section: SectionName, step: number): SectionName {
  return SECTIONS.at((SECTIONS.indexOf(section) + step) % SECTIONS.length)!;
}

/** The index of the selected row; 0 if nothing is selected or the row no longer exists. */
export function chosenAt({ chosen }: State, { name, rows, id }: Section): number {
  const wanted = chosen[name];
  return wanted === undefined
    ? 0
    : Math.max(
        0,
        rows.findIndex((row) => String(row[id]) === wanted),
      );
}

/** For the first row no id is stored: when a new row arrives at the top, the new row is then selected. */
function choose(state: State, { name, rows, id }: Section, wanted: number): State {
  const at = Math.max(0, Math.min(wanted, rows.length - 1));
  const { [name]: _before, ...chosen } = state.chosen;
  const row = at === 0 ? undefined : rows[at];
  return { ...state, chosen: row ? { ...chosen, [name]: String(row[id]) } : chosen };
}

function open(state: State, section: Section): { state: State; sideEffect?: SideEffect } {
  const orderNo = orderOf(section.rows[chosenAt(state, section)]);
  if (orderNo === undefined) return { state: { ...state, notice: 'There is no order on this row.' } };
  return {
    state: { ...state, page: { title: `payctl explain ${orderNo}`, top: 0 } },
    sideEffect: { kind: 'explain', orderNo },
  };
}

const SEARCHED: ReadonlySet<SectionName> = new Set(['webhooks', 'exceptions', 'replicas', 'events']);

/** Returns the sections with only the rows that match the filter. Some sections are not filtered. */
export function filtered(sections: readonly Section[], filter: string, now: Date): Section[] {
  const wanted = filter.trim().toLowerCase();
  if (wanted === '') return [...sections];
  const has = (row: Row, { columns }: Section): boolean =>
    columns.some((column) => human(row, column, now).toLowerCase().includes(wanted));
  return sections.map((section) =>
    SEARCHED.has(section.name)
      ? { ...section, rows: section.rows.filter((row) => has(row, section)), empty: 'nothing matches the filter' }
      : section,
  );
}
