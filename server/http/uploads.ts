// Bodies with files: multipart bodies in memory, and streams that are processed while they arrive.
import type { ExtendedFormidableOptions } from 'koa-body';
import type { IncomingMessage } from 'node:http';
import { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import { AppError, InvalidRequest } from '../errors.ts';
import type { UploadLimits } from './contract.ts';
import type { EdgeContext } from './edge.ts';
import { requirePlainTree } from './strict-text.ts';

interface Upload {
  /** The file name that the caller sent, reduced to plain characters. */
  name: string;
  bytes: Buffer;
}

export const UploadedFile = z
  .custom<Upload>(isUpload, 'must be a file')
  .meta({ id: 'UploadedFile', type: 'string', format: 'binary' });

const MOST_TEXT = 64 * 1024;
const MOST_FIELDS = 20;
/** Size limit of a part's header: field name, file name and type. */
const MOST_HEAD = 2 * 1024;
const SMALL: UploadLimits = { mostFiles: 4, mostBytes: MOST_TEXT, mostBytesInAll: 2 * MOST_TEXT };
type Handler = NonNullable<ExtendedFormidableOptions['fileWriteStreamHandler']>;
type VolatileFile = Parameters<Handler>[0];

/** Maximum length of a multipart body, including the headers of its parts. */
export function mostBytesOf({ mostFiles, mostBytesInAll } = SMALL): number {
  return mostBytesInAll + MOST_TEXT + (mostFiles + MOST_FIELDS) * MOST_HEAD;
}

/** Parses a multipart body into fields and files (`{ name, bytes }`) without writing to disk; throws 413 or 400. */
export async function readMultipart(ctx: EdgeContext, body: Buffer, limits = SMALL): Promise<Record<string, unknown>> {
  const { several, mostFiles: maxFiles, mostBytes: maxFileSize, mostBytesInAll: maxTotalFileSize } = limits;
  requireShortHeads(body, ctx.req.headers['content-type'] ?? '');
  const contents = new Map<unknown, Buffer[]>();
  // Loaded on first use: loading the parser at start would take a tenth of a second.
  const { koaBody } = await import('koa-body');
  const read = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    formidable: {
      maxFiles,
      maxFields: MOST_FIELDS,
      maxFieldsSize: MOST_TEXT,
      maxFileSize,
      maxTotalFileSize,
      allowEmptyFiles: true,
      minFileSize: 0,
      fileWriteStreamHandler: (file) => keepIn(contents, file),
    },
    onError: (error) => {
      throw translate(error, limits);
    },
  });
  const { headers } = ctx.req;
  const req = Object.assign(Readable.from(piecesOf(body), { objectMode: false }), { headers });
  await read(Object.create(ctx, { req: { value: req } }), async () => {});
  const fields: Record<string, unknown> = { ...(ctx.request.body as Record<string, unknown> | undefined) };
  requirePlainTree(fields);
  for (const [name, value] of Object.entries(fields)) if (Array.isArray(value)) throw duplicate(name);
  for (const [name, given] of Object.entries(ctx.request.files ?? {})) {
    const files = [given].flat();
    if ((files.length > 1 && name !== several) || name in fields) throw duplicate(name);
    const uploads = files.map((file) => ({
      name: plainName(file.originalFilename),
      bytes: Buffer.concat(contents.get(file) ?? []),
    }));
    fields[name] = name === several ? uploads : uploads[0];
  }
  return fields;
}

/**
 * Refuses long headers of multipart parts. The parser buffers them without a limit, and its search for a file name
 * takes quadratic time.
 */
function requireShortHeads(body: Buffer, contentType: string): void {
  const [, quoted, plain] = /boundary=(?:"([^"]+)"|([^;]+))/i.exec(contentType) ?? [];
  const mark = Buffer.from(`--${quoted ?? plain ?? ''}`);
  const onOwnLine = Buffer.concat([Buffer.from('\r\n'), mark]);
  // Text before the first boundary is allowed, so the first boundary may begin after byte 0.
  let at = body.indexOf(mark);
  for (let end = at + mark.length; at >= 0; end = at + onOwnLine.length) {
    const head = body.subarray(end, end + MOST_HEAD);
    const isLast = head.toString('latin1', 0, 2) === '--';
    if (!isLast && head.length === MOST_HEAD && !head.includes('\r\n\r\n')) throw malformed();
    at = body.indexOf(onOwnLine, end);
  }
}

