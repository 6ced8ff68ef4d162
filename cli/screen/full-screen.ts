import { emitKeypressEvents } from 'node:readline';
import { ownSequence } from '../terminal-text.ts';
import type { Signals, Streams, Terminal } from '../terminal.ts';
import { type Frame, type Line, difference, rowOf } from './cells.ts';

/** A key: its name (`up`, `return`, `escape`, `tab` …), or the character that was typed. */
export interface Key {
  name: string;
  ctrl: boolean;
  shift: boolean;
  /** The text of the key; empty for keys without a character. */
  text: string;
}

/** A keypress event of Node.js. */
interface Keypress {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
}

/** How long an escape may still be the beginning of the sequence of another key. */
const ESCAPE_MS = 50;

/** Reads keys in raw mode. The returned function restores the input. */
function readKeys(stdin: Streams['stdin'], onKey: (key: Key) => void): () => void {
  const wasRaw = stdin.isRaw === true;
  const listener = (text: string | undefined, key: Keypress = {}): void => onKey(keyOf(text, key));
  // emitKeypressEvents reads only this member of a readline interface.
  emitKeypressEvents(stdin, { escapeCodeTimeout: ESCAPE_MS } as never);
  stdin.on('keypress', listener);
  stdin.setRawMode?.(true);
  stdin.resume();
  return () => {
    stdin.off('keypress', listener);
    stdin.setRawMode?.(wasRaw);
    stdin.pause();
  };
}

const CONTROLS = /\p{Cc}/u;

/** Converts a keypress event to a key. */
export function keyOf(text: string | undefined, { name, ctrl = false, meta = false, shift = false }: Keypress): Key {
  const typed = text !== undefined && !ctrl && !meta && !CONTROLS.test(text) ? text : '';
  return { name: name ?? typed, ctrl, shift, text: typed };
}

/** Access to the full screen. */
export interface FullScreen {
  readonly columns: number;
  readonly rows: number;
  /** Draws lines from the first row. A slow terminal gets only the newest frame. */
  draw(lines: readonly Line[]): void;
  /** Restores the terminal and suspends the process, like Ctrl-Z. Resuming redraws the screen. */
  suspend(): void;
}

/** Callbacks for events of the terminal. */
interface ScreenCallbacks {
  onKey(key: Key): void;
  /** The terminal was resized, or resumed after a suspension. */
  onResize(): void;
}

// Alternate screen, hidden cursor and no line wrap; and the inverse.
const ENTER = ['[?1049h', '[?25l', '[?7l'].map(ownSequence).join('');
const LEAVE = ['[0m', '[?7h', '[?25h', '[?1049l'].map(ownSequence).join('');

/** Signals that end the process after the terminal is restored. */
const ENDINGS = ['SIGTERM', 'SIGHUP'] as const;

/** A suspended process does not count this time. A process that the kernel did not suspend resumes after it. */
const RESUME_CHECK_MS = 100;

/** Runs work in full screen and restores the terminal in any case. */
export async function withFullScreen<Result>(
  terminal: Terminal,
  callbacks: ScreenCallbacks,
  work: (screen: FullScreen) => Promise<Result>,
): Promise<Result> {
  const screen = createScreen(terminal, callbacks);
  screen.enter();
  try {
    return await work(screen);
  } finally {
    screen.leave();
    screen.forget();
  }
}

function createScreen({ out, stdin, signals }: Terminal, callbacks: ScreenCallbacks) {
  let shown: Frame | undefined;
  let waiting: readonly Line[] | undefined;
  let isWriting = false;
  let endKeys: (() => void) | undefined;
  let isEntered = false;
  let resumeTimer: NodeJS.Timeout | undefined;

  const screen = {
    get columns() {
      return out.columns;
    },
    get rows() {
      return out.rows;
    },
    draw,
    suspend,
    enter,
    leave,
    forget,
  };
  const endResize = out.onResize(redraw);
  const handlers = handlersOf(signals);
  for (const [name, listener] of handlers) signals?.on(name, listener);
  return screen;

  function enter(): void {
    if (isEntered) return;
    isEntered = true;
    shown = undefined;
    void out.write(ENTER);
    if (stdin.isTTY) endKeys = readKeys(stdin, callbacks.onKey);
  }

  /** A synchronous write, because the process may exit next. */
  function leave(): void {
    if (!isEntered) return;
    isEntered = false;
    waiting = undefined;
    endKeys?.();
    void out.write(LEAVE);
  }

  function forget(): void {
    clearTimeout(resumeTimer);
    endResize();
    for (const [name, listener] of handlers) signals?.off(name, listener);
  }

  function draw(lines: readonly Line[]): void {
    waiting = lines;
    if (!isWriting) void writeAll().catch(() => {});
  }

  async function writeAll(): Promise<void> {
    isWriting = true;
    while (waiting && isEntered) {
      const { columns, rows } = out;
      const frame = Array.from({ length: rows }, (_, row) => rowOf(waiting?.[row] ?? '', columns));
      waiting = undefined;
      const text = difference(shown, frame);
      shown = frame;
      if (text !== '') await out.write(text);
    }
    isWriting = false;
  }

  function redraw(): void {
    shown = undefined;
    if (isEntered) callbacks.onResize();
  }

  function suspend(): void {
    leave();
    // Without the listener the kernel suspends the process group, so the shell sees the whole pipe stop.
    signals?.off('SIGTSTP', suspend);
    signals?.raise('SIGTSTP', 'group');
    // Without a job-control shell (ssh -t, a container) the kernel ignores the signal and sends no SIGCONT.
    resumeTimer = setTimeout(resume, RESUME_CHECK_MS);
  }

  function resume(): void {
    clearTimeout(resumeTimer);
    // The shell has used the terminal since the suspension.
    leave();
    signals?.off('SIGTSTP', suspend);
    signals?.on('SIGTSTP', suspend);
    enter();
    redraw();
  }

  function handlersOf(source: Signals | undefined): [Parameters<Signals['on']>[0], () => void][] {
    const end = (name: NodeJS.Signals) => (): void => {
      leave();
      forget();
      source?.raise(name, 'process');
    };
    return [
      ['exit', leave],
      ['SIGTSTP', suspend],
      ['SIGCONT', resume],
      ...ENDINGS.map((name): [NodeJS.Signals, () => void] => [name, end(name)]),
    ];
  }
}
