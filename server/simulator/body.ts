import type { Context, Next } from 'koa';
import { SimulatorRefusal } from './refusal.ts';

const MOST_BYTES = 1024 * 1024;
/** PayPal takes 50 MB of files with one call. */
const MOST_BYTES_OF_FORM = 64 * 1024 * 1024;
const KEY = Symbol('raw body');

/** Reads the body of every request, so that signatures can be checked over the exact bytes. */
export async function readBody(ctx: Context, next: Next): Promise<void> {
  const chunks: Buffer[] = [];
  let size = 0;
  const most = /^multipart\//i.test(ctx.get('content-type')) ? MOST_BYTES_OF_FORM : MOST_BYTES;
  for await (const chunk of ctx.req as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > most) throw new SimulatorRefusal(413, 'too_large', `The body is larger than ${most / MOST_BYTES} MB.`);
    chunks.push(chunk);
  }
  keepBody(ctx, Buffer.concat(chunks));
  await next();
}

/** From now on these bytes are the body of the request. */
export function keepBody(ctx: Context, body: Buffer): void {
  (ctx.state as Record<symbol, Buffer>)[KEY] = body;
}

/** The exact bytes of the request's body. */
export function rawBodyOf(ctx: Context): Buffer {
  return (ctx.state as Record<symbol, Buffer | undefined>)[KEY] ?? Buffer.alloc(0);
}
