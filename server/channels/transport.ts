/**
 * HTTP to the channels: sends one request, downloads a file, and cleans texts before they are sent or stored. Each
 * request about an order is recorded for the order's timeline (the list of everything that happened to the order).
 */
import type { Span } from '@opentelemetry/api';
import { isUtf8 } from 'node:buffer';
import { CHANNELS } from '../domain.ts';
import {
  type Download,
  type PayWay,
  type Transport,
  TransportFailed,
  type WireAnswer,
  type WireFile,
  type WireRequest,
} from '../payments/channel.ts';
import { noteSupportId, readNumberAtChannel } from '../payments/numbers.ts';
import { type SpanAbout, inSpan } from '../work.ts';

/** The maximum number of bytes of a response. A larger response fails with `too_large`. */
const MAX_BYTES = 1024 * 1024;

/**
 * One request to a channel and its response, as the timeline (the history) of an order shows them. Headers, secrets and
 * signatures are left out.
 */
export interface ChannelMessage {
  payWay: PayWay;
  direction: 'out';
  call: string;
  orderNo: string;
  /**
   * The refund number in this service; null if the request is not about a refund. From the second attempt of a refund
   * on, the number sent to the channel ends with `_<attempt>`; this ending is removed here.
   */
  refundNo: string | null;
  /** The id by which the channel's support staff can find the request; null if the response has none. */
  supportId: string | null;
  /** The HTTP status; null if there was no complete response. */
  status: number | null;
  durationMs: number;
  request: string;
  answer: string;
  /** The cause if there was no response; null if there was one. */
  note: TransportFailed['why'] | null;
  at: Date;
}

interface Recording {
  payWay: PayWay;
  now: () => Date;
  /**
   * Stores the message. Errors of this function are ignored, because a payment must not fail when its message cannot be
   * stored.
   */
  record: (message: ChannelMessage) => void;
  /** Called with the time in the `Date` header of each response, which shows a wrong clock. Its errors are ignored. */
  theirTime?: (time: Date) => void;
}

interface TransportOptions {
  /** The time limit of the whole request: to connect, to send and to read the response. */
  timeoutMs: number;
  recording?: Recording;
}

/**
 * Creates the function that sends a request once, follows no redirect, and reads at most 1 MB. Throws TransportFailed.
 */
export function createTransport({ timeoutMs, recording }: TransportOptions): Transport {
  return (request) =>
    inSpan(`${recording?.payWay ?? 'channel'} ${request.about.call}`, spanOf(request, recording), (span) =>
      send(request, span),
    );

  async function send(request: WireRequest, span: Span | undefined): Promise<WireAnswer> {
    const started = performance.now();
    const record = (result: Pick<ChannelMessage, 'status' | 'note' | 'answer' | 'supportId'>): void =>
      recordSafely(recording, request, performance.now() - started, result);
    try {
      const answer = await exchange(request, timeoutMs);
      const supportId = supportIdOf(answer.headers);
      if (supportId) noteSupportId(supportId);
      span?.setAttribute('http.response.status_code', answer.status);
      noteTimeSafely(recording, answer);
      record({ status: answer.status, note: null, answer: redactText(textOf(answer.body)), supportId });
      return answer;
    } catch (error) {
      const failure = failureOf(error, timeoutMs);
      record({ status: null, note: failure.why, answer: '', supportId: null });
      throw failure;
    }
  }
}

/** Decodes a response for display. Alipay sends some refusals in GBK, which is a part of GB18030. */
function textOf(body: Buffer): string {
  return isUtf8(body) ? body.toString('utf8') : new TextDecoder('gb18030').decode(body);
}

/** The attributes of the tracing span. URLs and bodies contain secrets and payer data, so they are left out. */
function spanOf({ method, about }: WireRequest, recording: Recording | undefined): SpanAbout {
  const { call, orderNo, refundNo } = about;
  return {
    kind: 'client',
    attributes: {
      'http.request.method': method,
      'pay.pay_way': recording?.payWay,
      'pay.call': call,
      'pay.order_no': orderNo,
      'pay.refund_no': refundNo,
    },
  };
}

async function exchange(request: WireRequest, timeoutMs: number): Promise<WireAnswer> {
  const { method, headers, body, bytes: form } = request;
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(request.url, { method, headers, body: form ?? body, redirect: 'manual', signal });
  const bytes = await readCapped(response);
  return { status: response.status, headers: Object.fromEntries(response.headers), body: bytes };
}

