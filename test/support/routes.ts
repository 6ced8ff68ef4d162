import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildRouter, type BuiltRouter, type Route, type RouteGroup } from '../../server/routes/index.ts';

const folder = join(import.meta.dirname, '../../server/routes');

/** Every route of the service without anything behind it: each route file is asked for its group with empty operations. */
export async function allRoutes(): Promise<BuiltRouter['routes']> {
  const groups = await groupsByFile();
  groups.delete('explorer');
  return buildRouter([...groups.values()].flat(), { enabled: true, version: '0.0.0' }).routes;
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
  return buildRouter(groups, { enabled: false, version: '0.0.0' }).routes;
}

/** Route files lie directly in `routes/` and in the folders of their audiences; other folders hold what they are made of. */
async function groupsByFile(): Promise<Map<string, RouteGroup[]>> {
  const found = new Map<string, RouteGroup[]>();
  for await (const file of glob(['*.ts', 'v1/*.ts', 'v2/*.ts'], { cwd: folder })) {
    if (file === 'index.ts') continue;
    const module = (await import(pathToFileURL(join(folder, file)).href)) as Record<string, unknown>;
    const groups: RouteGroup[] = [];
    for (const [name, value] of Object.entries(module)) {
      if (name.endsWith('Routes') && typeof value === 'function') groups.push(...asGroups(value(nothing, nothing)));
    }
    found.set(file.slice(0, -'.ts'.length), groups);
  }
  return found;
}

function asGroups(value: unknown): RouteGroup[] {
  return (Array.isArray(value) ? value : [value]) as RouteGroup[];
}

/** Stands for any operation, any group of operations and any word of the configuration. */
const nothing: unknown = new Proxy(() => nothing, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => 'Any' : key === 'then' ? undefined : nothing),
});
