import { emitKeypressEvents } from 'node:readline';
import { ownSequence } from '../terminal-text.ts';
import type { Signals, Streams, Terminal } from '../terminal.ts';
import { type Frame, type Line, difference, rowOf } from './cells.ts';

/** A key: its name (`up`, `return`, `escape`, `tab` …), or the character that was typed. */
export interface Key {
  name: string;
  ctrl: boolean;
  shift: boolean;
  /** What is to be inserted into a text; empty for keys that are no characters. */
  text: string;
}

/** What Node.js tells of a key. */
interface Keypress {
  name?: string;
  ctrl?: boolean;
  meta?: boolean;
  shift?: boolean;
}

/** How long an escape may still be the beginning of the sequence of another key. */
const ESCAPE_MS = 50;

/** Reads keys from a terminal in raw mode until the function that it gives is called; the input is then as it was. */
function readKeys(stdin: Streams['stdin'], onKey: (key: Key) => void): () => void {
  const wasRaw = stdin.isRaw === true;
  const listener = (text: string | undefined, key: Keypress = {}): void => onKey(keyOf(text, key));
  // Only this member of an interface of readline is looked at.
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

/** A key as it is named here. */
export function keyOf(text: string | undefined, { name, ctrl = false, meta = false, shift = false }: Keypress): Key {
  const typed = text !== undefined && !ctrl && !meta && !CONTROLS.test(text) ? text : '';
  return { name: name ?? typed, ctrl, shift, text: typed };
}

/** The whole terminal, as long as a program has it. */
export interface FullScreen {
  readonly columns: number;
  readonly rows: number;
  /** Shows lines from the first row on. While the terminal takes longer than that, only the newest lines are kept. */
  draw(lines: readonly Line[]): void;
  /** Gives the terminal back and stops the process, as Ctrl-Z does; it goes on with a new drawing. */
  suspend(): void;
}

/** What happens at the terminal. */
interface ScreenEars {
  onKey(key: Key): void;
  /** The screen has another size, or is to be drawn anew. */
  onResize(): void;
}

// Another screen than the shell's, without a cursor and without lines that run over; and back.
const ENTER = ['[?1049h', '[?25l', '[?7l'].map(ownSequence).join('');
const LEAVE = ['[0m', '[?7h', '[?25h', '[?1049l'].map(ownSequence).join('');

/** Signals that end the process: the terminal is given back first. */
const ENDINGS = ['SIGTERM', 'SIGHUP'] as const;

/** A process that is stopped does not count these; one that is not goes on after them. */
const GOES_ON_MS = 100;

/** Takes the whole terminal for some work and leaves it as it was, however the work or the process ends. */
export async function withFullScreen<Result>(
  terminal: Terminal,
  ears: ScreenEars,
  work: (screen: FullScreen) => Promise<Result>,
): Promise<Result> {
  const screen = createScreen(terminal, ears);
  screen.enter();
  try {
    return await work(screen);
  } finally {
    screen.leave();
    screen.forget();
  }
}

function createScreen({ out, stdin, signals }: Terminal, ears: ScreenEars) {
  let shown: Frame | undefined;
  let waiting: readonly Line[] | undefined;
  let isWriting = false;
  let endKeys: (() => void) | undefined;
  let isEntered = false;
  let going: NodeJS.Timeout | undefined;

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
    if (stdin.isTTY) endKeys = readKeys(stdin, ears.onKey);
  }

  /** Synchronous: it may be the last thing that the process does. */
  function leave(): void {
    if (!isEntered) return;
    isEntered = false;
    waiting = undefined;
    endKeys?.();
    void out.write(LEAVE);
  }

  function forget(): void {
    clearTimeout(going);
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
    if (isEntered) ears.onResize();
  }

  function suspend(): void {
    leave();
    // As if nobody had heard it: the shell sees the whole pipe stop.
    signals?.off('SIGTSTP', suspend);
    signals?.raise('SIGTSTP', 'group');
    // Without a shell above (ssh -t, a container) nothing is stopped, and nobody will say that it goes on.
    going = setTimeout(resume, GOES_ON_MS);
  }

  function resume(): void {
    clearTimeout(going);
    // Whoever stopped the process, the shell has had the terminal meanwhile.
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
