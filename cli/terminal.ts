import type { Readable, Writable } from 'node:stream';
import {
  CLEAR_LINE,
  TO_LINE_START,
  type Style,
  createStyle,
  cutTo,
  forPipe,
  terminalText,
  wantsColor,
} from './terminal-text.ts';
import { OutputLost, descriptorOf, writeWhole } from './whole-write.ts';

/** The streams and the environment of the process. Tests pass their own. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean; isRaw?: boolean; setRawMode?: (on: boolean) => unknown };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  env: Record<string, string | undefined>;
  cwd: string;
  /** Aborted when the user cancels (Ctrl-C). */
  signal?: AbortSignal;
  /** The signals of the process. Without this property payctl cannot be suspended. */
  signals?: Signals;
}

export interface Signals {
  on(name: NodeJS.Signals | 'exit', listener: () => void): unknown;
  off(name: NodeJS.Signals | 'exit', listener: () => void): unknown;
  /**
   * Sends a signal to this process. With `group`, the signal also goes to the processes that were started together with
   * payctl, e.g. the rest of a pipe.
   */
  raise(name: NodeJS.Signals, to: 'process' | 'group'): void;
}

export interface Sink {
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly style: Style;
  /** Calls the listener after a resize of the terminal. Returns the function that removes the listener. */
  onResize(listener: () => void): () => void;
  /** True after the reader closed the pipe (e.g. `| head`). From then on writing does nothing. */
  readonly closed: boolean;
  /** The error of a failed write; undefined if there was none. */
  readonly fault: OutputLost | undefined;
  /** The file descriptor; undefined for a terminal. */
  readonly fd: number | undefined;
  /**
   * Writes text and waits for the operating system. On a terminal, control characters in data become visible text. A
   * failed write to stdout throws OutputLost. A failed write to stderr is only recorded in `fault`.
   */
  write(text: string | Uint8Array): Promise<void>;
  flush(): Promise<void>;
  /** Redirects writes to a function; undefined ends the redirection. */
  via(put: ((bytes: Uint8Array) => void) | undefined): void;
}

export interface Terminal {
  readonly stdin: Streams['stdin'];
  readonly out: Sink;
  readonly err: Sink;
  /** The stream that `err` writes to. The prompts write to this stream directly. */
  readonly errStream: Streams['stderr'];
  readonly env: Streams['env'];
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly signals: Signals | undefined;
  /** Whether payctl may prompt: stdin and stderr are terminals, and neither --no-input nor CI is set. */
  readonly canAsk: boolean;
  now(): Date;
}

/** Creates the `Terminal` of a command. `input` is false with --no-input. */
export function createTerminal(streams: Streams, flags: { color?: string; input?: boolean } = {}): Terminal {
  const { stdin, stderr, env } = streams;
  const interactive = stdin.isTTY === true && stderr.isTTY === true;
  return {
    stdin,
    out: createSink(streams.stdout, flags.color, env),
    err: createSink(stderr, flags.color, env, 'notices'),
    errStream: stderr,
    env,
    cwd: streams.cwd,
    signal: streams.signal ?? new AbortController().signal,
    signals: streams.signals,
    canAsk: interactive && flags.input !== false && !isSet(env['CI']),
    now: () => new Date(),
  };
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value !== 'false';
}

type Written = string | Uint8Array;

/** All sinks of one output stream share this object. */
interface StreamState {
  closed: boolean;
  fault: OutputLost | undefined;
  /** Resolves after all pending writes; never rejects. */
  pending: Promise<void>;
  /** On a terminal, control characters in data become visible text; in a pipe or file, data stays unchanged. */
  read: (text: Written) => Written;
  put: ((bytes: Uint8Array) => void) | undefined;
}

const sinks = new WeakMap<Writable, StreamState>();

function asIs(text: Written): Written {
  return typeof text === 'string' ? forPipe(text) : text;
}

/** Creates the sink (the output functions) of stdout or stderr. `color` is the value of the flag --color. */
export function createSink(
  stream: Streams['stdout'],
  color: string | undefined,
  env: Streams['env'],
  kind: 'data' | 'notices' = 'data',
): Sink {
  const isTerminal = stream.isTTY === true;
  const state = watch(stream, isTerminal ? terminalText() : asIs);
  return {
    isTerminal,
    // Width and height are read at each use, because the operator may resize the terminal.
    get columns() {
      return Number(env['COLUMNS']) || stream.columns || 80;
    },
    get rows() {
      return Number(env['LINES']) || stream.rows || 24;
    },
    onResize(listener) {
      stream.on('resize', listener);
      return () => void stream.off('resize', listener);
    },
    style: createStyle(wantsColor(color, env, isTerminal)),
    get closed() {
      return state.closed;
    },
    get fault() {
      return state.fault;
    },
    fd: descriptorOf(stream),
    write(text) {
      const written = write(stream, state, text);
      // This promise never rejects. The error of a failed write stays in `fault`.
      const arrived = written.catch(() => {});
      state.pending = Promise.all([state.pending, arrived]).then(() => {});
      return kind === 'data' ? written : arrived;
    },
    flush: () => state.pending,
    via: (put) => void (state.put = put),
  };
}

