import { groupsByBuilder } from '../../server/offline/route-groups.ts';
import { type Route, type RouteGroup, routesOf as operationsOf } from '../../server/http/router.ts';
import { buildRouter } from '../../server/routes/docs.ts';

export { allRoutes } from '../../server/offline/route-groups.ts';

const shapes = new Map<string, RegExp>();

/** Whether a path matches a pattern such as `/api/v1/orders/{orderNo}`. Expressions are cached, because every answer is compared with all patterns. */
export function fitsPattern(pattern: string, path: string): boolean {
  if (!pattern.includes('{')) return pattern === path;
  const known = shapes.get(pattern);
  const shape = known ?? new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`);
  if (!known) shapes.set(pattern, shape);
  return shape.test(path);
}

/** Builders whose test file has another name. Routes for both audiences have one test file each. */
const NAMES: Readonly<Record<string, string>> = {
  appMeRoutes: 'v2/me',
  auditLogRoutes: 'v1/audit-log',
  channelConfigRoutes: '*/channel-configs',
  coinLedgerRoutes: '*/coins',
  consolePaymentRoutes: 'v1/console-payment',
  consoleUserRoutes: 'v1/users',
  guideRoutes: 'docs',
  keyRoutes: 'jwks',
};

/** `ownCoinRoutes` → `coins`: builders that serve a list have singular names, their test files plural ones. */
function plainNames(builder: string): string[] {
  const words = builder.replace(/^own(?=[A-Z])/, '').replace(/Routes$/, '');
  const name = words.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replace(/^-/, '');
  return [name, `${name}s`];
}

/** The routes of each test file in `test/http`, by its path without `.test.ts`, from the builder that it is named after. */
export async function routesByTest(tests: readonly string[]): Promise<Map<string, readonly Route[]>> {
  const found = new Map<string, Route[]>();
  for (const [builder, groups] of await groupsByBuilder())
    for (const route of routesOf(groups)) {
      const audience = /^\/api\/(v[12])\//.exec(route.path)?.[1] ?? 'v2';
      const names = [NAMES[builder] ?? plainNames(builder).flatMap((name) => [`*/${name}`, name])].flat();
      const name = names.map((each) => each.replace('*', audience)).find((each) => tests.includes(each)) ?? builder;
      found.set(name, [...(found.get(name) ?? []), route]);
    }
  return found;
}

function routesOf(groups: RouteGroup[]): readonly Route[] {
  return operationsOf(buildRouter(groups, { enabled: false }));
}
