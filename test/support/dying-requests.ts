// Loaded before a replica in which requests die: it makes every checkpoint await its result.
import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';
import type Koa from 'koa';

/** The header that names the checkpoint at which a request dies. */
const DIES_AT = 'x-dies-at';

interface Doomed {
  checkpoint: string;
  cut(): void;
}

const doomed = new AsyncLocalStorage<Doomed>();

/** Remembers the checkpoint of a request for `dieAt`. */
export function findDoomed(koa: Koa): void {
  koa.middleware.unshift((ctx, next) => {
    const checkpoint = ctx.get(DIES_AT);
    if (checkpoint === '') return next();
    return doomed.run({ checkpoint, cut: () => void ctx.req.socket.destroy() }, next);
  });
}

/**
 * At its checkpoint a request loses its connection and never continues, as if the process were killed. The connection is cut when the
 * code awaits the checkpoint: if it does not, the request is answered and the test fails.
 */
export function dieAt(checkpoint: string): PromiseLike<never> | undefined {
  const request = doomed.getStore();
  if (request?.checkpoint !== checkpoint) return undefined;
  // oxlint-disable-next-line unicorn/no-thenable -- awaiting it calls `then`, which cuts the connection
  return { then: () => request.cut() as never };
}

registerHooks({
  load(url, context, next) {
    const found = next(url, context);
    if (!found.source || !/\/server\/(?:payments|skillpay)\/[\w/-]+\.ts$/.test(url)) return found;
    const source = Buffer.from(found.source as Uint8Array).toString();
    return { ...found, source: source.replaceAll(/^( +)(ports\.checkpoint\()/gm, '$1await $2') };
  },
});
