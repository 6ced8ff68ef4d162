import type { WireRequest } from './http.ts';
import { redactBody, redactPath, redactText } from './redact.ts';
import type { Sink } from './terminal.ts';
import { visible } from './values.ts';

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
