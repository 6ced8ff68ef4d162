import { glob } from 'node:fs/promises';
import { join, parse } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Route, RouteGroup } from '../http/router.ts';
import { buildRouter } from '../routes/index.ts';

const folder = join(import.meta.dirname, '../routes');

/** Every operation of the service without anything behind it. */
export async function allRoutes(): Promise<readonly Route[]> {
  const groups = await groupsByFile();
  // The router adds these two.
  for (const name of ['explorer', 'discovery']) groups.delete(name);
  return buildRouter([...groups.values()].flat(), { enabled: true }).routes;
}

/**
 * The groups of each route file by its path in `server/routes` without extension, made with empty operations. Route files lie
 * directly in `routes/` and in the folders of their audiences; other folders hold what they are made of.
 */
export async function groupsByFile(): Promise<Map<string, RouteGroup[]>> {
  const found = new Map<string, RouteGroup[]>();
  const files: string[] = [];
  for await (const file of glob(['*.{ts,js}', 'v1/*.{ts,js}', 'v2/*.{ts,js}'], { cwd: folder })) files.push(file);
  for (const file of files.toSorted()) {
    const { dir, name } = parse(file);
    if (name === 'index') continue;
    const module = (await import(pathToFileURL(join(folder, file)).href)) as Record<string, unknown>;
    const groups: RouteGroup[] = [];
    for (const [exported, value] of Object.entries(module)) {
      if (exported.endsWith('Routes') && typeof value === 'function') groups.push(...asGroups(value(nothing, nothing)));
    }
    found.set(dir === '' ? name : `${dir}/${name}`, groups);
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
