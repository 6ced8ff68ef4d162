import type { Ending, Facts, Json } from './event.ts';
import type { Journal } from './journal.ts';

/** A request of a client. */
export interface Sent {
  url: string;
  method: string;
  path: string;
  body?: object;
  headers?: Record<string, string>;
}

/** How it ended: the facts of the answer go into the history beside what was asked. */
export interface Heard {
  end: Ending;
  facts: Facts;
}

/** Somebody who does one thing after the other. */
export interface Client {
  /** Writes down what is asked, sends it, writes down how it ended. */
  ask(f: string, asked: Facts, sent: Sent, read: (data: Answered) => Facts): Promise<Heard>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape are read
type Answered = any;

/** As long as a patient merchant waits. */
const PATIENCE_MS = 12_000;

/** Answers that are not in the document of the service: no fault of the world excuses them. */
export const undocumented: string[] = [];

/** A client that writes into a history. */
export function createClient(journal: Journal): Client {
  let process = journal.newProcess();
  return {
    async ask(f, asked, sent, read) {
      journal.note('invoke', process, f, asked);
      const heard = await send(sent, read);
      journal.note(heard.end, process, f, { ...asked, ...heard.facts });
      // Nobody knows whether it is over, so the next thing that is done is done by somebody else.
      if (heard.end === 'info') process = journal.newProcess();
      return heard;
    },
  };
}

/** 2xx was done, 4xx was refused for certain; of anything else nobody knows, but for a connection that was never made. */
async function send({ url, method, path, body, headers }: Sent, read: (data: Answered) => Facts): Promise<Heard> {
  try {
    const answer = await fetch(url + path, {
      method,
      headers: { ...(body && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await answer.text();
    const json = text.startsWith('{') ? (JSON.parse(text) as Answered) : {};
    const replayed: Json | undefined = answer.headers.get('idempotent-replayed') === 'true' ? true : undefined;
    if (answer.ok) return { end: 'ok', facts: { ...read(json), replayed } };
    const { code = json.error?.code ?? json.error, orderNo, refundNo } = json;
    const facts = { http: answer.status, code, orderNo, refundNo, replayed };
    return { end: answer.status < 500 ? 'fail' : 'info', facts };
  } catch (error) {
    const reason = reasonOf(error);
    if (reason.includes('not in doc.json')) undocumented.push(`${method} ${path}: ${reason}`);
    return { end: reason === 'ECONNREFUSED' ? 'fail' : 'info', facts: { code: reason } };
  }
}

function reasonOf(error: unknown): string {
  const { cause, message, name } = error as Error & { cause?: { code?: string } };
  return cause?.code ?? (name === 'TimeoutError' ? name : message);
}
