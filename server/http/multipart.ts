import { Writable } from 'node:stream';
import type { ExtendedFormidableOptions } from 'koa-body';
import { z } from 'zod';
import { AppError, InvalidRequest } from '../errors.ts';
import type { UploadLimits } from './contract.ts';
import type { EdgeContext } from './edge.ts';
import { requirePlainTree } from './strict-text.ts';

/** A file of a multipart body, in memory. */
export interface Upload {
  /** What the caller calls it, in plain characters. */
  name: string;
  bytes: Buffer;
}

/** The schema of a file member of a multipart body. */
export const UploadedFile = z
  .custom<Upload>(isUpload, 'must be a file')
  .meta({ id: 'UploadedFile', type: 'string', format: 'binary' });

const MOST_TEXT = 64 * 1024;
const SMALL: UploadLimits = { mostFiles: 4, mostBytes: MOST_TEXT, mostBytesInAll: 2 * MOST_TEXT };
type Handler = NonNullable<ExtendedFormidableOptions['fileWriteStreamHandler']>;
type VolatileFile = Parameters<Handler>[0];

/** Reads a multipart body into fields and files (`{ name, bytes }`), nothing touches the disk; throws 413 or 400. */
export async function readMultipart(ctx: EdgeContext, limits = SMALL): Promise<Record<string, unknown>> {
  const { several, mostFiles: maxFiles, mostBytes: maxFileSize, mostBytesInAll: maxTotalFileSize } = limits;
  const contents = new Map<unknown, Buffer[]>();
  // Few requests are uploads; loading the parser costs a start a tenth of a second.
  const { koaBody } = await import('koa-body');
  const read = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    formidable: {
      maxFiles,
      maxFields: 20,
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
  await read(ctx, async () => {});
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
      `A file is larger than ${one} KB, all of them than ${all} KB, or they are more than ${mostFiles}.`,
    );
  return new InvalidRequest('The multipart body is malformed.', [], 'body_malformed');
}
