import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import { drawTable } from '../../output.ts';
import type { Line } from '../../screen/cells.ts';
import { type FullScreen, type Key, withFullScreen } from '../../screen/full-screen.ts';
import { type Style, cutTo, displayWidth, padTo, wrap } from '../../terminal-text.ts';
import { visible } from '../../values.ts';
import { drawPage, explainOrder } from '../explain/index.ts';
import { type Board, type LiveFeed, rateOf } from './live-feed.ts';
import { type Section, type SectionName, clock, grouped, sectionsOf } from './sections.ts';
import { BEGINNING, type Page, type State, type SideEffect, chosenAt, filtered, press } from './state.ts';

interface Space {
  columns: number;
  rows: number;
  style: Style;
  now: Date;
}

/** The texts of the first and the last line of the screen, which frame the figures. */
interface Bars {
  /** Text after the label in the first line. If the line is too long, this text is truncated first. */
  title: string;
  /** Label of the server (dev, staging, prod), so that the operator does not confuse prod with dev. */
  label: string;
  status: string;
  /** Whether the connection is lost. If so, the figures are outdated. */
  isOld: boolean;
}

/** Minimum screen width for two columns of tables, e.g. orders on the left and events on the right. */
const WIDE = 150;
const GAP = 3;
const LEFT: ReadonlySet<SectionName> = new Set(['orders', 'channels', 'due', 'webhooks', 'exceptions', 'replicas']);

/** Share of the width for the left column, which needs less width than the events on the right. */
const LEFT_SHARE = 0.43;
const LEAST_LEFT = 76;

function figuresWidth(columns: number): number {
  return columns >= WIDE ? Math.max(LEAST_LEFT, Math.floor(columns * LEFT_SHARE)) : columns;
}

/** Draws the state of the service as the lines of a screen. */
export function layout(state: State, sections: readonly Section[], bars: Bars, space: Space): Line[] {
  const { columns, rows } = space;
  const room = { ...space, rows: Math.max(0, rows - 2) };
  const body = columns >= WIDE ? sideBySide(state, sections, room) : stacked(state, sections, room);
  const filled = Array.from({ length: room.rows }, (_, at) => body[at] ?? '');
  return [titleBar(bars, space), ...filled, keyBar(state, space)].slice(0, rows);
}

/** Draws a full-screen page over the tables, e.g. the help. */
export function layoutPage({ title, lines, top }: Page, space: Space): string[] {
  const { columns, rows, style } = space;
  const room = Math.max(0, rows - 2);
  const shown = lines === undefined ? ['Loading …'] : lines.slice(Math.min(top, Math.max(0, lines.length - room)));
  const filled = Array.from({ length: room }, (_, at) => shown[at] ?? '');
  const more = lines !== undefined && lines.length > room ? '↑↓ scroll  ' : '';
  return [
    style('bold', cutTo(visible(title), columns)),
    ...filled,
    style('inverse', padTo(cutTo(` ${more}Esc back  Ctrl-C quit`, columns), columns)),
  ].slice(0, rows);
}

function titleBar({ title, label, status, isOld }: Bars, { columns, style }: Space): string {
  const left = visible(title);
  const mark = ` ${visible(label)} `;
  const right = cutTo(visible(status), Math.max(0, columns - displayWidth(mark) - 2));
  const width = Math.max(0, columns - displayWidth(mark) - displayWidth(right) - 1);
  const look = label === 'prod' ? (['red', 'bold', 'inverse'] as const) : (['bold', 'inverse'] as const);
  return `${style(look, mark)}${style('bold', padTo(cutTo(` ${left}`, width), width))} ${isOld ? style('red', right) : right}`;
}

function keyBar({ isTyping, filter, notice }: State, { columns, style }: Space): string {
  const keys = ' q quit  Tab section  ↑↓ row  Enter explain  / filter  ? help';
  const search = filter === '' ? '' : ` filter: ${filter} (Esc clears)`;
  const text = isTyping ? ` filter: ${filter}▏` : notice === '' ? search + keys : ` ${notice}`;
  return style('inverse', padTo(cutTo(visible(text), columns), columns));
}

function stacked(state: State, sections: readonly Section[], space: Space): string[] {
  const shares = share(space.rows, sections, state.section);
  return sections.flatMap((section, at) => drawSection(state, section, shares[at] ?? 0, space));
}