function watch(stream: Writable, read: StreamState['read']): StreamState {
  const known = sinks.get(stream);
  if (known) return known;
  const state: StreamState = { closed: false, fault: undefined, pending: Promise.resolve(), read, put: undefined };
  sinks.set(stream, state);
  stream.on('error', (error) => failed(state, error));
  stream.on('close', () => (state.closed = true));
  return state;
}

/** Error codes of a closed pipe or stream, which are not reported as errors. */
const CLOSED_CODES = new Set<unknown>(['EPIPE', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

function failed(state: StreamState, error: unknown): void {
  if (error instanceof Error && 'code' in error && CLOSED_CODES.has(error.code)) state.closed = true;
  else state.fault ??= new OutputLost(error);
}

async function write(stream: Writable, state: StreamState, written: Written): Promise<void> {
  if (state.fault) throw state.fault;
  if (state.closed) return;
  const text = state.read(written);
  if (text.length === 0) return;
  try {
    if (state.put) state.put(typeof text === 'string' ? Buffer.from(text) : text);
    else await writeWhole(stream, text);
  } catch (error) {
    failed(state, error);
    if (state.fault) throw state.fault;
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const DELAY_MS = 300;
const FRAME_MS = 100;
const BAR = 20;

export interface Spinner {
  text: string;
  stop(): void;
}

/** Redraws one line of a terminal from a delay on, until the returned function removes it. */
function redraw(err: Sink, { delay, every }: { delay: number; every: number }, line: () => string): () => void {
  if (!err.isTerminal) return () => {};
  let shown = false;
  const draw = (): void => {
    shown = true;
    void err.write(`${CLEAR_LINE}${line()}`);
  };
  let timer: NodeJS.Timeout = setTimeout(() => {
    draw();
    timer = setInterval(draw, every);
    timer.unref();
  }, delay);
  timer.unref();
  return () => {
    clearTimeout(timer);
    if (shown) void err.write(CLEAR_LINE);
    shown = false;
  };
}

/** The number of running spinners of each stream. */
const spinning = new WeakMap<Sink, number>();

/** Starts a spinner that appears after 300 ms, only on a terminal. */
export function startSpinner(err: Sink, text: string): Spinner {
  let frame = 0;
  const spinner = { text, stop: () => {} };
  const count = (by: number) => spinning.set(err, (spinning.get(err) ?? 0) + by);
  const remove = redraw(err, { delay: DELAY_MS, every: FRAME_MS }, () => {
    const mark = FRAMES[frame++ % FRAMES.length] ?? '';
    return `${err.style('cyan', mark)} ${cutTo(spinner.text, err.columns - 3)}`;
  });
  count(1);
  spinner.stop = () => {
    spinner.stop = remove;
    count(-1);
    remove();
  };
  return spinner;
}

const PROGRESS_DELAY_MS = 2000;
const SECOND_MS = 1000;

/**
 * Starts a line with the seconds that work has taken, `text … 3 s`. It appears after two seconds, only on a terminal,
 * and not beside a spinner. The returned function removes it. The cursor stays at its beginning, so that a line of a log
 * overwrites it.
 */
export function startProgress(err: Sink, text: string): () => void {
  if ((spinning.get(err) ?? 0) > 0) return () => {};
  const begun = Date.now();
  return redraw(err, { delay: PROGRESS_DELAY_MS, every: SECOND_MS }, () => {
    const seconds = Math.round((Date.now() - begun) / SECOND_MS);
    return `${cutTo(`${text} … ${seconds} s`, err.columns - 1)}${TO_LINE_START}`;
  });
}

/** A progress bar with percentage. */
export function progressBar(done: number, whole: number): string {
  const share = whole > 0 ? Math.min(1, done / whole) : 1;
  const full = Math.floor(share * BAR);
  return `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${String(Math.floor(share * 100)).padStart(3)}%`;
}

/** Runs work under a spinner, and removes the spinner at the end. */
export async function withSpinner<T>(err: Sink, text: string, work: (spinner: Spinner) => Promise<T>): Promise<T> {
  const spinner = startSpinner(err, text);
  try {
    return await work(spinner);
  } finally {
    spinner.stop();
  }
}
