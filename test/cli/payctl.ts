import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Overrides } from '../../cli/context.ts';
import { main } from '../../cli/main.ts';
import type { Prompts } from '../../cli/prompts.ts';
import type { Streams } from '../../cli/terminal.ts';
import { TOKEN, startFakeApi, type FakeApi } from './fakes/api.ts';

/** The exit code and output of a payctl run. */
export interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** Options of a run; the default is a script without a terminal and with empty stdin. */
export interface RunOptions extends Overrides {
  stdin?: string | Buffer;
  env?: Record<string, string | undefined>;
  /** Makes stdin, stdout and stderr terminals of this width. */
  terminal?: number;
  cwd?: string;
  signal?: AbortSignal;
  /** Replaces the collected stdout. */
  stdout?: Streams['stdout'];
  stderr?: Streams['stderr'];
}

/** A fake service, and a folder with a logged-in context `dev`. */
export interface Place {
  api: FakeApi;
  folder: string;
  payctl(argv: readonly string[], options?: RunOptions): Promise<Result>;
  /** Replaces the contexts with these, all logged in at the fake service. */
  logIn(labels: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** The current time of every run. */
export const NOW = new Date('2026-11-21T06:05:00.000Z');

/** A service that may be installed on the machine of the tests changes nothing. */
const NOT_INSTALLED: Overrides['installation'] = {
  config: '/nonexistent/pay.toml',
  unit: '/nonexistent/pay.service',
  wrapper: '/nonexistent/as-pay',
};

/** Creates a place; `label` is the label of its context. */
export async function makePlace(label: 'dev' | 'staging' | 'prod' = 'dev'): Promise<Place> {
  const [api, folder] = await Promise.all([startFakeApi(), mkdtemp(join(tmpdir(), 'payctl-test-'))]);
  await logIn(folder, api.url, [label]);
  return {
    api,
    folder,
    payctl: (argv, options = {}) =>
      runPayctl(argv, {
        cwd: folder,
        ...options,
        env: { PAYCTL_CONFIG_DIR: folder, PAYCTL_SIMULATOR: api.url, ...options.env },
      }),
    logIn: (labels) => logIn(folder, api.url, labels),
    async close() {
      await api.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function logIn(folder: string, server: string, labels: readonly string[]): Promise<void> {
  const saved = labels.map((label) => [label, { server, label, user: 'alice' }]);
  const session = {
    origin: server,
    username: 'alice',
    role: 'admin',
    token: TOKEN,
    expiresAt: '2026-11-22T06:00:00.000Z',
  };
  const contexts = { current: labels[0] ?? null, contexts: Object.fromEntries(saved) };
  const sessions = Object.fromEntries(labels.map((label) => [label, session]));
  await writeFile(join(folder, 'contexts.json'), JSON.stringify(contexts), { mode: 0o600 });
  await writeFile(join(folder, 'credentials.json'), JSON.stringify({ version: 1, sessions }), { mode: 0o600 });
}

/** Runs payctl in this process and collects its output. */
export async function runPayctl(
  argv: readonly string[],
  { stdin = '', env = {}, terminal, cwd = tmpdir(), signal, stdout, stderr, ...overrides }: RunOptions = {},
): Promise<Result> {
  const out = collector(terminal);
  const err = collector(terminal);
  const input: Streams['stdin'] = Object.assign(
    Readable.from(stdin === '' ? [] : [Buffer.from(stdin)]),
    terminal === undefined ? {} : { isTTY: true },
  );
  const streams: Streams = {
    stdin: input,
    stdout: stdout ?? out.stream,
    stderr: stderr ?? err.stream,
    env,
    cwd,
    ...(signal ? { signal } : {}),
  };
  const code = await main(argv, streams, { now: () => NOW, installation: NOT_INSTALLED, ...overrides });
  return { code, stdout: out.text(), stderr: err.text() };
}

/** A stream that collects its input as text; with `columns` it is a terminal. */
export function collector(columns?: number): {
  stream: PassThrough & { isTTY?: boolean; columns?: number };
  text: () => string;
} {
  const parts: Buffer[] = [];
  const stream = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  stream.on('data', (part: Buffer) => parts.push(part));
  return { stream, text: () => Buffer.concat(parts).toString('utf8') };
}

/** Prompts that answer by flag, otherwise with `otherwise`, and record the questions. */
export function scripted(
  answers: Record<string, string | string[] | boolean> = {},
  otherwise = 'x',
): Prompts & { asked: string[] } {
  const asked: string[] = [];
  const answer = (flag: string, message: string): string | string[] | boolean => {
    asked.push(message);
    return answers[flag] ?? /^--confirm (.+)$/.exec(flag)?.[1] ?? otherwise;
  };
  return {
    possible: true,
    asked,
    text: async ({ flag, message }) => String(answer(flag, message)),
    secret: async ({ flag, message }) => String(answer(flag, message)),
    yes: async ({ flag, message }) => answer(flag, message) !== false,
    choose: async ({ flag, message }, choices) =>
      answers[flag] ? String(answer(flag, message)) : (asked.push(message), choices[0]?.value ?? ''),
    chooseMany: async ({ flag, message }, choices) => {
      asked.push(message);
      const given = answers[flag];
      return Array.isArray(given) ? given : choices.filter((choice) => choice.checked).map((choice) => choice.value);
    },
  };
}

/** A step of a program on a real terminal, see `pty.py`. */
export type TerminalStep = { wait: string } | { type: string } | { signal: string } | { resize: [number, number] };

interface TerminalCase {
  name: string;
  argv: readonly string[];
  env: Record<string, string>;
  size: [columns: number, rows: number];
  steps: readonly TerminalStep[];
}

interface TerminalEnd {
  name: string;
  /** Whether the terminal has the same modes as before the program. */
  same: boolean;
  status: number | null;
  signal: string | null;
  output: string;
}

const PTY = fileURLToPath(new URL('pty.py', import.meta.url));

/** The reason to skip a test when a program is not installed; undefined when it is. */
export function missing(program: string): string | undefined {
  if (spawnSync(program, ['--version']).status === 0) return undefined;
  return `Not run: this machine has no ${program}. Debian: apt install ${program}`;
}

/** Runs programs concurrently, each on its own real terminal; needs python3. */
export async function onTerminals(cases: readonly TerminalCase[]): Promise<TerminalEnd[]> {
  const child = spawn('python3', [PTY], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(JSON.stringify(cases));
  let text = '';
  for await (const part of child.stdout) text += String(part);
  return JSON.parse(text) as TerminalEnd[];
}

/** Splits an example into words as a shell would, without redirections; returns the file of `<` as `input`. */
export function splitWords(line: string): { words: string[]; input: string | undefined } {
  const [, command = line, input] = /^(?:mkdir -p \S+ && )?(.*?)(?:\s+<\s*(\S+)|\s+>\s*\S.*)?$/.exec(line) ?? [];
  const words: string[] = [];
  for (const [, double, single, bare] of command.matchAll(/"([^"]*)"|'([^']*)'|((?:[^\s"']|"[^"]*")+)/g)) {
    words.push(double ?? single ?? (bare ?? '').replaceAll('"', ''));
  }
  return { words, input };
}