function sideBySide(state: State, sections: readonly Section[], space: Space): Line[] {
  const width = figuresWidth(space.columns);
  const isLeft = ({ name }: Section) => LEFT.has(name);
  const left = stacked(state, sections.filter(isLeft), { ...space, columns: width });
  const others = sections.filter((section) => !isLeft(section));
  const right = stacked(state, others, { ...space, columns: space.columns - width - GAP });
  const length = Math.max(left.length, right.length);
  return Array.from({ length }, (_, at) => [
    { column: 0, text: left[at] ?? '' },
    { column: width + GAP, text: right[at] ?? '' },
  ]);
}

/**
 * Distributes the screen lines to the sections. Every section gets its minimum. The selected section then gets half of
 * the remaining lines. All sections share the rest equally.
 */
export function share(available: number, sections: readonly Section[], chosen: SectionName): number[] {
  const wants = sections.map(({ rows }) => 1 + rows.length);
  const shares = sections.map(() => 0);
  let left = available;
  const give = (at: number, most: number): void => {
    const more = Math.max(0, Math.min(left, Math.min(most, wants[at]!) - shares[at]!));
    shares[at]! += more;
    left -= more;
  };
  const first = sections.findIndex(({ name }) => name === chosen);
  // The selected section gets its minimum first, in case the screen is too short for all sections.
  if (first >= 0) give(first, 1 + sections[first]!.least);
  for (const at of sections.keys()) give(at, 1);
  for (const [at, { least }] of sections.entries()) give(at, 1 + least);
  if (first >= 0) give(first, shares[first]! + Math.ceil(left / 2));
  for (let before = -1; before !== left;) {
    before = left;
    for (const at of sections.keys()) give(at, shares[at]! + 1);
  }
  return shares;
}

function drawSection(state: State, section: Section, lines: number, { columns, style, now }: Space): string[] {
  if (lines === 0) return [];
  const isChosen = section.name === state.section;
  const chosen = chosenAt(state, section);
  const room = lines - 1;
  // Scrolls so that the selected row stays visible.
  const from = Math.max(0, chosen - room + 1);
  const rows = section.rows.slice(from, from + room);
  const shown = section.rows.length > 0 ? section.columns : section.columns.slice(0, 1);
  const table = drawTable(rows, shown, { columns: columns - 2, style, now, headers: true });
  const [heading = '', ...body] = table.text.split('\n');
  const hidden = section.rows.length - rows.length;
  const none = section.rows.length === 0 ? style('dim', `  ${section.empty}`) : '';
  const more = hidden > 0 ? style('dim', `  +${hidden}`) : '';
  const mark = (at: number): string =>
    isChosen && from + at === chosen && rows.length > 0 ? style('cyan', '▸ ') : '  ';
  return [
    `${isChosen ? style(['cyan', 'bold'], '▪ ') : '  '}${heading}${none}${more}`,
    ...body.slice(0, rows.length).map((line, at) => mark(at) + line),
  ];
}

const HELP_KEYS: readonly [string, string][] = [
  ['Tab, ← →', 'another section; Shift-Tab the one before'],
  ['↑ ↓, j k', 'another row; also PgUp, PgDn, Home, End'],
  ['Enter', 'explain the order of the row'],
  ['/', 'show only rows with a text; Esc shows all of them again'],
  ['Ctrl-Z', 'stop; fg goes on'],
  ['q, Ctrl-C', 'quit'],
];

const HELP_SECTIONS: readonly [string, string][] = [
  ['Orders', 'open now, and what was paid, closed, failed and refunded in the last hour; + means that there are more'],
  ['Channels', 'the last minute: calls, how long they took, and after how many nobody knows what the channel did'],
  ['Due work', 'what is to be done, how much of it is running, and since when the oldest waits for somebody'],
  ['Webhooks', 'deliveries that wait, by application; failing ones have failed at least once'],
  ['Exceptions', 'the newest that are open; payctl exception resolve ends them'],
  ['Replicas', 'processes of the service: how late their event loop is, processors and memory'],
  ['Events', 'the newest of the event log. Every event is counted; when many come at once, some are not shown'],
];

const HELP_PIPE = 'In a pipe, or with -o jsonl, payctl top prints one JSON object a second.';
const HELP_TERM = 12;

