import type { AgentOptions, ClientRequest, IncomingMessage } from 'node:http';
import { Cancelled, CliError, EXIT, codeOf, isUntrusted, networkCause } from './errors.ts';
import type { Sink } from './terminal.ts';
import { visible } from './values.ts';

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
      ? 'name the certificate of its authority with --ca-file FILE or NODE_EXTRA_CA_CERTS'
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
/** What an authenticator shows, or a recovery code; other members of this name are codes of things and faults. */
const ONE_TIME_CODE = /^(\d{3} ?\d{3}|([0-9a-z]{6}[- ]?){3}[0-9a-z]{6})$/i;

/** A value that is safe to show: secrets are replaced by `***`, by their key and by what they look like. */
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

/** A text without anything that looks like a secret of ours, a JWT or a PEM. */
export function redactText(text: string): string {
  return SECRET_VALUE.reduce((clean, pattern) => clean.replace(pattern, '***'), text);
}

/** A JSON (or other) body as text without secrets; what cannot be parsed shows only its size. */
export function redactBody(body: string): string {
  if (body === '') return '';
  try {
    return JSON.stringify(redact(JSON.parse(body)));
  } catch {
    return `(${body.length} characters)`;
  }
}

/** A path whose query carries no secret. */
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

/** Shows the HTTP traffic on stderr: headers by an allow-list, bodies without secrets. */
export interface Trace {
  request(method: string, url: URL, headers: Record<string, string>, body: WireRequest['body']): Promise<void>;
  answer(
    status: number,
    headers: Record<string, string | undefined>,
    text: string | undefined,
    milliseconds: number,
  ): Promise<void>;
}

/** The trace of --debug, or one that says nothing. */
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
