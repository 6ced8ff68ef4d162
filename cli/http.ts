import type { AgentOptions, ClientRequest, IncomingMessage } from 'node:http';
import { Cancelled, CliError, EXIT, codeOf, isUntrusted, networkCause } from './errors.ts';
import type { Sink } from './terminal.ts';
import { visible } from './values.ts';

/** `open` is called for each attempt and yields the body from its first byte. */
export interface StreamedBody {
  length: number;
  open(): AsyncIterable<Uint8Array>;
}

export interface WireRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body?: string | Uint8Array | StreamedBody;
  /** Read timeout in milliseconds, before the response and between its parts. 0 = no timeout. */
  timeoutMs: number;
  signal: AbortSignal;
  /** PEM of additional certificate authorities; undefined for the default authorities. */
  ca?: string | undefined;
}

/** Resolves with the response headers; follows no redirects. Without a response, throws a CliError with exit code 7. */
export async function openExchange(request: WireRequest): Promise<IncomingMessage> {
  // A static import of node:http also loads fetch and WebSocket, which takes a fifth of the time of a short command.
  const client = process.getBuiltinModule(request.url.protocol === 'https:' ? 'node:https' : 'node:http');
  return new Promise((resolve, reject) => {
    const agent = new client.Agent({
      keepAlive: false,
      // Node.js sets the proxy only on its global agent, so the setting is copied.
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

/** The TLS option `ca` alone would replace the default certificate authorities of Node.js. */
function authorities(ca: string): string[] {
  return [...process.getBuiltinModule('node:tls').getCACertificates('default'), ca];
}

async function sendBody(sent: ClientRequest, body: WireRequest['body']): Promise<void> {
  if (typeof body !== 'object' || body instanceof Uint8Array) return void sent.end(body);
  const { pipeline, Readable } = await import('node:stream');
  // If the body cannot be read, the pipeline destroys the request `sent`, and the request then emits the error. After
  // the service has responded, the error is irrelevant.
  pipeline(Readable.from(body.open(), { objectMode: false }), sent, () => {});
}

/** Reads a complete response as text. If the connection breaks before its end, throws a CliError with exit code 7. */
export async function readText(answer: IncomingMessage, request: WireRequest): Promise<string> {
  try {
    const parts: Buffer[] = [];
    for await (const part of answer) parts.push(part as Buffer);
    return Buffer.concat(parts).toString('utf8');
  } catch (error) {
    throw unreachable(error, request);
  }
}

function unreachable(error: unknown, request: Pick<WireRequest, 'url' | 'signal' | 'timeoutMs'>): CliError {
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
      ? 'give the CA certificate of the server with --ca-file FILE or NODE_EXTRA_CA_CERTS'
      : 'payctl status',
  });
}

const SECRET_KEY =
  /(secret|password|passwd|passphrase|token|authorization|cookie|private_?key|api_?v3_?key|master_?key|^content$|^pem$|^key$|^file$|_key$|recovery_?codes)/i;
const PUBLIC_KEY =
  /^(tokenType|token_type|secretCreatedAt|previousSecretExpiresAt|idempotency-?key|csrf|revokeTokens|tokenTtlSeconds)$/i;
const SECRET_VALUE = [
  /pays_[A-Za-z0-9_-]{8,}/g,
  /whsec_[A-Za-z0-9+/=_-]{8,}/g,
  /eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*/g,
  /-----BEGIN [^-]+-----[\s\S]*?(-----END [^-]+-----|$)/g,
  /otpauth:\/\/[^\s"]+/g,
];
/** A property `code` is secret only if its value has this form. Other values are error codes or product codes. */
const ONE_TIME_CODE = /^(\d{3} ?\d{3}|([0-9a-z]{6}[- ]?){3}[0-9a-z]{6})$/i;

/** Replaces secrets by `***`. Secrets are recognized by the name of the property or by their form. */
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, isSecret(key, inner) ? '***' : redact(inner)]),
  );
}

function isSecret(key: string, value: unknown): boolean {
  if (key === 'code' && typeof value === 'string') return ONE_TIME_CODE.test(value);
  return SECRET_KEY.test(key) && !PUBLIC_KEY.test(key) && typeof value !== 'boolean' && value !== null;
}

/** Removes tokens of the service, JWTs and PEM blocks from a text. */
export function redactText(text: string): string {
  return SECRET_VALUE.reduce((clean, pattern) => clean.replace(pattern, '***'), text);
}

/** Redacts a request or response body for --debug. If the body is not JSON, only its size is shown. */
export function redactBody(body: string): string {
  if (body === '') return '';
  try {
    return JSON.stringify(redact(JSON.parse(body)));
  } catch {
    return `(${body.length} characters)`;
  }
}

/** Redacts secrets in the query string of a path. */
export function redactPath(path: string): string {
  return path.replace(/([?&])([^=&]+)=([^&]*)/g, (whole, mark: string, key: string) =>
    SECRET_KEY.test(key) && key !== 'key' ? `${mark}${key}=***` : whole,
  );
}

const SHOWN = new Set([
  'accept',
  'content-type',
  'content-length',
  'idempotency-key',
  'idempotency-key-ignored',
  'idempotent-replayed',
  'last-event-id',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'user-agent',
  'www-authenticate',
  'x-out-trade-no',
  'x-request-id',
]);

/** Prints requests and responses for --debug: only the headers in `SHOWN`, and bodies without secrets. */
export interface Trace {
  request(method: string, url: URL, headers: Record<string, string>, body: WireRequest['body']): Promise<void>;
  answer(
    status: number,
    headers: Record<string, string | undefined>,
    text: string | undefined,
    milliseconds: number,
  ): Promise<void>;
}

/** Creates the trace for --debug. Without --debug the trace does nothing. */
export function createTrace(err: Sink, enabled: boolean): Trace {
  if (!enabled) return { request: async () => {}, answer: async () => {} };
  const write = (mark: string, lines: readonly string[]): Promise<void> =>
    err.write(lines.map((line) => err.style('dim', `${mark} ${visible(line)}\n`)).join(''));
  return {
    request: (method, url, headers, body) =>
      write('>', [
        `${method} ${url.origin}${redactPath(url.pathname + url.search)}`,
        ...headerLines(headers),
        ...bodyLines(body),
      ]),
    answer: (status, headers, text, milliseconds) =>
      write('<', [`${status} in ${Math.round(milliseconds)} ms`, ...headerLines(headers), ...bodyLines(text)]),
  };
}

function headerLines(headers: Record<string, string | undefined>): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (lower === 'authorization') return [`${lower}: ***`];
    return SHOWN.has(lower) && value !== undefined ? [`${lower}: ${redactText(value)}`] : [];
  });
}

function bodyLines(body: WireRequest['body']): string[] {
  if (body === undefined || body.length === 0) return [];
  return [typeof body === 'string' ? redactBody(body) : `(${body.length} bytes)`];
}
