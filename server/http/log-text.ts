import { styleText } from 'node:util';
import type { ErrorDescription } from './describe-error.ts';
import { plainText } from './redaction.ts';

/** A line of the log as JSON has it. */
interface Line extends Record<string, unknown> {
  level?: string;
  time?: string;
  msg?: string;
  err?: ErrorDescription;
}

/** Paints where the terminal has colours and nobody said no (NO_COLOR). */
type Paint = (look: Parameters<typeof styleText>[0], text: string) => string;

const LOOKS: Readonly<Record<string, Parameters<typeof styleText>[0]>> = {
  fatal: ['red', 'bold'],
  error: 'red',
  warn: 'yellow',
  info: 'green',
};

/** Members that the words of a request say already. */
const SAID: ReadonlySet<string> = new Set(['method', 'route', 'status', 'ms', 'requestId', 'ip', 'caller']);

/** A line of the log for people: when, what, what it is about; behind an error where it happened. Nothing in it is obeyed by a terminal. */
export function logText(json: string, paint: Paint = styleText): string {
  const { level = '', time = '', msg = '', err, ...members } = JSON.parse(json) as Line;
  const isRequest = msg === 'request' && typeof members['route'] === 'string';
  const about = Object.entries(members).filter(([name]) => !(isRequest && SAID.has(name)));
  const words = [
    paint('dim', new Date(time).toTimeString().slice(0, 8)),
    paint(LOOKS[level] ?? 'dim', level.toUpperCase().padEnd(5)),
    plainText(isRequest ? requestWords(members) : msg),
    ...about.map(([name, value]) => paint('dim', `${name}=${shown(value)}`)),
  ];
  const places = errorLines(err);
  // What comes from outside happened nowhere in particular.
  if (err && !err.stack) return `${[...words, '-', ...places.map((line) => line.trim())].join(' ')}\n`;
  return `${[words.join(' '), ...places].join('\n')}\n`;
}

function requestWords({ method, route, status, ms, caller }: Record<string, unknown>): string {
  return [method, route, status, `${String(ms)} ms`, caller].filter((word) => word !== undefined).join(' ');
}

function errorLines(err: ErrorDescription | undefined, depth = 0): string[] {
  if (!err) return [];
  const { type, code, message, stack = '', cause } = err;
  const head = `${depth > 0 ? 'caused by ' : ''}${type}${code === undefined ? '' : ` ${code}`}: ${message}`;
  const lines = [head, ...stack.split('\n').filter(Boolean)].map((line) => `    ${plainText(line.trim())}`);
  return [...lines, ...errorLines(cause, depth + 1)];
}

function shown(value: unknown): string {
  return plainText(typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value));
}
