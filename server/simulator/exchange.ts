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

/** What a call has to say, before it is signed. `silent` = it happened, but the caller is never told (0.06). */
export interface Answer {
  status: number;
  body: string;
  headers?: Record<string, string>;
  silent?: boolean;
  /** How the body becomes bytes: UTF-8 unless this says otherwise. */
  encode?(text: string): Buffer;
  /** A file instead of a body, in pieces. */
  file?(): AsyncIterable<Buffer>;
}

/** One authenticated call: what it does and how its answer is signed. Faults are drawn for it and applied around it. */
export interface Exchange extends Target {
  /** Does what was asked; `fault` is set for faults of the effect (`query-lag`, `pending-refund`, `wrong-amount` …), `word` is the fault's. */
  act(fault: FaultName | undefined, word?: string): Answer | Promise<Answer>;
  /** Signs; `fault` is set for faults of the signature (`wrong-key`, `no-signature`, `duplicate-key`, `clock-skew` …). */
  encrypt(answer: Answer, fault: FaultName | undefined): Answer | Promise<Answer>;
}

/** Answers `ctx` with the outcome of the exchange, or spoils it as the drawn fault says. */
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
  const encrypted = await exchange.encrypt(answer, strike?.name);
  if (encrypted.file) return write(ctx, { ...encrypted, file: spoiltFile(encrypted.file, strike?.name) });
  if (strike?.name === 'half-body') return writeHalf(ctx, encrypted);
  if (strike?.name === 'tampered')
    return write(ctx, { ...encrypted, body: tamper(Buffer.from(encrypted.body)).toString() });
  write(ctx, encrypted);
}

/** Writes an answer as it is: for refusals that a half sends before it knows whom it talks to. */
export function write(ctx: Context, { status, body, headers = {}, encode = utf8, file }: Answer): void {
  ctx.status = status;
  const payWay = PAY_WAYS.find((one) => ctx.path.startsWith(`/${one}/`));
  const [traced] = payWay === undefined ? [] : CHANNELS[payWay].supportIdHeaders;
  if (traced !== undefined) ctx.set(traced, supportId(body));
  for (const [name, value] of Object.entries(headers)) ctx.set(name, value);
  if (file) ctx.body = Readable.from(file(), { objectMode: false });
  else ctx.body = body === '' ? null : encode(body);
  // Koa turns an empty body into 204; the channel's own status is what was meant.
  ctx.status = status;
}

/** A file that is changed, or breaks off with its connection after its first piece. */
function spoiltFile(file: () => AsyncIterable<Buffer>, fault: FaultName | undefined): () => AsyncIterable<Buffer> {
  return async function* () {
    let isFirst = true;
    for await (const piece of file()) {
      if (!isFirst || (fault !== 'tampered' && fault !== 'half-body')) yield piece;
      else if (fault === 'tampered') yield tamper(piece);
      else {
        yield piece.subarray(0, piece.length >> 1);
        throw new Error('The file breaks off, as a fault asks for.');
      }
      isFirst = false;
    }
  };
}

const utf8 = (text: string) => Buffer.from(text, 'utf8');

/** PayPal's refusals say the same number in their body. */
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

/** Says nothing until the caller gives up, at most for so long; then the connection is gone. */
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

/** Announces the whole body and sends half of it. */
function writeHalf(ctx: Context, { status, body, headers = {}, encode = utf8 }: Answer): void {
  ctx.respond = false;
  const bytes = encode(body);
  ctx.res.writeHead(status, { ...headers, 'Content-Length': String(bytes.length) });
  ctx.res.write(bytes.subarray(0, bytes.length >> 1), () => ctx.req.socket.destroy());
}
