import type { ExecutionContext } from 'ava';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { listenOnFreePort } from './free-port.ts';

/** One message that a receiver got. */
export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

/** A merchant's webhook receiver. */
export interface Receiver {
  url: string;
  received: Received[];
  /** Its answer from now on. */
  answer: (received: Received, count: number) => Answer | Promise<Answer>;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
}

/** Starts a receiver on a free port; it answers 200 by default. */
export async function startReceiver(t: ExecutionContext): Promise<Receiver> {
  const receiver: Receiver = { url: '', received: [], answer: () => ({ status: 200 }) };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const message = { headers: request.headers, body: Buffer.concat(parts).toString() };
      receiver.received.push(message);
      const { status, headers } = await receiver.answer(message, receiver.received.length);
      response.writeHead(status, headers).end();
    });
  });
  const port = await listenOnFreePort(server);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  receiver.url = `http://127.0.0.1:${port}/hook`;
  return receiver;
}
