import type { Context } from 'koa';
import { SimulatorRefusal } from './refusal.ts';

/** Refuses callers that do not name this machine: a page of a name that was bound to it anew could control the simulator. */
export function refuseForeignHost(ctx: Context): void {
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(ctx.get('host')))
    throw new SimulatorRefusal(403, 'not_local', 'The control API only accepts requests with a loopback Host.');
}

/** Refuses forms that a page of another site sends; a browser that does not say so names the origin. */
export function refuseCrossSite(ctx: Context): void {
  const [site, origin] = [ctx.get('sec-fetch-site'), ctx.get('origin')];
  const isForeign = site === '' ? origin !== '' && URL.parse(origin)?.host !== ctx.get('host') : site !== 'same-origin';
  if (isForeign) throw new SimulatorRefusal(403, 'cross_site', 'Cross-site requests are refused.');
}
