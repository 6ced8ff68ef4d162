import { groupsByFile } from '../../server/offline/route-groups.ts';
import type { Route, RouteGroup } from '../../server/http/router.ts';
import { buildRouter } from '../../server/routes/index.ts';

export { allRoutes } from '../../server/offline/route-groups.ts';

const shapes = new Map<string, RegExp>();

/** Whether a path is one of a pattern's, as `/api/v1/orders/{orderNo}`. Each expression is made once: every answer is compared with all patterns. */
export function fitsPattern(pattern: string, path: string): boolean {
  if (!pattern.includes('{')) return pattern === path;
  const known = shapes.get(pattern);
  const shape = known ?? new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  if (!known) shapes.set(pattern, shape);
  return shape.test(path);
}

/** Builders that serve both audiences, by the name that what they serve has beside the audience's own files. */
const SHARED: Readonly<Record<string, { v1: string; v2: string }>> = {
  certs: { v1: 'v1/certs', v2: 'v2/certs' },
  'channel-configs': { v1: 'v1/channel-configs', v2: 'v2/channel-configs' },
  'coin-ledgers': { v1: 'v1/coins', v2: 'v2/coins' },
  payment: { v1: 'v1/console-payment', v2: 'v2/payment' },
  users: { v1: 'v1/users', v2: 'v2/users' },
};

/**
 * The routes of each route file by its path in `server/routes` without `.ts`; files that serve nothing are left out. What
 * a builder serves to both audiences stands with the routes of each.
 */
export async function routesByFile(): Promise<Map<string, readonly Route[]>> {
  const found = new Map<string, Route[]>();
  for (const [file, groups] of await groupsByFile())
    for (const route of routesOf(groups)) {
      const name = SHARED[file]?.[route.path.startsWith('/api/v1/') ? 'v1' : 'v2'] ?? file;
      found.set(name, [...(found.get(name) ?? []), route]);
    }
  return found;
}

function routesOf(groups: RouteGroup[]): readonly Route[] {
  return buildRouter(groups, { enabled: false }).routes;
}