async function readCapped(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // An exception in this loop also cancels the stream, so that an endless response is not read any further.
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new TransportFailed('too_large', `The response is larger than ${MAX_BYTES} bytes.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

const SUPPORT_ID_HEADERS = Object.values(CHANNELS).flatMap(({ supportIdHeaders }) =>
  supportIdHeaders.map((name) => name.toLowerCase()),
);

function supportIdOf(headers: WireAnswer['headers']): string | null {
  const id = SUPPORT_ID_HEADERS.map((name) => headers[name]).find(Boolean);
  return id && /^[\x21-\x7e]{1,128}$/.test(id) ? id : null;
}

function failureOf(error: unknown, timeoutMs: number): TransportFailed {
  if (error instanceof TransportFailed) return error;
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new TransportFailed('timeout', `No complete response within ${timeoutMs} ms.`, { cause: error });
  }
  return new TransportFailed('network', reasonOf(error), { cause: error });
}

/** `fetch` reports only "fetch failed", so the error code of the cause is added (ECONNREFUSED, UND_ERR_SOCKET …). */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'The connection failed.';
  const cause: unknown = error.cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return code === '' ? error.message : `${error.message}: ${code}`;
}

function noteTimeSafely(recording: Recording | undefined, { headers: { date } }: WireAnswer): void {
  try {
    if (date !== undefined) recording?.theirTime?.(new Date(date));
  } catch {
    // A failed record must not fail the exchange.
  }
}

function recordSafely(
  recording: Recording | undefined,
  { about, body }: WireRequest,
  duration: number,
  result: Pick<ChannelMessage, 'status' | 'note' | 'answer' | 'supportId'>,
): void {
  const { call, orderNo, refundNo } = about;
  if (!recording || !orderNo) return;
  const { payWay, now, record } = recording;
  try {
    record({
      payWay,
      direction: 'out',
      call,
      orderNo,
      refundNo: refundNo === undefined ? null : readNumberAtChannel(refundNo).refundNo,
      durationMs: Math.round(duration),
      request: redactText(body ?? ''),
      at: now(),
      ...result,
    });
  } catch {
    // A failed record must not fail the exchange.
  }
}

/** The longest stored text of a request or a response, in characters. */
const MAX_KEPT = 16_384;

const SECRET = [
  'sign',
  'signature',
  'paySign',
  'access_token',
  'refresh_token',
  'id_token',
  'app_auth_token',
  'auth_token',
  'auth_code',
  'client_secret',
  'secret',
  'password',
  'api_v3_key',
  'apiV3Key',
  'nonce',
  'private_key',
  'ciphertext',
  'alipay_cert_content',
].join('|');

const JSON_MEMBER = new RegExp(`("(?:${SECRET})"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"?`, 'gi');
const FORM_FIELD = new RegExp(`((?:^|[?&])(?:${SECRET})=)[^&\\s"]*`, 'gi');
const PEM = /-----BEGIN [A-Z ]+-----[\s\S]*?(?:-----END [A-Z ]+-----|$)/g;
const BEARER = /\b(Bearer|Basic|WECHATPAY2-SHA256-RSA2048)\s+[^\s"]+/g;

/**
 * Prepares a request or response for storage: signatures, tokens, keys and secrets are replaced, and the text is cut to
 * 16384 characters.
 */
export function redactText(text: string): string {
  const kept = text.length > MAX_KEPT ? `${text.slice(0, MAX_KEPT)}… (${text.length} characters)` : text;
  return kept
    .replace(JSON_MEMBER, '$1"***"')
    .replace(FORM_FIELD, '$1***')
    .replace(PEM, '***')
    .replace(BEARER, '$1 ***');
}

/** The clock for requests is always the real time, because channels compare timestamps with their own clock. */
export function channelTime(): Date {
  return new Date();
}

/** The unit in which a channel counts the length of a text: UTF-16 units or UTF-8 bytes. */
type LengthUnit = 'characters' | 'bytes';

/**
 * Makes a text that channels accept. Control characters and invalid characters become spaces. The text is cut to the
 * length `most` without splitting a character.
 */
export function plainText(text: string, most: number, unit: LengthUnit = 'characters'): string {
  const clean = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\ufffd]+/gu, ' ')
    .trim();
  let cut = '';
  let length = 0;
  for (const character of clean) {
    length += unit === 'bytes' ? Buffer.byteLength(character) : character.length;
    if (length > most) break;
    cut += character;
  }
  return cut.trimEnd();
}

interface DownloadOptions {
  /** The longest wait for the first byte, and for the next piece. The time of the whole download is not limited. */
  stallMs: number;
}

/** Creates the function that downloads a file once; a file that ends early is an error. Throws TransportFailed. */
export function createDownload({ stallMs }: DownloadOptions): Download {
  return async ({ method, url, headers, body }) => {
    const control = new AbortController();
    const timed = async <T>(work: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => control.abort(new DOMException('stalled', 'TimeoutError')), stallMs);
      try {
        return await work;
      } catch (error) {
        throw failureOf(error, stallMs);
      } finally {
        clearTimeout(timer);
      }
    };
    const init = { method, headers, body, redirect: 'manual', signal: control.signal } as const;
    const response = await timed(fetch(url, init));
    const { status } = response;
    return { status, headers: Object.fromEntries(response.headers), bytes: piecesOf(response, timed) };
  };
}

function piecesOf(
  response: Response,
  timed: <T>(work: Promise<T>) => Promise<T>,
): WireFile['bytes'] & { [Symbol.asyncIterator](): AsyncIterator<Uint8Array> } {
  const reader = response.body?.getReader();
  const expected = lengthOf(response.headers);
  let size = 0;
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const { done, value } = reader ? await timed(reader.read()) : { done: true, value: undefined };
      if (!done && value) {
        size += value.byteLength;
        return { done: false, value };
      }
      if (expected !== undefined && size !== expected)
        throw new TransportFailed('network', `The download ended after ${size} of ${expected} bytes.`);
      return { done: true, value: undefined };
    },
    // The cancellation also ends a download of which no byte was read.
    async return() {
      await reader?.cancel().catch(() => undefined);
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/**
 * Returns undefined for a compressed response, because `fetch` unpacks it, but the header states the packed length.
 */
function lengthOf(headers: Headers): number | undefined {
  const length = headers.get('content-length') ?? '';
  return headers.get('content-encoding') === null && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
