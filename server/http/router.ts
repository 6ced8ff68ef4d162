// Joins the route groups in one router, and refuses requests that no route matches.
import { Router } from '@koa/router';
import type { DefaultContext } from 'koa';
import { AppError, NotFound } from '../errors.ts';
import { authenticateUnknown } from './authenticate.ts';
import { type Contract, patternOf } from './contract.ts';
import type { EdgeMiddleware, RequestState } from './edge.ts';
import type { Endpoint } from './endpoint.ts';

export type RouteGroup = Router<RequestState, DefaultContext>;

/** Creates a route group under a prefix. Without `strict` the paths may end in a slash. */
export function routeGroup(prefix = '', { strict = true } = {}): RouteGroup {
  return new Router({ prefix, strict, sensitive: true });
}

/** A GET operation also serves HEAD. Path parameters are in braces. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly contract: Contract;
}

type Layer = RouteGroup['stack'][number];

/**
 * Joins the route groups. If several routes match, the one with the fewest parameters runs. Throws if a handler was not
 * created by `endpoint`.
 */
export function joinGroups(groups: readonly RouteGroup[]): RouteGroup {
  const router: RouteGroup = new Router({ exclusive: 'specificity' });
  for (const group of groups) router.use(group.routes());
  router.stack.forEach(contractOf);
  return router;
}

/** Maximum number of segments by which `dispatch` chooses the routes to try. */
const MOST_SEGMENTS = 3;

/**
 * Creates the middleware that serves the routes of a router. @koa/router tries all of its routes for each request. So
 * for each start of a path there is a router with only the routes that such a path can match.
 */
export function dispatch({ stack }: RouteGroup): ReturnType<RouteGroup['routes']> {
  const starts = new Set(['', ...stack.map(startOf)]);
  const serving = new Map([...starts].map((start) => [start, routesUnder(stack, start)]));
  return (ctx, next) => {
    let start = segmentsOf(ctx.path).join('/');
    while (!serving.has(start)) start = start.slice(0, Math.max(0, start.lastIndexOf('/')));
    return serving.get(start)!(ctx, next);
  };
}

function routesUnder(stack: readonly Layer[], start: string): ReturnType<RouteGroup['routes']> {
  const router: RouteGroup = new Router({ exclusive: 'specificity' });
  router.stack.push(...stack.filter((layer) => `${start}/`.startsWith(`${startOf(layer)}/`)));
  return router.routes();
}

/** The first segments of a route's path, up to the first segment that is not literal. */
function startOf({ path }: Layer): string {
  const segments = segmentsOf(String(path));
  const variable = segments.findIndex((segment) => /[^\w.~-]/.test(segment));
  return segments.slice(0, variable < 0 ? undefined : variable).join('/');
}

function segmentsOf(path: string): string[] {
  return path.split('/', 1 + MOST_SEGMENTS);
}

/** The operations of a router. */
export function routesOf(router: RouteGroup): readonly Route[] {
  return router.stack.map(routeOf);
}

function routeOf(layer: Layer): Route {
  const method = layer.methods.find((name) => name !== 'HEAD') ?? 'HEAD';
  return { method, path: patternOf(String(layer.path)), contract: contractOf(layer) };
}

function contractOf({ path, stack: [run, ...more] }: Layer): Contract {
  // A route must not have an empty path or a final slash: the router would drop the empty path below a prefix, and
  // would treat the slash as a part of the route.
  if (path === '' || /.\/$/.test(String(path)))
    throw new TypeError(`the path "${String(path)}" of a route must not be empty or end in a slash`);
  if (!isEndpoint(run) || more.length > 0)
    throw new TypeError(`the handler of ${String(path)} was not created by endpoint()`);
  return run.contract;
}

function isEndpoint(step: unknown): step is Endpoint {
  return typeof step === 'function' && 'contract' in step;
}

/**
 * Refuses a request that no route handles: 404 for an unknown path, 405 for a wrong method. Without a valid token the
 * response is 401, unless the path is public. So a caller without a token cannot find out which paths exist.
 */
export const refuseUnserved: EdgeMiddleware = async (ctx) => {
  const matched = ctx.matched as readonly Layer[];
  const isPublic = matched.length > 0 && matched.every((layer) => contractOf(layer).auth === 'none');
  if (!isPublic) await authenticateUnknown(ctx);
  if (matched.length === 0) throw new NotFound();
  const allow = [...new Set(matched.flatMap(({ methods }) => methods))].toSorted().join(', ');
  throw new AppError('method_not_allowed', 405, `The method ${ctx.method} is not supported for this path.`, {
    headers: { Allow: allow },
  });
};
