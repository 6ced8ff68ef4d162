import { z } from 'zod';
import { AppError } from '../errors.ts';
import { noteWork } from '../work.ts';
import type { Answer, KeyClaim, KeyedRequest } from '../payments/idempotency.ts';
import { authenticate, noteUnconfirmed } from './authenticate.ts';
import {
  CODINGS,
  type Caller,
  type Contract,
  type Encoded,
  type Handler,
  type Input,
  KEY_IGNORED,
  type ReadAhead,
  Reply,
  type ReplyParts,
  ignoresKey,
  patternOf,
} from './contract.ts';
import { HOST_PREFIX, checkSameSite } from './cookies.ts';
import type { EdgeContext, EdgeMiddleware } from './edge.ts';
import { idempotencyKeyOf, inputReader, readIdempotencyKey } from './input.ts';
import { checkProjectScope } from './project-scope.ts';
import { refusalAnswer } from './refusal-answer.ts';

export type { Contract, Page } from './contract.ts';
export { Reply } from './contract.ts';

/** Middleware with its contract, which the router, the tests and the OpenAPI document read. */
export interface Endpoint extends EdgeMiddleware {
  readonly contract: Contract;
}

/**
 * Creates the middleware of an endpoint. The first failed check decides the response: 401 or 403, 404 for the path,
 * 413, 415 or 400 for the input, 404 for an object of another project, then the errors of the handler.
 * `readAhead` begins a read as soon as the signature of the caller's token is verified. If the caller or the input is
 * refused, the result is discarded. The handler must check that the caller may see it.
 */
export function endpoint<const C extends Contract, Ahead = undefined>(
  contract: C,
  handler: NoInfer<Handler<C, Ahead>>,
  readAhead?: ReadAhead<NoInfer<C>, Ahead>,
): Endpoint {
  const readInput = inputReader(contract);
  const answer = answerWriter(contract);
  const serve: EdgeMiddleware = (ctx) =>
    serveUnnoted(ctx).catch(async (error: unknown) => {
      await noteUnconfirmed(ctx, error);
      throw error;
    });
  const serveUnnoted = async (ctx: EdgeContext): Promise<void> => {
    ctx.state.contract = contract;
    ctx.state.route = patternOf(ctx.routerPath);
    if (ctx.req.headers['idempotency-key'] !== undefined && ignoresKey(ctx.method, contract))
      ctx.set(KEY_IGNORED, 'true');
    const route = `${ctx.method} ${ctx.state.route}`;
    const givenKey = contract.idempotent ? idempotencyKeyOf(ctx.req.headers['idempotency-key']) : undefined;
    let ahead: Promise<Ahead> | undefined;
    const caller = await authenticate(ctx, contract.auth, {
      key: givenKey === undefined ? undefined : { route, key: givenKey },
      verified: readAhead && (() => void (ahead = beginAhead(readAhead, contract, ctx.params))),
    });
    ctx.state.caller = caller;
    if (caller?.kind === 'app') noteWork({ clientId: caller.clientId });
    if (contract.sameSite) checkSameSite(ctx);
    const sent = await readInput(ctx);
    const { auth } = contract;
    const projects = caller?.kind === 'admin' ? caller.projects : null;
    const input =
      projects && typeof auth === 'object' && 'admin' in auth
        ? await checkProjectScope(ctx, auth.projectScope, projects, sent)
        : sent;
    // `readInput` built these fields from the same contract, so the types match.
    const handle = (claim?: KeyClaim) => handler({ ...input, caller, claim } as Input<C>, ahead);
    const key = contract.idempotent ? readIdempotencyKey(ctx.req.headers['idempotency-key']) : undefined;
    if (key === undefined || caller === undefined) return answer.send(ctx, await handle());
    const { body, params } = input;
    const query = contract.query && input.query;
    const kept = caller.kind === 'app' ? caller.kept : undefined;
    const request: KeyedRequest = { scope: scopeOf(caller), route, key, body, params, query, kept };
    const run = async (claim: KeyClaim): Promise<Answer> => {
      try {
        return answer.render(await handle(claim));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        await noteUnconfirmed(ctx, error);
        return refusalAnswer(ctx, error);
      }
    };
    sendKept(ctx, await ctx.edge.withKey(request, run));
  };
  return Object.assign(serve, { contract });
}

