import type { Command } from 'commander';
import type { ApiClient } from '../../api-client.ts';
import type { Context, ContextOf } from '../../context.ts';
import { repeatTarget } from '../../hints.ts';
import { ENGLISH, type Speech, english, textIn } from '../../language.ts';
import { examples, needs } from '../../options.ts';
import { tsvLine } from '../../output.ts';
import { segment } from '../../resource.ts';
import { type Style, displayWidth, padTo, wrap } from '../../terminal-text.ts';
import { type Row, lookOf, visible } from '../../values.ts';
import { ORDERS, ORDER_VIEW } from '../views.ts';
import { type Found, type Line, type Section, sectionsOf } from './sections.ts';

interface PageSpace {
  columns: number;
  style: Style;
  /** Repeats the chosen server in a command. */
  again?(line: string): string;
  speech?: Speech;
}

const LABEL = 7;
/** Maximum line width in terminal columns. Longer lines are hard to read. */
const PROSE = 100;

/** Draws an explanation for a terminal: labels left, wrapped sentences right, the timeline at the end. */
export function drawPage(sections: readonly Section[], space: PageSpace): string {
  return sections
    .map((section) =>
      section.title === 'story' ? story(section.lines, space) : section.lines.flatMap((line) => draw(line, space)),
    )
    .map((lines) => lines.map((line) => `${line.trimEnd()}\n`).join(''))
    .join('\n');
}

function draw({ label, cells, look, command }: Line, space: PageSpace): string[] {
  const { columns, style, again = (line) => line, speech = ENGLISH } = space;
  const room = Math.max(20, Math.min(columns - LABEL - 2, PROSE));
  const [first = '', ...rest] = cells.map((cell) => visible(textIn(cell, speech))).filter((cell) => cell !== '');
  if (label === 'order') return [`${style('bold', first)}  ${painted(style, look, rest.join('  '))}`];
  const lines = command
    ? [style('cyan', again(first))]
    : look
      ? headed(first, look, rest, room, style)
      : filled([first, ...rest], room);
  const head = speech.word('line', label === 'exception' ? 'open' : label);
  return lines.map((text, index) => `${style('dim', padTo(index === 0 ? head : '', LABEL))}  ${text}`);
}

/** Formats the line about one object, e.g. a refund. Details that do not fit wrap to the next lines. */
function headed(first: string, look: string, [state = '', ...more]: string[], room: number, style: Style): string[] {
  const start = `${style('bold', first)}  ${painted(style, look, state)}`;
  const tail = more.join('  ');
  if (displayWidth(`${first}  ${state}  ${tail}`) <= room) return [tail === '' ? start : `${start}  ${tail}`];
  return [start, ...wrap(tail, room)];
}

function filled(cells: readonly string[], room: number): string[] {
  const lines: string[] = [];
  for (const cell of cells) {
    const last = lines.at(-1);
    const joined = last === undefined ? cell : `${last} · ${cell}`;
    if (displayWidth(joined) <= room) lines.splice(-1, 1, joined);
    else lines.push(...wrap(cell, room));
  }
  return lines;
}

function painted(style: Style, look: string | undefined, text: string): string {
  const color = look === undefined ? undefined : lookOf(look);
  return color ? style(color, text) : text;
}

/** A step with the same time as the previous step shows no time. */
function story(lines: readonly Line[], { columns, style, speech = ENGLISH }: PageSpace): string[] {
  const steps = lines.map(({ cells }) => cells.map((cell) => visible(textIn(cell, speech))));
  const times = Math.max(...steps.map(([at = '']) => displayWidth(at)));
  const indent = ' '.repeat(times + 7);
  const room = Math.max(20, columns - indent.length);
  return steps.flatMap(([at = '', mark = '', what = '', detail = ''], index) => {
    const shown = steps[index - 1]?.[0] === at ? '' : at;
    const head = `${style('dim', padTo(shown, times))}  ${paintedMark(style, mark)}  `;
    const beside = displayWidth(what) + 2 + displayWidth(detail) <= room;
    const [first = '', ...rest] = beside ? [what] : wrap(what, room);
    const details = detail === '' || beside ? [] : wrap(detail, room);
    return [
      `${head}${first}${beside && detail ? `  ${style('dim', detail)}` : ''}`,
      ...rest.map((text) => indent + text),
      ...details.map((text) => indent + style('dim', text)),
    ];
  });
}

