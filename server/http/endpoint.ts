import { AppError } from '../errors.ts';
import type { Answer, KeyClaim, KeyedRequest } from '../payments/idempotency.ts';
import { authenticate } from './authenticate.ts';
import { answerWriter } from './answer.ts';
import type { Caller } from './callers.ts';
import type { Contract, Handler, Input } from './contract.ts';
import { checkSameSite } from './csrf.ts';
import type { EdgeContext, EdgeMiddleware } from './edge.ts';
import { readIdempotencyKey } from './idempotency.ts';
import { inputReader } from './input.ts';
import { refusalAnswer } from './on-error.ts';

export type { Contract, Page } from './contract.ts';
export { Reply } from './reply.ts';

/** Koa middleware that still knows its contract; routes, tests and the OpenAPI document read it. */
export interface Endpoint extends EdgeMiddleware {
  readonly contract: Contract;
}

/**
 * The only seam to Koa: checks the caller, parses what comes in, runs the handler, parses what goes out.
 * The refusals come in the order 401, 403, 404, 413/415/400, then whatever the handler throws.
 */
export function endpoint<const C extends Contract>(contract: C, handler: NoInfer<Handler<C>>): Endpoint {
  const readInput = inputReader(contract);
  const answer = answerWriter(contract);
  const serve: EdgeMiddleware = async (ctx) => {
    ctx.state.contract = contract;
    const caller = await authenticate(ctx, contract.auth);
    ctx.state.caller = caller;
    if (contract.sameSite) checkSameSite(ctx);
    const input = await readInput(ctx);
    // The reader built these members from the same contract, so the types agree by construction.
    const handle = (claim?: KeyClaim) => handler({ ...input, caller, claim } as Input<C>);
    const key = contract.idempotent ? readIdempotencyKey(ctx.req.headers['idempotency-key']) : undefined;
    if (key === undefined || caller === undefined) return answer.send(ctx, await handle());
    const { body, params } = input;
    const route = `${ctx.method} ${ctx.state.route}`;
    const request: KeyedRequest = { scope: scopeOf(caller), route, key, body, params };
    const run = async (claim: KeyClaim): Promise<Answer> => {
      try {
        return answer.render(await handle(claim));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return refusalAnswer(ctx, error);
      }
    };
    sendKept(ctx, await ctx.edge.withKey(request, run));
  };
  return Object.assign(serve, { contract });
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
