import { codesOf, GENERAL_CODES } from '../../server/http/openapi-codes.ts';
import type { Route } from '../../server/routes/index.ts';
import { allRoutes, fitsPattern } from './routes.ts';

const ANYWHERE: ReadonlySet<string> = new Set(GENERAL_CODES);

let routes: ReturnType<typeof allRoutes> | undefined;

/** Throws when a problem document carries a code that the contract of its operation does not name. */
export async function requireDeclared(method: string, path: string, body: unknown): Promise<void> {
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : undefined;
  if (code === undefined || ANYWHERE.has(code)) return;
  const contract = findRoute(await (routes ??= allRoutes()), method, path.split('?')[0] ?? '')?.contract;
  if (contract && codesOf(contract).some((one) => one === code)) return;
  throw new Error(`${method} ${path} answered ${code}, which its contract does not name`);
}

/** A fixed path goes before one with parameters. */
function findRoute(all: readonly Route[], method: string, path: string): Route | undefined {
  const ofMethod = all.filter((route) => route.method === (method === 'HEAD' ? 'GET' : method));
  return ofMethod.find((route) => route.path === path) ?? ofMethod.find((route) => fitsPattern(route.path, path));
}
