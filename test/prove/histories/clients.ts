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

/** The end of a request: the facts of the response are recorded beside the request. */
export interface Heard {
  end: Ending;
  facts: Facts;
}

/** A client that performs one request after the other. */
export interface Client {
  /** Records the request, sends it and records its end. */
  ask(f: string, asked: Facts, sent: Sent, read: (data: Answered) => Facts): Promise<Heard>;
}

// oxlint-disable-next-line typescript/no-explicit-any -- answers of every shape are read
type Answered = any;

/** The time that a patient merchant waits. */
const PATIENCE_MS = 12_000;

/** Responses missing from the API document: no injected fault excuses them. */
export const undocumented: string[] = [];

/** A client that records into a history. */
export function createClient(journal: Journal): Client {
  let process = journal.newProcess();
  return {
    async ask(f, asked, sent, read) {
      journal.note('invoke', process, f, asked);
      const heard = await send(sent, read);
      journal.note(heard.end, process, f, { ...asked, ...heard.facts });
      // The outcome is unknown, so the next request is recorded under a new process.
      if (heard.end === 'info') process = journal.newProcess();
      return heard;
    },
  };
}

/** 2xx is success, 4xx is a certain refusal; anything else is unknown, except a connection that was never made. */
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
