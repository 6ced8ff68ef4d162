import type { Readable, Writable } from 'node:stream';
import { forPipe, terminalText } from './escapes.ts';
import { createStyle, wantsColor, type Style } from './style.ts';

/** What a command runs on; tests pass their own. */
export interface Streams {
  stdin: Readable & { isTTY?: boolean; isRaw?: boolean; setRawMode?: (on: boolean) => unknown };
  stdout: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  stderr: Writable & { isTTY?: boolean; columns?: number };
  env: Record<string, string | undefined>;
  cwd: string;
  /** Aborted when the user cancels (Ctrl-C). */
  signal?: AbortSignal;
  /** The signals of the process; without them nothing can be suspended. */
  signals?: Signals;
}

/** What a program on a whole screen hears of the operating system, and does as if nobody had heard it. */
export interface Signals {
  on(name: NodeJS.Signals | 'exit', listener: () => void): unknown;
  off(name: NodeJS.Signals | 'exit', listener: () => void): unknown;
  /** Sends a signal to this process, or with it to those that it was started with, such as the rest of a pipe. */
  raise(name: NodeJS.Signals, to: 'process' | 'group'): void;
}

/** One of the two outputs, with its own idea of being a terminal and of colours. */
export interface Sink {
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
  readonly style: Style;
  /** Calls the listener when the terminal was resized; gives the function that ends it. */
  onResize(listener: () => void): () => void;
  /** True once the reader has gone away (`| head`); writing is then a no-op. */
  readonly closed: boolean;
  /**
   * Writes and waits while the reader is slower than we are. A pipe or a file gets the data as it is; on a terminal, whatever it
   * would obey and is not our own is visible text.
   */
  write(text: string | Uint8Array): Promise<void>;
}

/** The streams, seen as a terminal or not. */
export interface Terminal {
  readonly stdin: Streams['stdin'];
  readonly out: Sink;
  readonly err: Sink;
  /** The stream behind `err`, for what draws by itself (questions). */
  readonly errStream: Streams['stderr'];
  readonly env: Streams['env'];
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly signals: Signals | undefined;
  /** Whether a question can be asked: stdin and stderr are terminals, and nobody said no. */
  readonly canAsk: boolean;
  now(): Date;
}

/** Wraps the streams; `color` and `input` are the values of the global flags. */
export function createTerminal(streams: Streams, flags: { color?: string; input?: boolean } = {}): Terminal {
  const { stdin, stderr, env } = streams;
  const interactive = stdin.isTTY === true && stderr.isTTY === true;
  return {
    stdin,
    out: createSink(streams.stdout, flags.color, env),
    err: createSink(stderr, flags.color, env),
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

/** What is known of a stream, however many sinks it has. */
interface StreamState {
  closed: boolean;
  /** What is sent for what is written. */
  read: (text: Written) => Written;
}

const sinks = new WeakMap<Writable, StreamState>();

function asIs(text: Written): Written {
  return typeof text === 'string' ? forPipe(text) : text;
}

/** Wraps one stream; `color` is the value of the global flag. */
export function createSink(stream: Streams['stdout'], color: string | undefined, env: Streams['env']): Sink {
  const isTerminal = stream.isTTY === true;
  const state = watch(stream, isTerminal ? terminalText() : asIs);
  return {
    isTerminal,
    // Read at every use: a terminal may be resized.
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
    write: (text) => write(stream, state, text),
  };
}

function watch(stream: Writable, read: StreamState['read']): StreamState {
  const known = sinks.get(stream);
  if (known) return known;
  const state = { closed: false, read };
  sinks.set(stream, state);
  // A reader that went away (EPIPE) is no failure; anything else on an output cannot be reported anywhere.
  stream.on('error', () => (state.closed = true));
  stream.on('close', () => (state.closed = true));
  return state;
}

function write(stream: Writable, state: StreamState, written: Written): Promise<void> {
  if (state.closed) return Promise.resolve();
  const text = state.read(written);
  if (text.length === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done).off('close', done).off('error', done);
      resolve();
    };
    if (stream.write(text)) return resolve();
    stream.once('drain', done).once('close', done).once('error', done);
  });
}
