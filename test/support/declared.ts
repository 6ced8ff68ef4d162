import { codesOf, GENERAL_CODES } from '../../server/http/openapi/schemas.ts';
import type { Route } from '../../server/http/router.ts';
import { allRoutes, fitsPattern } from './routes.ts';

const ANYWHERE: ReadonlySet<string> = new Set(GENERAL_CODES);

let routes: ReturnType<typeof allRoutes> | undefined;

/** How the library that reads requests says what is wrong, which is nothing to tell a client. */
const OF_THE_LIBRARY = /^(Invalid|Too (small|big)|Unrecognized)\b/;

/** What a problem document says in the words of the library, if it does. */
export function libraryWords(body: unknown): string | undefined {
  const { errors } = (typeof body === 'object' && body !== null ? body : {}) as { errors?: { detail: string }[] };
  return Array.isArray(errors)
    ? errors.map(({ detail }) => detail).find((text) => OF_THE_LIBRARY.test(text))
    : undefined;
}

/** Throws when a problem document carries a code that the contract of its operation does not name, or words of a library. */
export async function requireDeclared(method: string, path: string, body: unknown): Promise<void> {
  const foreign = libraryWords(body);
  if (foreign !== undefined) throw new Error(`${method} ${path} answered in the words of a library: ${foreign}`);
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
