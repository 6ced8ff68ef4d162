import type { Context } from '../../context.ts';
import { CliError } from '../../errors.ts';
import type { Line } from '../../screen/cells.ts';
import { type FullScreen, withFullScreen } from '../../screen/full-screen.ts';
import type { Key } from '../../screen/keys.ts';
import { wrap } from '../../width.ts';
import { drawPage } from '../explain/draw.ts';
import { explainOrder } from '../explain/index.ts';
import { type Board, rateOf } from './board.ts';
import { clock, grouped } from './columns.ts';
import { helpLines } from './help-page.ts';
import { type Bars, layout, layoutPage, figuresWidth, type Space } from './layout.ts';
import type { LiveFeed } from './live-feed.ts';
import { sectionsOf } from './sections.ts';
import { BEGINNING, filtered, type Page, press, type State, type Wish } from './state.ts';

/** However many messages come, the screen is drawn so often at most; keys are answered at once. */
const DRAW_EVERY_MS = 200;
/** Ages go on without any message. */
const TICK_MS = 1_000;

/** Shows the feed on the whole terminal until the user quits. */
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
    if (pressed.wish) grant(pressed.wish);
    draw();
  }

  function grant(wish: Wish): void {
    if (wish.kind === 'quit') quit.resolve();
    else if (wish.kind === 'suspend') screen?.suspend();
    else if (wish.kind === 'help') show({ title: 'payctl top', render: helpLines, top: 0 });
    else void explain(wish.orderNo);
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
    // Meanwhile another page may have been opened, or none.
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
