import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { CHANNELS, PAY_WAYS } from '../domain.ts';
import type { Clock } from './clock.ts';
import {
  type FaultName,
  type Faults,
  GATEWAY_PAGE,
  SILENCE_MS,
  type Strike,
  type Target,
  stageOf,
  tamper,
} from './faults.ts';

/** A response; `silent` = the call took effect, but the caller gets no response. */
export interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
  silent?: boolean;
  /** Encodes the body; UTF-8 by default. */
  encode?(text: string): Buffer;
  /** Yields the pieces of a file, which is sent instead of `body`. */
  file?(): AsyncIterable<Buffer>;
}

/** One call whose caller is authenticated. */
export interface Exchange extends Target {
  /**
   * Performs the call and applies `fault` only if it changes the effect of the call, such as `wrong-amount`. `word` is
   * an error code or a reason of the channel, which a fault such as `refused` returns.
   */
  act(fault: FaultName | undefined, word?: string): Answer | Promise<Answer>;
  /** Signs the response and applies `fault` only if it changes the signature, such as `wrong-key`. */
  sign(answer: Answer, fault: FaultName | undefined): Answer | Promise<Answer>;
}

/** Runs a call, applies the fault that is set for the call, and sends the response. */
export async function answerExchange(
  ctx: Context,
  exchange: Exchange,
  { faults, clock }: { faults: Faults; clock: Clock },
): Promise<void> {
  const strike = faults.draw(exchange);
  if (strike !== undefined && stageOf(strike.name) === 'before') return refuseBefore(ctx, exchange, strike, clock);
  if (strike?.name === 'delay') await new Promise((resolve) => setTimeout(resolve, strike.delayMs));
  const answer = await exchange.act(strike?.name, strike?.word);
  if (answer.silent || strike?.name === 'commit-then-timeout') return silence(ctx, strike?.hangUpMs ?? SILENCE_MS);
  if (strike?.name === '500-after-commit') return write(ctx, { status: 500, body: '' });
  if (strike?.name === 'html')
    return write(ctx, { status: 200, body: GATEWAY_PAGE, headers: { 'Content-Type': 'text/html' } });
  const signed = await exchange.sign(answer, strike?.name);
  if (signed.file) return write(ctx, { ...signed, file: spoiltFile(signed.file, strike?.name) });
  if (strike?.name === 'half-body') return writeHalf(ctx, signed);
  if (strike?.name === 'tampered') return write(ctx, { ...signed, body: tamper(Buffer.from(signed.body)).toString() });
  write(ctx, signed);
}

/** Sends a response unchanged. Routes call it directly only to refuse a caller that is not authenticated. */
export function write(ctx: Context, { status, body, headers = {}, encode = utf8, file }: Answer): void {
  ctx.status = status;
  const payWay = PAY_WAYS.find((one) => ctx.path.startsWith(`/${one}/`));
  const [traced] = payWay === undefined ? [] : CHANNELS[payWay].supportIdHeaders;
  if (traced !== undefined) ctx.set(traced, supportId(body));
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  if (file) ctx.body = Readable.from(file(), { objectMode: false });
  else ctx.body = body === '' ? null : encode(body);
  // Koa changes the status of an empty response to 204, so the channel's status is set again.
  ctx.status = status;
}

/** Alters the first piece of a file (`tampered`), or sends only half of this piece and then fails (`half-body`). */
function spoiltFile(file: () => AsyncIterable<Buffer>, fault: FaultName | undefined): () => AsyncIterable<Buffer> {
  return async function* () {
    let isFirst = true;
    for await (const piece of file()) {
      if (!isFirst || (fault !== 'tampered' && fault !== 'half-body')) yield piece;
      else if (fault === 'tampered') yield tamper(piece);
      else {
        yield piece.subarray(0, piece.length >> 1);
        throw new Error('The fault half-body ended the file in the middle.');
      }
      isFirst = false;
    }
  };
}

const utf8 = (text: string) => Buffer.from(text, 'utf8');

/** The request id that the channel's support asks for. PayPal's errors have it in the body; others get a random id. */
function supportId(body: string): string {
  return /"debug_id":"(\w+)"/.exec(body)?.[1] ?? randomBytes(7).toString('hex');
}

async function refuseBefore(
  ctx: Context,
  exchange: Exchange,
  { name, delayMs, hangUpMs }: Strike,
  clock: Clock,
): Promise<void> {
  if (name === '502') return write(ctx, { status: 502, body: GATEWAY_PAGE, headers: { 'Content-Type': 'text/html' } });
  if (name === 'redirect')
    return write(ctx, { status: 302, body: '', headers: { location: `${ctx.origin}/elsewhere` } });
  if (name === 'timeout-then-commit') clock.schedule(delayMs, () => exchange.act(undefined), false);
  await silence(ctx, hangUpMs);
}

/** Sends nothing; closes the connection after `hangUpMs` unless the caller closes it before. */
function silence(ctx: Context, hangUpMs: number): Promise<void> {
  ctx.respond = false;
  const { socket } = ctx.req;
  if (socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => socket.destroy(), hangUpMs);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function writeHalf(ctx: Context, { status, body, headers = {}, encode = utf8 }: Answer): void {
  ctx.respond = false;
  const bytes = encode(body);
  ctx.res.writeHead(status, { ...headers, 'Content-Length': String(bytes.length) });
  ctx.res.write(bytes.subarray(0, bytes.length >> 1), () => ctx.req.socket.destroy());
}
