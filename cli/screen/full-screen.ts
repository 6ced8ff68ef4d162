import { emitKeypressEvents } from 'node:readline';
import { ownSequence } from '../terminal-text.ts';
import type { Signals, Streams, Terminal } from '../terminal.ts';
import { type Frame, type Line, difference, rowOf } from './cells.ts';

/** A pressed key. `name` is e.g. `up`, `return`, `escape` or `tab`, or the typed character. */
export interface Key {
  name: string;
  ctrl: boolean;
  shift: boolean;
  /** The typed character; empty for keys such as arrows. */
  text: string;
}

interface Keypress {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
}

/** How long to wait after an Escape byte, because it may start the byte sequence of another key. */
const ESCAPE_MS = 50;

/** Reads keys in raw mode. The returned function restores the previous mode. */
function readKeys(stdin: Streams['stdin'], onKey: (key: Key) => void): () => void {
  const wasRaw = stdin.isRaw === true;
  const listener = (text: string | undefined, key: Keypress = {}): void => onKey(keyOf(text, key));
  // The cast is safe, because emitKeypressEvents reads only this property.
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

export interface FullScreen {
  readonly columns: number;
  readonly rows: number;
  /** Draws lines from the top. On a slow terminal intermediate frames are skipped. */
  draw(lines: readonly Line[]): void;
  /** Restores the terminal and suspends the process, like Ctrl-Z. When the process resumes, the screen is redrawn. */
  suspend(): void;
}

interface ScreenCallbacks {
  onKey(key: Key): void;
  /** Called after the terminal was resized or the process resumed, to draw again. */
  onResize(): void;
}

// ENTER selects the alternate screen, hides the cursor and turns off line wrap. LEAVE resets the style and reverses all
// three.
const ENTER = ['[?1049h', '[?25l', '[?7l'].map(ownSequence).join('');
const LEAVE = ['[0m', '[?7h', '[?25h', '[?1049l'].map(ownSequence).join('');

/** Signals that end the process. The terminal is restored first. */
const ENDINGS = ['SIGTERM', 'SIGHUP'] as const;

/** Time after which payctl assumes that the kernel did not suspend the process. payctl then shows the screen again. */
const RESUME_CHECK_MS = 100;

/** Runs work in full screen. The terminal is restored even if the work throws. */
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

  /** Restores the terminal. The function must be synchronous, because the process may exit directly after it. */
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
    // After the listener is removed, SIGTSTP suspends payctl like every other process of the pipe, so the shell
    // notices the suspension.
    signals?.off('SIGTSTP', suspend);
    signals?.raise('SIGTSTP', 'group');
    // Without job control (ssh -t, a container) the kernel ignores SIGTSTP and sends no SIGCONT, so a timer resumes.
    resumeTimer = setTimeout(resume, RESUME_CHECK_MS);
  }

  function resume(): void {
    clearTimeout(resumeTimer);
    // The shell may have used the terminal during the suspension, so the terminal's settings are unknown.
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
