import { glob } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { buildRouter, type BuiltRouter, type RouteGroup } from '../../server/routes/index.ts';

const folder = join(import.meta.dirname, '../../server/routes');

/** Every route of the service without anything behind it: each route file is asked for its group with empty operations. */
export async function allRoutes(): Promise<BuiltRouter['routes']> {
  const groups: RouteGroup[] = [];
  for await (const file of glob('**/*.ts', { cwd: folder })) {
    if (file === 'index.ts' || file === 'explorer.ts' || file.startsWith('wire')) continue;
    const module = (await import(pathToFileURL(join(folder, file)).href)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(module)) {
      if (name.endsWith('Routes') && typeof value === 'function') groups.push(...asGroups(value(nothing, nothing)));
    }
  }
  return buildRouter(groups, { enabled: true, version: '0.0.0' }).routes;
}

function asGroups(value: unknown): RouteGroup[] {
  return (Array.isArray(value) ? value : [value]) as RouteGroup[];
}

/** Stands for any operation, any group of operations and any word of the configuration. */
const nothing: unknown = new Proxy(() => nothing, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => 'Any' : key === 'then' ? undefined : nothing),
});
