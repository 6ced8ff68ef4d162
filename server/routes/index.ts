import { buildDocument } from '../http/openapi.ts';
import { type BuiltRouter, joinGroups, type RouteGroup } from '../http/router.ts';
import { explorerRoutes } from './explorer.ts';

export { type BuiltRouter, type Route, type RouteGroup, routeGroup } from '../http/router.ts';

/** Whether and with which version the API explorer is served. */
export interface ExplorerOptions {
  enabled: boolean;
  version: string;
}

/** Joins the groups of all route files, and the explorer that describes them, into one router. */
export function buildRouter(groups: readonly RouteGroup[], explorer: ExplorerOptions): BuiltRouter {
  if (!explorer.enabled) return joinGroups(groups);
  const router: BuiltRouter = joinGroups([
    ...groups,
    explorerRoutes(() => buildDocument(router.routes, { version: explorer.version })),
  ]);
  return router;
}
