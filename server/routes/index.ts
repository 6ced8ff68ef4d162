import { type BuiltRouter, joinGroups, type RouteGroup } from '../http/router.ts';
import { discoveryRoutes } from './discovery.ts';
import { explorerRoutes } from './explorer.ts';

/** Joins the groups of all route files, and the explorer that describes them if it is served, into one router. */
export function buildRouter(groups: readonly RouteGroup[], explorer: { enabled: boolean }): BuiltRouter {
  return joinGroups(explorer.enabled ? [...groups, explorerRoutes(), discoveryRoutes()] : groups);
}
