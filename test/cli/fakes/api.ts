import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { eventRow, samples, type Seen } from './rows.ts';
import { listenOnFreePort } from '../../support/free-port.ts';
import { messageOf } from './live.ts';

/** A response of the fake service. */
export interface FakeAnswer {
  status?: number;
  headers?: Record<string, string>;
  body?: unknown;
  /** Sent instead of a JSON body; `null` cuts the connection. */
  text?: string | null;
  /** Keeps the response open, as an event stream without further events. */
  stays?: boolean;
}

type FakeRoute = (request: Seen) => FakeAnswer | Promise<FakeAnswer>;

/** A fake service with responses in the shapes of the contract; records the requests. */
export interface FakeApi {
  url: string;
  seen: Seen[];
  /** Replaces the response to `METHOD /path`. */
  on(route: string, answer: FakeRoute): void;
  /** Transforms every response from now on. */
  changeAll(change: (answer: FakeAnswer) => FakeAnswer): void;
  close(): Promise<void>;
}

/** The token that the fake service accepts on `/api/v1`. */
export const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

/** Starts the fake service on a free port of this machine. */
export async function startFakeApi(): Promise<FakeApi> {
  const routes = new Map<string, FakeRoute>();
  const seen: Seen[] = [];
  let change = (answer: FakeAnswer): FakeAnswer => answer;
  const server = createServer((request, response) => {
    void receive(request).then(async (received) => {
      seen.push(received);
      const answer = routes.get(`${received.method} ${received.path}`) ?? common;
      send(response, change(await answer(received)));
    });
  });
  const port = await listenOnFreePort(server);
  return {
    url: `http://127.0.0.1:${port}`,
    seen,
    on: (route, answer) => void routes.set(route, answer),
    changeAll: (by) => (change = by),
    close: () => stop(server),
  };
}

/** The `Date` header of the fake service, equal to the `NOW` of the tests. */
const FAKE_DATE = 'Sat, 21 Nov 2026 06:05:00 GMT';

/** An error response as an RFC 9457 problem. */
export function problem(status: number, code: string, detail: string, more: Record<string, unknown> = {}): FakeAnswer {
  const body = { type: `/docs/errors/${code}`, title: code, status, detail, code, requestId: 'req-1', ...more };
  return { status, headers: { 'content-type': 'application/problem+json' }, body };
}

async function receive(request: IncomingMessage): Promise<Seen> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString('utf8');
  const url = new URL(request.url ?? '/', 'http://fake');
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
  );
  const query = Object.fromEntries(url.searchParams);
  return { method: request.method ?? '', path: url.pathname, query, headers, body: parse(text), text };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function send(response: ServerResponse, { status = 200, headers = {}, body, text, stays }: FakeAnswer): void {
  if (text === null) return void response.destroy();
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-request-id': 'req-1',
    date: FAKE_DATE,
    ...headers,
  });
  const content = text ?? (body === undefined ? '' : JSON.stringify(body));
  if (stays) response.write(content);
  else response.end(content);
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => void server.close(() => resolve()));
}

const OPEN =
  /^(\/health|\/api\/v1\/login$|\/api\/v1\/payment\/channels$|\/oauth\/|\/api\/v2\/|\/sim\/|\/\.well-known\/)/;

function common(request: Seen): FakeAnswer {
  if (!OPEN.test(request.path) && request.headers['authorization'] !== `Bearer ${TOKEN}`) {
    return problem(401, 'unauthorized', 'Log in first.');
  }
  const found = samples.find(([pattern]) => pattern.test(request.path));
  if (!found) return problem(404, 'not_found', 'The resource was not found.');
  if (request.method === 'DELETE') return { status: 204 };
  const answer = found[1](request);
  if (answer === 'stream') return eventStream(`id: 7\nevent: order.paid\ndata: ${JSON.stringify(eventRow)}\n\n`);
  if (answer === 'live') return eventStream(messageOf('snapshot', 0, 3));
  return { status: request.method === 'POST' && found[2] ? 201 : 200, body: answer };
}

function eventStream(messages: string): FakeAnswer {
  return { headers: { 'content-type': 'text/event-stream' }, text: `: hello\n\n${messages}` };
}
