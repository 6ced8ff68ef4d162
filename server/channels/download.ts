import { type Download, TransportFailed, type WireFile } from '../payments/channel.ts';
import { failureOf } from './transport.ts';

/** What a download is made from. */
export interface DownloadOptions {
  /** How long a channel may take to begin, and between two pieces; the whole may take as long as its size needs. */
  stallMs: number;
}

/** Downloads on `fetch`: one try, no redirects, and a file that ends early fails; throws TransportFailed. */
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
    const asked = { method, headers, body, redirect: 'manual', signal: control.signal } as const;
    const response = await timed(fetch(url, asked));
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
        throw new TransportFailed('network', `The file ended after ${size} of ${expected} bytes.`);
      return { done: true, value: undefined };
    },
    // Also of an iteration that never began: whoever needs no bytes leaves so.
    async return() {
      await reader?.cancel().catch(() => undefined);
      return { done: true, value: undefined };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Of a body that `fetch` unpacked the length says nothing. */
function lengthOf(headers: Headers): number | undefined {
  const length = headers.get('content-length') ?? '';
  return headers.get('content-encoding') === null && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}
