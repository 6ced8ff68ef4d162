import type { IncomingMessage, RequestListener } from 'node:http';
import type { Context, Next } from 'koa';
import type { PayWay } from '../payments/channel.ts';
import type { Core, Half } from './half.ts';

/** Requests that came to the own address of a channel. */
const owned = new WeakMap<IncomingMessage, PayWay>();

/** Listens for one channel alone, which is at the root here. */
export function listenFor(payWay: PayWay, listener: RequestListener): RequestListener {
  return (request, response) => {
    owned.set(request, payWay);
    listener(request, response);
  };
}

/**
 * Where the channel was asked, without a slash at the end: what it tells of its own addresses begins so. A client with a fixed host
 * takes that host off an address of a bill, and asks for what is left.
 */
export function baseOf(ctx: Context, core: Core, payWay: PayWay): string {
  if (owned.has(ctx.req)) return `http://${ctx.host}`;
  const host = ctx.hostname.toLowerCase();
  return core.half(payWay).hosts.includes(host) ? `https://${host}` : `${core.url}/${payWay}`;
}

/**
 * Leads to its channel what was asked for at a root: at the channel's own address, and under the names of its hosts. Clients with a
 * fixed host ask for the paths of that host, and those of WeChat Pay sign them, so they could be led elsewhere only by signing anew.
 */
export function leadToChannel(halves: readonly Half[]): (ctx: Context, next: Next) => Promise<void> {
  const byHost = new Map(halves.flatMap(({ payWay, hosts }) => hosts.map((host) => [host, payWay] as const)));
  return async (ctx, next) => {
    const payWay = owned.get(ctx.req) ?? byHost.get(ctx.hostname.toLowerCase());
    // The address as it was asked for, which is what was signed, stays in ctx.originalUrl.
    if (payWay !== undefined) ctx.path = `/${payWay}${ctx.path}`;
    await next();
  };
}
