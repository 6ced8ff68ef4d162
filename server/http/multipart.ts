import { Writable } from 'node:stream';
import type { ExtendedFormidableOptions } from 'koa-body';
import { z } from 'zod';
import { AppError, InvalidRequest } from '../errors.ts';
import type { EdgeContext } from './edge.ts';
import { requirePlainTree } from './strict-text.ts';

/** A file of a multipart body, in memory; the name that the caller gave it is not kept. */
export interface Upload {
  bytes: Buffer;
}

/** The schema of a file member of a multipart body. */
export const UploadedFile = z
  .custom<Upload>(isUpload, 'must be a file')
  .meta({ id: 'UploadedFile', type: 'string', format: 'binary' });

const maxFileSize = 64 * 1024;
type Handler = NonNullable<ExtendedFormidableOptions['fileWriteStreamHandler']>;
type VolatileFile = Parameters<Handler>[0];

/** Reads a multipart body into fields and files (`{ bytes }`), nothing touches the disk; throws 413 or 400. */
export async function readMultipart(ctx: EdgeContext): Promise<Record<string, unknown>> {
  const contents = new Map<unknown, Buffer[]>();
  // Few requests are uploads; loading the parser costs a start a tenth of a second.
  const { koaBody } = await import('koa-body');
  const read = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    formidable: {
      maxFiles: 4,
      maxFields: 20,
      maxFieldsSize: maxFileSize,
      maxFileSize,
      maxTotalFileSize: 2 * maxFileSize,
      allowEmptyFiles: true,
      minFileSize: 0,
      fileWriteStreamHandler: (file) => keepIn(contents, file),
    },
    onError: (error) => {
      throw translate(error);
    },
  });
  await read(ctx, async () => {});
  const fields: Record<string, unknown> = { ...(ctx.request.body as Record<string, unknown> | undefined) };
  requirePlainTree(fields);
  for (const [name, value] of Object.entries(fields)) if (Array.isArray(value)) throw duplicate(name);
  for (const [name, file] of Object.entries(ctx.request.files ?? {})) {
    if (Array.isArray(file) || name in fields) throw duplicate(name);
    fields[name] = { bytes: Buffer.concat(contents.get(file) ?? []) };
  }
  return fields;
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

function translate(error: Error): AppError {
  const { httpCode } = error as { httpCode?: unknown };
  if (httpCode === 413) return new AppError('body_too_large', 413, `The file is larger than ${maxFileSize / 1024} KB.`);
  return new InvalidRequest('The multipart body is malformed.', [], 'body_malformed');
}