/** Splits the body into pieces. The parser can stop only between two pieces: after an error it skips the rest. */
function* piecesOf(body: Buffer): Generator<Buffer> {
  for (let at = 0; at < body.length; at += MOST_TEXT) yield body.subarray(at, at + MOST_TEXT);
}

function plainName(name: string | null): string {
  return (
    (name ?? '')
      .toWellFormed()
      .replace(/[^\p{L}\p{N}._ -]+/gu, '-')
      .slice(-100) || 'file'
  );
}

function isUpload(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'bytes' in value && Buffer.isBuffer(value.bytes);
}

function keepIn(contents: Map<unknown, Buffer[]>, file: VolatileFile | undefined): Writable {
  const chunks: Buffer[] = [];
  contents.set(file, chunks);
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
}

function duplicate(name: string): InvalidRequest {
  return new InvalidRequest('A form field was sent more than once.', [
    { pointer: `/${name}`, code: 'duplicate', detail: 'was sent more than once' },
  ]);
}

function translate(error: Error, { mostFiles, mostBytes, mostBytesInAll }: UploadLimits): AppError {
  const { httpCode } = error as { httpCode?: unknown };
  const [one, all] = [mostBytes, mostBytesInAll].map((bytes) => bytes / 1024);
  if (httpCode === 413)
    return new AppError(
      'body_too_large',
      413,
      `A file is larger than ${one} KB, all files together are larger than ${all} KB, or there are more than ${mostFiles} files.`,
    );
  return malformed();
}

function malformed(): InvalidRequest {
  return new InvalidRequest('The multipart body is malformed.', [], 'body_malformed');
}

export const StreamedBody = z
  .custom<AsyncIterable<Uint8Array>>(isStream, 'must be a file')
  .meta({ id: 'StreamedBody', type: 'string', format: 'binary' });

function isStream(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** For the detection of slow clients: at the time `at` (ms), `bytes` bytes had arrived on the connection. */
interface Stream {
  at: number;
  bytes: number;
  /** True when the handler has stopped reading the body. */
  isOver: boolean;
}

/** Streamed bodies. They may take longer than other bodies, because they are not kept in memory. */
export const streams = new WeakMap<IncomingMessage, Stream>();

/** Minimum number of bytes of a streamed body that must arrive in each period of `requestMs`. */
const LEAST_BYTES = 64 * 1024;

/** Whether fewer than `LEAST_BYTES` of a streamed body arrived within `ms`, although the service was ready to read. */
export function isTooSlow(req: IncomingMessage, stream: Stream, now: number, ms: number): boolean {
  if (now - stream.at <= ms) return false;
  const { bytesRead } = req.socket;
  const isServiceBusy = req.readableLength >= req.readableHighWaterMark;
  if (stream.isOver || (!isServiceBusy && bytesRead - stream.bytes < LEAST_BYTES)) return true;
  stream.at = now;
  stream.bytes = bytesRead;
  return false;
}

/**
 * The body of a request while it arrives, for files too large for memory. Throws a 400 if the connection breaks. If the
 * reader stops before the end, the service can still respond.
 */
export async function* streamedBody(req: IncomingMessage): AsyncGenerator<Uint8Array> {
  const stream: Stream = { at: performance.now(), bytes: req.socket.bytesRead, isOver: false };
  streams.set(req, stream);
  try {
    // By default, leaving the loop would close the connection, and the response could not be sent.
    for await (const piece of req.iterator({ destroyOnReturn: false })) yield piece as Uint8Array;
  } catch {
    throw incomplete();
  } finally {
    stream.at = performance.now();
    stream.isOver = true;
    if (!req.readableEnded && !req.destroyed) req.resume();
  }
}

/** Creates the error for a client that closed the connection before the end of the body. */
export function incomplete(): InvalidRequest {
  return new InvalidRequest('The request body is incomplete.', [], 'body_incomplete');
}
