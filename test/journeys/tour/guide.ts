import { setTimeout } from 'node:timers/promises';
import type { Report } from './report.ts';
import type { Stage } from './stage.ts';

/** A step went otherwise than promised; the message is for the person who watches. */
export class Disappointment extends Error {}

/** A JSON answer. */
export interface Answer {
  status: number;
  headers: Headers;
  // Answers of every shape come by; each step checks what it needs.
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  body: any;
}

/** How a request is sent and shown. */
export interface Sending {
  body?: unknown;
  headers?: Record<string, string>;
  /** Names of members of `data` that are worth showing; all without. */
  show?: readonly string[];
  /** The status that must come. */
  status: number;
  quiet?: boolean;
}

/** The longest that any condition is waited for. */
const PATIENCE_MS = 30_000;

/** Sends requests, runs payctl, shows both, and throws a Disappointment when an answer is not the promised one. */
export function createGuide(stage: Stage, report: Report) {
  let token = '';

  async function send(method: string, path: string, sending: Sending): Promise<Answer> {
    const { body, show, status, quiet = false, headers = {} } = sending;
    if (!quiet) report.asked(`${method} ${path}`, masked(body));
    const answer = await fetch(stage.url + path, {
      method,
      headers: {
        ...(token && !path.startsWith('/oauth/') ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const read = { status: answer.status, headers: answer.headers, body: parse(text) };
    if (!quiet) report.answered(read.status, shown(read.body, show));
    if (read.status !== status)
      throw new Disappointment(`${method} ${path} answered ${read.status}, not ${status}: ${text.slice(0, 500)}`);
    return read;
  }

  return {
    send,
    report,
    stage,
    /** The token that every further request carries. */
    carry: (text: string) => void (token = text),
    async payctl(argv: readonly string[], hide = false): Promise<string> {
      report.asked(`payctl ${argv.map(quoted).join(' ')}`);
      const { code, stdout, stderr } = await stage.payctl(argv);
      if (code !== 0) throw new Disappointment(`payctl ${argv.join(' ')} ended with ${code}:\n${stderr.trim()}`);
      if (!hide && stdout.trim() !== '') report.answered('done', parse(stdout));
      return stdout;
    },
    /** Asks the simulator. */
    async simulator(path: string): Promise<Answer['body']> {
      const answer = await fetch(stage.simulatorUrl + path);
      return answer.json();
    },
    /** Waits until a condition holds. */
    async until<T>(what: string, condition: () => Promise<T | undefined | false>): Promise<T> {
      const end = Date.now() + PATIENCE_MS;
      for (;;) {
        const found = await condition();
        if (found) return found;
        if (Date.now() > end) throw new Disappointment(`waited in vain for this: ${what}`);
        await setTimeout(50);
      }
    },
    expect(what: string, holds: boolean): void {
      if (!holds) throw new Disappointment(`this should hold, and does not: ${what}`);
      report.checked(what);
    },
  };
}

/** What the chapters of the tour are given. */
export type Guide = ReturnType<typeof createGuide>;

function parse(text: string): Answer['body'] {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}

/** Secrets stay off the screen. */
function masked(body: unknown): unknown {
  const secrets = ['client_secret', 'token'];
  if (body === null || typeof body !== 'object') return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, secrets.includes(name) ? '…' : value]));
}

function shown(body: Answer['body'], show: readonly string[] | undefined): unknown {
  const inner = body?.data ?? body;
  if (!show || inner === null || typeof inner !== 'object') return inner;
  return Object.fromEntries(show.filter((name) => inner[name] !== undefined).map((name) => [name, inner[name]]));
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word}'`;
}