function paintedMark(style: Style, mark: string): string {
  if (mark === 'move') return style('cyan', padTo('●', 3));
  const text = padTo(mark, 3);
  return mark === '!' ? style('yellow', text) : style('dim', text);
}

/** Defines `payctl explain`. */
export function define(command: Command, context: ContextOf): void {
  needs(command, 'any')
    .description(
      'Explain why an order is in its current state: what happens next and when, the amounts, and its history. Piped output is one labelled line per fact, with ISO 8601 times.',
    )
    .argument('<orderNo>', 'order number, see payctl order list');
  examples(
    command,
    'payctl explain P202611210558007K2MQX9WBT',
    'payctl explain P202611210558007K2MQX9WBT --json',
    'payctl explain P202611210558007K2MQX9WBT -o tsv',
  ).action((orderNo: string) => run(context(), orderNo));
}

/** Explains the state of an order. Without `now`, times are printed as ISO timestamps. */
export async function explainOrder(
  api: ApiClient,
  orderNo: string,
  now: Date | undefined,
): Promise<readonly Section[]> {
  const path = `${ORDERS}/${segment(orderNo)}`;
  const [found, order] = await Promise.all([bare(api, path), api.get(path)]);
  return sectionsOf(foundIn(found, order), now);
}

/** The query of an application updates the order first, so that the explanation is about the order as it is printed. */
async function explainOwnOrder(api: ApiClient, orderNo: string, now: Date | undefined): Promise<readonly Section[]> {
  const order = await api.get(`/api/v2/payment/query/${segment(orderNo)}`);
  return sectionsOf(foundIn(await bare(api, ownPath(orderNo)), order), now);
}

function ownPath(orderNo: string): string {
  return `/api/v2/payment/orders/${segment(orderNo)}`;
}

function foundIn({ timeline, ...explanation }: Row, order: Row): Found {
  return { explanation, timeline, order } as unknown as Found;
}

async function run(context: Context, orderNo: string): Promise<void> {
  const { api, application, print, terminal, flags, run: known } = context;
  const isOwn = (await application()) !== undefined;
  const words = (print.format === 'table' || print.format === 'tsv') && !flags.quiet && !print.fields;
  if (!words) {
    const path = isOwn ? ownPath(orderNo) : `${ORDERS}/${segment(orderNo)}`;
    return print.item(await bare(api, path), ORDER_VIEW);
  }
  const isPage = print.format === 'table';
  const sections = await (isOwn ? explainOwnOrder : explainOrder)(api, orderNo, isPage ? terminal.now() : undefined);
  const { columns, style } = terminal.out;
  const again = (line: string) => repeatTarget(line, flags, known.target);
  const space = { columns, style, again, speech: await print.speech() };
  await terminal.out.write(isPage ? drawPage(sections, space) : sections.flatMap(labelled).join(''));
}

async function bare(api: ApiClient, path: string): Promise<Row> {
  const [explanation, { rows: timeline }] = await Promise.all([
    api.get(`${path}/explain`),
    api.page(`${path}/timeline`),
  ]);
  return { ...explanation, timeline };
}

/** Tab-separated lines for a pipe. Each starts with a label such as `refund-why`, whose first part is the subject. */
function labelled({ title, lines }: Section): string[] {
  const owner = { order: '', refunds: 'refund', exceptions: 'exception', bills: 'bill', story: 'step' }[title];
  return lines.map(({ label, cells }) =>
    tsvLine([owner === '' || label === owner ? label : `${owner}-${label}`, ...cells.map(english)]),
  );
}
