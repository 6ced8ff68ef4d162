import { setTimeout } from 'node:timers/promises';
import { type Client, createClient, PaymentProblem } from '../../../server/client/ts/index.ts';
import type { Report } from './report.ts';
import type { Stage } from './stage.ts';

/** A step had an unexpected result; the message is for the person running the tour. */
export class Disappointment extends Error {}

/** A JSON answer. */
export interface Answer {
  status: number;
  headers: Headers;
  // Answers have many shapes; each step checks the members that it needs.
  // oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape
  body: any;
}

/** How a request is sent and shown. */
export interface Sending {
  body?: unknown;
  headers?: Record<string, string>;
  /** The members of `data` to show; without it all are shown. */
  show?: readonly string[];
  /** The expected status. */
  status: number;
  quiet?: boolean;
}

/** The timeout for a condition. */
const PATIENCE_MS = 30_000;

/** Sends requests, runs payctl, prints both, and throws a Disappointment if an answer is not the expected one. */
export function createGuide(stage: Stage, report: Report) {
  let client: Client | undefined;
  /** The members of the next answer to show; undefined hides request and answer. */
  let shows: readonly string[] | undefined;

  /** Sends a request of the client and prints it. */
  async function sendShown(url: string, init: RequestInit): Promise<Response> {
    const path = url.slice(stage.url.length);
    const show = path === '/oauth/token' ? ['token_type', 'expires_in', 'scope'] : shows;
    if (show) report.asked(`${init.method} ${path}`, masked(init.body ? parse(String(init.body)) : undefined));
    const answer = await fetch(url, init);
    if (show) report.answered(answer.status, shown(parse(await answer.clone().text()), show));
    return answer;
  }

  /** Calls an operation through the merchant client and shows some members of the answer. */
  async function call<Given>(
    show: readonly string[] | undefined,
    operation: (client: Client) => Promise<Given>,
  ): Promise<Given> {
    if (!client) throw new Disappointment('there is no application yet');
    shows = show;
    try {
      return await operation(client);
    } catch (error) {
      throw error instanceof PaymentProblem
        ? new Disappointment(`${error.operation} was refused with ${error.code}: ${error.message}`, { cause: error })
        : error;
    }
  }

  /** Calls an operation that must be refused; returns the refusal. */
  async function refusal(
    show: readonly string[],
    operation: (client: Client) => Promise<unknown>,
  ): Promise<PaymentProblem> {
    try {
      await call(show, operation);
    } catch (error) {
      if (error instanceof Disappointment && error.cause instanceof PaymentProblem) return error.cause;
      throw error;
    }
    throw new Disappointment('the request succeeded, but a refusal was expected');
  }

  async function send(method: string, path: string, sending: Sending): Promise<Answer> {
    const { body, show, status, quiet = false, headers = {} } = sending;
    if (!quiet) report.asked(`${method} ${path}`, masked(body));
    const answer = await fetch(stage.url + path, {
      method,
      headers: {
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
    call,
    refusal,
    /** Sets the application of all later calls. */
    enter(clientId: string, clientSecret: string): void {
      client = createClient({ baseUrl: stage.url, clientId, clientSecret, fetch: sendShown });
    },
    async payctl(argv: readonly string[], hide = false): Promise<string> {
      report.asked(`payctl ${argv.map(quoted).join(' ')}`);
      const { code, stdout, stderr } = await stage.payctl(argv);
      if (code !== 0) throw new Disappointment(`payctl ${argv.join(' ')} ended with ${code}:\n${stderr.trim()}`);
      if (!hide && stdout.trim() !== '') report.answered('done', parse(stdout));
      return stdout;
    },
    /** Calls the simulator. */
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
        if (Date.now() > end) throw new Disappointment(`timed out waiting for: ${what}`);
        await setTimeout(50);
      }
    },
    expect(what: string, holds: boolean): void {
      if (!holds) throw new Disappointment(`check failed: ${what}`);
      report.checked(what);
    },
  };
}

/** The functions available to the chapters of the tour. */
export type Guide = ReturnType<typeof createGuide>;

function parse(text: string): Answer['body'] {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}

/** Hides secrets from the output. */
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
