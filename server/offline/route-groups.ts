import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Route, type RouteGroup, routesOf } from '../http/router.ts';
import { buildRouter } from '../routes/docs.ts';

const folder = join(import.meta.dirname, '../routes');

/** Returns every route of the service, with placeholders as operations, to generate documentation and source. */
export async function allRoutes(): Promise<readonly Route[]> {
  const groups = await groupsByBuilder();
  // `buildRouter` adds these two groups itself.
  for (const name of ['explorerRoutes', 'discoveryRoutes']) groups.delete(name);
  return routesOf(buildRouter([...groups.values()].flat(), { enabled: true }));
}

/** Returns the route groups of every exported function with a name such as `orderRoutes` in `server/routes`. */
export async function groupsByBuilder(): Promise<Map<string, RouteGroup[]>> {
  const found = new Map<string, RouteGroup[]>();
  for (const file of globSync('*.{ts,js}', { cwd: folder }).toSorted()) {
    const module = (await import(pathToFileURL(join(folder, file)).href)) as Record<string, unknown>;
    for (const [exported, value] of Object.entries(module))
      if (exported.endsWith('Routes') && typeof value === 'function')
        found.set(exported, asGroups(value(nothing, nothing)));
  }
  return found;
}

function asGroups(value: unknown): RouteGroup[] {
  return (Array.isArray(value) ? value : [value]) as RouteGroup[];
}

/** A placeholder that can stand for any operation, group of operations or configuration value. */
const nothing: unknown = new Proxy(() => nothing, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => 'Any' : key === 'then' ? undefined : nothing),
});