/** Returns undefined if the path parameters are wrong; `readInput` then refuses the request. */
function beginAhead<C extends Contract, Ahead>(
  read: ReadAhead<C, Ahead>,
  { params }: Contract,
  sent: unknown,
): Promise<Ahead> | undefined {
  const checked = params?.safeParse(sent);
  if (!checked?.success) return undefined;
  const ahead = read(checked.data as Input<C>['params']);
  // Nothing awaits the result of a refused request.
  ahead.catch(() => {});
  return ahead;
}

function scopeOf(caller: Caller): KeyedRequest['scope'] {
  return caller.kind === 'app' ? `app:${caller.clientId}` : `admin:${caller.id}`;
}

function sendKept(ctx: EdgeContext, { status, headers, body, replayed }: Answer): void {
  ctx.status = status;
  ctx.set(headers);
  if (replayed) ctx.set('Idempotent-Replayed', 'true');
  ctx.body = body;
}

interface AnswerWriter {
  send(ctx: EdgeContext, result: unknown): void;
  /** Returns the response as text, so that it can be stored under an Idempotency-Key. */
  render(result: unknown): Answer;
}

const json = 'application/json; charset=utf-8';

/** The schema `returns` parses the data, so fields that the schema does not name are removed. */
function answerWriter(contract: Contract): AnswerWriter {
  const toBody = bodyOf(contract);
  const render = (result: unknown): Answer => {
    const parts: ReplyParts<unknown> = result instanceof Reply ? result.parts : { data: result };
    const status = parts.status ?? contract.status ?? 200;
    const ready = typeof parts.body === 'string' ? parts.body : undefined;
    const body = status === 204 ? '' : (ready ?? toBody(parts.data, parts.beside));
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

type ToBody = (data: unknown, beside?: Record<string, unknown>) => string;

function bodyOf({ returns, beside, list, bare, style }: Contract): ToBody {
  const schema = list && returns ? listOf(returns) : returns;
  const wrapped = !bare && !style && !list;
  return (data, others) => {
    const shown = schema ? schema.parse(data) : data;
    const also = beside && others ? beside.parse(others) : {};
    return JSON.stringify(wrapped ? { data: shown ?? null, ...also } : (shown ?? {}));
  };
}

function listOf(entry: z.ZodType): z.ZodType {
  return z.object({
    data: z.array(entry),
    page: z.object({ nextCursor: z.string().nullable(), hasMore: z.boolean() }),
  });
}

function sendReply(ctx: EdgeContext, parts: ReplyParts<unknown>, contract: Contract, toBody: ToBody): void {
  ctx.status = parts.status ?? contract.status ?? 200;
  if (parts.cookies) setCookies(ctx, parts.cookies);
  if (ctx.status !== 204) {
    if (parts.body === undefined) ctx.type = json;
    ctx.body = parts.body ?? toBody(parts.data, parts.beside);
  }
  if (parts.headers) ctx.set(parts.headers);
  if (parts.encoded) encode(ctx, parts.encoded);
}

/** The header `Vary` tells shared caches to store each compressed version separately. */
function encode(ctx: EdgeContext, encoded: Encoded): void {
  ctx.vary('Accept-Encoding');
  const chosen = CODINGS.find((coding) => encoded[coding] && ctx.acceptsEncodings(coding));
  if (!chosen) return;
  ctx.body = encoded[chosen];
  ctx.set('Content-Encoding', chosen);
}

function setCookies(ctx: EdgeContext, cookies: NonNullable<ReplyParts<unknown>['cookies']>): void {
  // Behind a proxy, Koa treats the request as plain http and would refuse to set a Secure cookie.
  ctx.cookies.secure = ctx.edge.secure;
  const ofHost = cookies.filter(({ hostToo }) => hostToo && ctx.edge.secure);
  for (const cookie of [...cookies, ...ofHost.map((one) => ({ ...one, name: HOST_PREFIX + one.name }))]) {
    ctx.cookies.set(cookie.name, cookie.value, {
      path: '/',
      sameSite: cookie.sameSite ?? 'strict',
      httpOnly: cookie.httpOnly ?? true,
      secure: cookie.secure ?? ctx.edge.secure,
      maxAge: cookie.maxAgeSeconds === undefined ? undefined : cookie.maxAgeSeconds * 1000,
    });
  }
}