/** Returns the lines of the help page, wrapped to the screen width. */
export function helpLines(columns: number): string[] {
  const list = (terms: readonly [string, string][]): string[] =>
    terms.flatMap(([term, words]) =>
      wrap(words, Math.max(20, columns - HELP_TERM - 2)).map(
        (line, at) => `  ${padTo(at === 0 ? term : '', HELP_TERM)}${line}`,
      ),
    );
  return ['Keys', ...list(HELP_KEYS), '', 'Sections', ...list(HELP_SECTIONS), '', ...wrap(HELP_PIPE, columns)];
}

/** Messages redraw the screen at most this often. A key press redraws it immediately. */
const DRAW_EVERY_MS = 200;
/** Without messages the screen is redrawn this often, because it shows relative times. */
const TICK_MS = 1_000;

/** Shows the live feed in full screen until the operator quits. */
export async function runScreen(context: Context, feed: LiveFeed, stopsByItself: boolean): Promise<void> {
  const { terminal, api } = context;
  const target = await context.target();
  const quit = Promise.withResolvers<void>();
  let state: State = BEGINNING;
  let screen: FullScreen | undefined;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let planned: NodeJS.Timeout | undefined;

  const visibleSections = () => {
    const now = terminal.now();
    return filtered(sectionsOf(feed.board, now, figuresWidth(terminal.out.columns)), state.filter, now);
  };

  function draw(): void {
    clearTimeout(planned);
    planned = undefined;
    drawnAt = performance.now();
    if (!screen) return;
    const space: Space = {
      columns: screen.columns,
      rows: screen.rows,
      style: terminal.out.style,
      now: terminal.now(),
    };
    screen.draw(linesOf(space));
  }

  function linesOf(space: Space): Line[] {
    if (state.page) return layoutPage(state.page, space);
    const user = target.user ? ` as ${target.user}` : '';
    const bars: Bars = {
      title: `payctl top  ${target.server}${user}`,
      label: target.label,
      status: `${eventsText(feed.board)}  ${feed.isLost ? feed.status : clock(feed.board.at ?? '')}`,
      isOld: feed.isLost,
    };
    return layout(state, visibleSections(), bars, space);
  }

  function drawSoon(): void {
    planned ??= setTimeout(draw, Math.max(0, drawnAt + DRAW_EVERY_MS - performance.now()));
  }

  function onKey(key: Key): void {
    const pressed = press(state, key, visibleSections());
    ({ state } = pressed);
    if (pressed.sideEffect) grant(pressed.sideEffect);
    draw();
  }

  function grant(sideEffect: SideEffect): void {
    if (sideEffect.kind === 'quit') quit.resolve();
    else if (sideEffect.kind === 'suspend') screen?.suspend();
    else if (sideEffect.kind === 'help') show({ title: 'payctl top', render: helpLines, top: 0 });
    else void explain(sideEffect.orderNo);
  }

  function show(page: Page): void {
    state = { ...state, page: page.render ? { ...page, lines: page.render(terminal.out.columns) } : page };
  }

  async function explain(orderNo: string): Promise<void> {
    const { page } = state;
    const render = await explainOrder(api, orderNo, terminal.now()).then(
      (sections) => (columns: number) =>
        drawPage(sections, { columns, style: terminal.out.style }).trimEnd().split('\n'),
      (error: unknown) => (columns: number) => wrap(error instanceof CliError ? error.message : String(error), columns),
    );
    // The operator may have closed the page, or opened another page, during the request.
    if (!page || state.page !== page) return;
    show({ ...page, render });
    draw();
  }

  function onResize(): void {
    if (state.page) show(state.page);
    draw();
  }

  if (!stopsByItself) terminal.stdin.once('end', () => quit.resolve());
  await withFullScreen(terminal, { onKey, onResize }, async (opened) => {
    screen = opened;
    const ticking = setInterval(draw, TICK_MS);
    try {
      draw();
      await Promise.race([quit.promise, feed.run(drawSoon)]);
      if (stopsByItself) draw();
    } finally {
      clearTimeout(planned);
      clearInterval(ticking);
      screen = undefined;
      await feed.stop();
    }
  });
}

function eventsText(board: Board): string {
  const rate = rateOf(board, performance.now());
  return `${grouped(String(board.passed))} events  ${rate < 10 ? rate.toFixed(1) : grouped(String(Math.round(rate)))}/s`;
}
