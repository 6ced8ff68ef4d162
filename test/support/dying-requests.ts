// Loaded before a replica in which requests die: there whatever a checkpoint gives back is waited for.
import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';
import type Koa from 'koa';

/** The checkpoint at which a request dies stands in this header. */
const DIES_AT = 'x-dies-at';

interface Doomed {
  checkpoint: string;
  cut(): void;
}

const doomed = new AsyncLocalStorage<Doomed>();

/** Requests that name a checkpoint are found again by `dieAt`. */
export function findDoomed(koa: Koa): void {
  koa.middleware.unshift((ctx, next) => {
    const checkpoint = ctx.get(DIES_AT);
    if (checkpoint === '') return next();
    return doomed.run({ checkpoint, cut: () => void ctx.req.socket.destroy() }, next);
  });
}

/**
 * At its checkpoint a request loses its connection and never goes on, as if the process were killed there. It loses it when it begins to
 * wait: where nobody waits for a checkpoint the request is answered, and the test that wanted its death fails.
 */
export function dieAt(checkpoint: string): PromiseLike<never> | undefined {
  const request = doomed.getStore();
  if (request?.checkpoint !== checkpoint) return undefined;
  // oxlint-disable-next-line unicorn/no-thenable -- it is told by it that somebody waits
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
