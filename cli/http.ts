import type { AgentOptions, ClientRequest, IncomingMessage } from 'node:http';
import { CliError, Cancelled, EXIT, codeOf, isUntrusted, networkCause } from './errors.ts';

/** A body that is never held in memory: its length, and its parts from the beginning at each call. */
export interface StreamedBody {
  length: number;
  open(): AsyncIterable<Uint8Array>;
}

/** One HTTP request as it goes on the wire. */
export interface WireRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Uint8Array | StreamedBody;
  /** Longest silence, in milliseconds, before the answer begins and between its parts; 0 = none. */
  timeoutMs: number;
  signal: AbortSignal;
  /** PEM of the authorities that sign the server's certificate, beside those that Node.js knows. */
  ca?: string | undefined;
}

/** Sends one request and gives the answer as soon as its headers are there; throws CliError 7 when none comes. No redirect is followed. */
export async function openExchange(request: WireRequest): Promise<IncomingMessage> {
  // An import would read every export, and one of them loads all of fetch and WebSocket: a fifth of a short command.
  const client = process.getBuiltinModule(request.url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const agent = new client.Agent({
      keepAlive: false,
      // An agent that a program makes has no proxy by itself.
      proxyEnv: (client.globalAgent as { options?: AgentOptions }).options?.proxyEnv,
      ...(request.ca !== undefined && { ca: authorities(request.ca) }),
    });
    const { method, headers, signal } = request;
    const sent: ClientRequest = client.request(request.url, { method, headers, agent, signal }, resolve);
    sent.on('error', (error) => reject(error instanceof CliError ? error : unreachable(error, request)));
    if (request.timeoutMs > 0) {
      sent.setTimeout(request.timeoutMs, () =>
        sent.destroy(Object.assign(new Error('no answer'), { code: 'PAYCTL_TIMEOUT' })),
      );
    }
    void sendBody(sent, request.body);
  });
}

/** `ca` of a request would take the place of the authorities that Node.js knows, and of NODE_EXTRA_CA_CERTS. */
function authorities(ca: string): string[] {
  return [...process.getBuiltinModule('node:tls').getCACertificates('default'), ca];
}

async function sendBody(sent: ClientRequest, body: WireRequest['body']): Promise<void> {
  if (typeof body !== 'object' || body instanceof Uint8Array) return void sent.end(body);
  const { pipeline, Readable } = await import('node:stream');
  // What goes wrong here destroys `sent`, which tells it; after an early answer it no longer matters.
  pipeline(Readable.from(body.open(), { objectMode: false }), sent, () => {});
}

/** Reads a whole answer as text; throws CliError 7 when it breaks off. */
export async function readText(answer: IncomingMessage, request: WireRequest): Promise<string> {
  try {
    const parts: Buffer[] = [];
    for await (const part of answer) parts.push(part as Buffer);
    return Buffer.concat(parts).toString('utf8');
  } catch (error) {
    throw unreachable(error, request);
  }
}

/** Turns a network error into one sentence with its cause, and exit code 7. */
export function unreachable(error: unknown, request: Pick<WireRequest, 'url' | 'signal' | 'timeoutMs'>): CliError {
  if (request.signal.aborted) return new Cancelled('Cancelled while waiting for the server.');
  const { origin } = request.url;
  if (codeOf(error) === 'PAYCTL_TIMEOUT') {
    return new CliError('timeout', EXIT.tryAgain, `${origin} did not respond within ${request.timeoutMs / 1000} s.`, {
      cause: error,
      hint: 'retry, or wait longer with --timeout',
    });
  }
  return new CliError('unreachable', EXIT.tryAgain, `Cannot reach ${origin}: ${networkCause(error)}.`, {
    cause: error,
    hint: isUntrusted(error)
      ? 'name the certificate of its authority with --ca-file FILE or NODE_EXTRA_CA_CERTS'
      : 'payctl status',
  });
}
