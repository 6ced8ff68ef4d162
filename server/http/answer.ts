import { z } from 'zod';
import type { Answer } from '../payments/idempotency.ts';
import type { Contract } from './contract.ts';
import type { EdgeContext } from './edge.ts';
import { Reply, type ReplyParts } from './reply.ts';

/** Writes what a handler returned, as its contract says it looks. */
export interface AnswerWriter {
  send(ctx: EdgeContext, result: unknown): void;
  /** The same as text, for an answer that is to be kept. */
  render(result: unknown): Answer;
}

const json = 'application/json; charset=utf-8';

/** Makes the writer of a contract; data is parsed by `returns`, so a member it does not name never leaves. */
export function answerWriter(contract: Contract): AnswerWriter {
  const toBody = bodyOf(contract);
  const render = (result: unknown): Answer => {
    const parts: ReplyParts<unknown> = result instanceof Reply ? result.parts : { data: result };
    const status = parts.status ?? contract.status ?? 200;
    const body = status === 204 ? '' : toBody(parts.data);
    return { status, headers: { 'content-type': json, ...parts.headers }, body };
  };
  const send = (ctx: EdgeContext, result: unknown): void => {
    if (result instanceof Reply) return sendReply(ctx, result.parts, contract, toBody);
    ctx.status = contract.status ?? 200;
    if (ctx.status === 204) return;
    ctx.type = json;
    ctx.body = toBody(result);
  };
  return { send, render };
}

function bodyOf({ returns, list, bare, style }: Contract): (data: unknown) => string {
  const schema = list && returns ? listOf(returns) : returns;
  const wrapped = !bare && !style && !list;
  return (data) => {
    const shown = schema ? schema.parse(data) : data;
    return JSON.stringify(wrapped ? { data: shown ?? null } : (shown ?? {}));
  };
}

function listOf(entry: z.ZodType): z.ZodType {
  return z.object({
    data: z.array(entry),
    page: z.object({ nextCursor: z.string().nullable(), hasMore: z.boolean() }),
  });
}

function sendReply(
  ctx: EdgeContext,
  parts: ReplyParts<unknown>,
  contract: Contract,
  toBody: (data: unknown) => string,
): void {
  ctx.status = parts.status ?? contract.status ?? 200;
  // Behind a proxy Koa believes that the request is http and would throw instead of setting a Secure cookie.
  ctx.cookies.secure = ctx.edge.secure;
  for (const cookie of parts.cookies ?? []) {
    ctx.cookies.set(cookie.name, cookie.value, {
      path: '/',
      sameSite: 'strict',
      httpOnly: cookie.httpOnly ?? true,
      secure: cookie.secure ?? ctx.edge.secure,
      maxAge: cookie.maxAgeSeconds === undefined ? undefined : cookie.maxAgeSeconds * 1000,
    });
  }
  if (ctx.status !== 204) {
    if (parts.body === undefined) ctx.type = json;
    ctx.body = parts.body ?? toBody(parts.data);
  }
  if (parts.headers) ctx.set(parts.headers);
}
