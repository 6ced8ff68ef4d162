import { CLEAR_LINE, cutTo } from './terminal-text.ts';
import type { Sink } from './terminal.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const DELAY_MS = 300;
const FRAME_MS = 100;
const BAR = 20;

/** A moving line on stderr for something that takes time. */
export interface Spinner {
  text: string;
  stop(): void;
}

/** Starts a spinner that appears after 300 ms, on a terminal only; elsewhere it is silent. */
export function startSpinner(err: Sink, text: string): Spinner {
  const spinner = { text, stop: () => {} };
  if (!err.isTerminal) return spinner;
  let frame = 0;
  let shown = false;
  const draw = (): void => {
    shown = true;
    const mark = FRAMES[frame++ % FRAMES.length] ?? '';
    void err.write(`${CLEAR_LINE}${err.style('cyan', mark)} ${cutTo(spinner.text, err.columns - 3)}`);
  };
  let timer: NodeJS.Timeout = setTimeout(() => {
    draw();
    timer = setInterval(draw, FRAME_MS);
    timer.unref();
  }, DELAY_MS);
  timer.unref();
  spinner.stop = () => {
    clearTimeout(timer);
    if (shown) void err.write(CLEAR_LINE);
    shown = false;
  };
  return spinner;
}

/** A bar for the part of a whole that is done, with its percentage. */
export function progressBar(done: number, whole: number): string {
  const share = whole > 0 ? Math.min(1, done / whole) : 1;
  const full = Math.floor(share * BAR);
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${String(Math.floor(share * 100)).padStart(3)}%`;
}

/** Runs work under a spinner and takes it away whatever happens. */
export async function withSpinner<T>(err: Sink, text: string, work: (spinner: Spinner) => Promise<T>): Promise<T> {
  const spinner = startSpinner(err, text);
  try {
    return await work(spinner);
  } finally {
    spinner.stop();
  }
}
