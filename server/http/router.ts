import { Router } from '@koa/router';
import type { DefaultContext } from 'koa';
import { AppError, NotFound } from '../errors.ts';
import { authenticateUnknown } from './authenticate.ts';
import type { Contract } from './contract.ts';
import type { EdgeContext, EdgeMiddleware, RequestState } from './edge.ts';
import type { Endpoint } from './endpoint.ts';

/** The routes of one resource, all below one prefix; every handler is made by `endpoint`. */
export type RouteGroup = Router<RequestState, DefaultContext>;

/**
 * Starts a route group: `const router = routeGroup('/api/v2/payment')`, then `router.post('/pay', endpoint(…))`. Without `strict` a
 * slash may follow the path.
 */
export function routeGroup(prefix = '', { strict = true } = {}): RouteGroup {
  return new Router({ prefix, strict, sensitive: true });
}

/** One operation that is served: GET stands for HEAD too; the path has its parameters in braces. */
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly contract: Contract;
}

/** Every route of the service, to be listed and to be dispatched to. */
export interface BuiltRouter {
  readonly routes: readonly Route[];
  readonly dispatch: EdgeMiddleware;
}

interface Entry extends Route {
  readonly methods: readonly string[];
  readonly run: Endpoint;
  /** Gives the parameters when the path matches. */
  readonly match: (path: string) => Record<string, string> | undefined;
}

/**
 * Joins the groups. A path is looked up by its fixed beginning, so a request costs the same with ten routes and with
 * two hundred; throws when a route was not made by `endpoint`.
 */
export function joinGroups(groups: readonly RouteGroup[]): BuiltRouter {
  const routes = groups.flatMap((group) => group.stack.map((layer) => toEntry(withPrefix(group, layer))));
  const find = finder(routes);
  const dispatch: EdgeMiddleware = (ctx) => {
    const { entry, params, matching } = find(ctx.method, ctx.path);
    if (!entry) return refuse(ctx, matching);
    ctx.params = params;
    ctx.state.route = entry.path;
    return entry.run(ctx, done);
  };
  return { routes, dispatch };
}

const done = (): Promise<void> => Promise.resolve();
const noParams = {};

type Layer = RouteGroup['stack'][number];

/** The router leaves the prefix out of the route `''`, which stands for the prefix itself. */
function withPrefix(group: RouteGroup, layer: Layer): Layer {
  if (layer.path !== '') return layer;
  const alone = routeGroup();
  alone.register(group.opts.prefix ?? '/', layer.methods, layer.stack);
  return alone.stack[0] ?? layer;
}

function toEntry(layer: Layer): Entry {
  const path = String(layer.path).replace(/(?<=.)\/$/, '');
  const [run, ...more] = layer.stack;
  if (!isEndpoint(run) || more.length > 0) throw new TypeError(`${path} is not made by endpoint()`);
  const match = (asked: string): Record<string, string> | undefined =>
    layer.match(asked) ? layer.params(asked, layer.captures(asked)) : undefined;
  const method = layer.methods.find((name) => name !== 'HEAD') ?? 'HEAD';
  return {
    method,
    methods: layer.methods,
    path: path.replaceAll(/:(\w+)/g, '{$1}'),
    contract: run.contract,
    run,
    match: path.includes(':') ? match : () => noParams,
  };
}

function isEndpoint(step: unknown): step is Endpoint {
  return typeof step === 'function' && 'contract' in step;
}

interface Found {
  entry?: Entry;
  params: Record<string, string>;
  /** Routes of the path, whatever their method. */
  matching: Entry[];
}

function finder(entries: readonly Entry[]): (method: string, path: string) => Found {
  const fixed = Map.groupBy(
    entries.filter(({ path }) => !path.includes('{')),
    ({ path }) => path,
  );
  const open = Map.groupBy(
    entries.filter(({ path }) => path.includes('{')),
    ({ path }) => path.slice(0, path.indexOf('{')),
  );
  return (method, path) => {
    const matching: Entry[] = [];
    for (const entry of candidates(fixed, open, path)) {
      const params = entry.match(path);
      if (!params) continue;
      if (entry.methods.includes(method)) return { entry, params, matching };
      matching.push(entry);
    }
    return { params: noParams, matching };
  };
}

/** A fixed path first, then the open ones with the longest beginning. */
function candidates(fixed: Map<string, Entry[]>, open: Map<string, Entry[]>, path: string): Entry[] {
  const found = [...(fixed.get(path) ?? [])];
  for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
    const entries = open.get(path.slice(0, end + 1));
    if (entries) found.push(...entries);
    if (end === 0) break;
  }
  return found;
}

async function refuse(ctx: EdgeContext, matching: readonly Entry[]): Promise<never> {
  const isPublic = matching.length > 0 && matching.every(({ contract }) => contract.auth === 'none');
  if (!isPublic) await authenticateUnknown(ctx);
  if (matching.length === 0) throw new NotFound();
  const allow = [...new Set(matching.flatMap(({ methods }) => methods))].toSorted().join(', ');
  throw new AppError('method_not_allowed', 405, `${ctx.method} is not supported for this path.`, {
    headers: { Allow: allow },
  });
}
