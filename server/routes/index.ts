import { Router } from '@koa/router';
import type { RequestState } from '../http/edge.ts';
import type { DefaultContext } from 'koa';

/** The routes of one resource, all below one prefix; every handler is made by `endpoint`. */
export type RouteGroup = Router<RequestState, DefaultContext>;

/** Starts a route group: `const router = routeGroup('/api/v2/payment')`, then `router.post('/pay', endpoint(…))`. */
export function routeGroup(prefix = ''): RouteGroup {
  return new Router({ prefix, strict: true, sensitive: true });
}
