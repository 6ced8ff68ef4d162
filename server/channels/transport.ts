import { TransportFailed, type Transport, type WireAnswer, type WireRequest } from '../payments/channel.ts';
import { redactText, redactUrl } from './redaction.ts';

/** Largest answer that is read; more is `too_large`. */
const MAX_BYTES = 1024 * 1024;

/** One exchange with a channel for the order's timeline: secrets, signatures and headers are not in it. */
export interface ChannelMessage {
  call: string;
  orderNo?: string;
  refundNo?: string;
  method: WireRequest['method'];
  url: string;
  /** HTTP status; null when no complete answer came back. */
  status: number | null;
  /** Why there is no answer; null when there is one. */
  failure: TransportFailed['why'] | null;
  durationMs: number;
  request: string;
  answer: string;
}

/** What a transport is made from. */
export interface TransportOptions {
  /** Covers the whole exchange: connect, send and read. */
  timeoutMs: number;
  /** Told about every exchange; what it throws is ignored, for a record must never stop money. */
  record?: (message: ChannelMessage) => void;
}

/** A transport on `fetch` with keep-alive: one try, no redirects, 1 MB of raw bytes at most; throws TransportFailed. */
export function createTransport({ timeoutMs, record }: TransportOptions): Transport {
  return async (request) => {
    const started = performance.now();
    const tell = (result: Pick<ChannelMessage, 'status' | 'failure' | 'answer'>): void =>
      recordSafely(record, request, performance.now() - started, result);
    try {
      const answer = await exchange(request, timeoutMs);
      tell({ status: answer.status, failure: null, answer: redactText(answer.body.toString('utf8')) });
      return answer;
    } catch (error) {
      const failure = failureOf(error, timeoutMs);
      tell({ status: null, failure: failure.why, answer: '' });
      throw failure;
    }
  };
}

async function exchange(request: WireRequest, timeoutMs: number): Promise<WireAnswer> {
  const { method, headers, body } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(request.url, { method, headers, body, redirect: 'manual', signal });
  const bytes = await readCapped(response);
  return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
}

async function readCapped(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // Leaving the loop cancels the stream, so an endless answer costs no more than the cap.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new TransportFailed('too_large', `The response is larger than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function failureOf(error: unknown, timeoutMs: number): TransportFailed {
  if (error instanceof TransportFailed) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new TransportFailed('timeout', `No complete response within ${timeoutMs} ms.`, { cause: error });
  }
  return new TransportFailed('network', reasonOf(error), { cause: error });
}

/** `fetch` says only "fetch failed"; the code of the cause (ECONNREFUSED, UND_ERR_SOCKET …) says what failed. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The connection failed.';
  const cause: unknown = error.cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return code === '' ? error.message : `${error.message}: ${code}`;
}

function recordSafely(
  record: TransportOptions['record'],
  { about, method, url, body }: WireRequest,
  duration: number,
  result: Pick<ChannelMessage, 'status' | 'failure' | 'answer'>,
): void {
  if (!record) return;
  try {
    const durationMs = Math.round(duration);
    record({ ...about, method, url: redactUrl(url), durationMs, request: redactText(body ?? ''), ...result });
  } catch {
    // The exchange itself is what counts.
  }
}
