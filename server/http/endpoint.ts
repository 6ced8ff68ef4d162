import { AppError } from '../errors.ts';
import { authenticate } from './authenticate.ts';
import { type AnswerWriter, answerWriter } from './answer.ts';
import type { Contract, Handler, Input } from './contract.ts';
import { checkSameSite } from './csrf.ts';
import type { EdgeContext, EdgeMiddleware } from './edge.ts';
import { type Answer, type IdempotentRequest, readIdempotencyKey } from './idempotency.ts';
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
    const key = contract.idempotent ? readIdempotencyKey(ctx.req.headers['idempotency-key']) : undefined;
    // The reader built these members from the same contract, so the types agree with `Input<C>` by construction.
    const typed = { ...input, caller, idempotent: undefined } as unknown as Input<C>;
    if (key === undefined || caller === undefined) return answer.send(ctx, await handler(typed));
    await serveOnce(ctx, key, typed, handler as unknown as Handler<Contract>, answer);
  };
  return Object.assign(serve, { contract });
}

async function serveOnce(
  ctx: EdgeContext,
  key: string,
  input: Input<Contract>,
  handler: Handler<Contract>,
  answer: AnswerWriter,
): Promise<void> {
  const caller = input.caller as NonNullable<typeof ctx.state.caller>;
  const request: IdempotentRequest = {
    caller,
    route: `${ctx.method} ${ctx.state.route}`,
    key,
    body: input.body,
    params: input.params,
  };
  const run = async (idempotent: IdempotentRequest): Promise<Answer> => {
    try {
      return answer.render(await handler({ ...input, idempotent } as Input<Contract>));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return refusalAnswer(ctx, error);
    }
  };
  sendStored(ctx, await ctx.edge.idempotency(request, run));
}

function sendStored(ctx: EdgeContext, { status, headers, body, replayed }: Answer): void {
  ctx.status = status;
  ctx.set(headers);
  if (replayed) ctx.set('Idempotent-Replayed', 'true');
  ctx.body = body;
}
