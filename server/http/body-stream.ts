import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { InvalidRequest } from '../errors.ts';

/** The schema of a body that is read as it comes. */
export const StreamedBody = z
  .custom<AsyncIterable<Uint8Array>>(isStream, 'must be a file')
  .meta({ id: 'StreamedBody', type: 'string', format: 'binary' });

function isStream(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** What a body that is read as it comes has done: from when on, and from which byte on, it is watched. */
interface Stream {
  at: number;
  bytes: number;
  /** Nobody reads it any more. */
  isOver: boolean;
}

/** The bodies that may take longer than others, because nobody holds them in memory. */
export const streams = new WeakMap<IncomingMessage, Stream>();

/** Bytes that have to come within the time in which another body has to be whole. */
const LEAST_BYTES = 64 * 1024;

/** Whether a body that is read as it comes hardly came within `ms`, and not because we did not read it. */
export function hardlyMoves(req: IncomingMessage, stream: Stream, now: number, ms: number): boolean {
  if (now - stream.at <= ms) return false;
  const { bytesRead } = req.socket;
  const waitsForUs = req.readableLength >= req.readableHighWaterMark;
  if (stream.isOver || (!waitsForUs && bytesRead - stream.bytes < LEAST_BYTES)) return true;
  stream.at = now;
  stream.bytes = bytesRead;
  return false;
}

/**
 * The body of a request while it arrives, for a file that is too large to be held. It may take as long as it keeps moving. Throws
 * a 400 when the caller breaks off. Whoever stops reading can answer: the rest is taken and forgotten for a short time.
 */
export async function* streamedBody(req: IncomingMessage): AsyncGenerator<Uint8Array> {
  const stream: Stream = { at: performance.now(), bytes: req.socket.bytesRead, isOver: false };
  streams.set(req, stream);
  try {
    // Otherwise the end of the loop would be the end of the connection, before the answer.
    for await (const piece of req.iterator({ destroyOnReturn: false })) yield piece as Uint8Array;
  } catch {
    throw incomplete();
  } finally {
    stream.at = performance.now();
    stream.isOver = true;
    if (!req.readableEnded && !req.destroyed) req.resume();
  }
}

/** The caller broke off before the end of the body. */
export function incomplete(): InvalidRequest {
  return new InvalidRequest('The request body is incomplete.', [], 'body_incomplete');
}
