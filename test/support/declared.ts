import type { ErrorCode } from '../../server/error-codes/error-codes.ts';
import type { Route } from '../../server/routes/index.ts';
import { allRoutes } from './routes.ts';

/** What any request may meet: its credentials, its form, its limits, its key, and faults of the service. */
const ANYWHERE: ReadonlySet<string> = new Set<ErrorCode>([
  'body_incomplete',
  'body_malformed',
  'body_too_deep',
  'body_too_large',
  'change_unknown',
  'csrf_failed',
  'database_busy',
  'database_full',
  'database_unavailable',
  'insufficient_scope',
  'internal_error',
  'invalid_request',
  'ip_not_allowed',
  'media_type_unsupported',
  'method_not_allowed',
  'not_found',
  'rate_limited',
  'role_insufficient',
  'second_factor_enrolment_required',
  'unauthenticated',
]);
const OF_A_KEY: ReadonlySet<string> = new Set<ErrorCode>(['idempotency_conflict', 'idempotency_in_progress']);

let routes: ReturnType<typeof allRoutes> | undefined;

/** Throws when a problem document carries a code that the contract of its operation does not name. */
export async function requireDeclared(method: string, path: string, body: unknown): Promise<void> {
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : undefined;
  if (code === undefined || ANYWHERE.has(code)) return;
  const contract = findRoute(await (routes ??= allRoutes()), method, path.split('?')[0] ?? '')?.contract;
  const auth = contract?.auth;
  if (typeof auth === 'object' && 'admin' in auth) {
    if (code === 'password_confirmation_required' && auth.confirmed) return;
    if (code === 'beyond_projects' && (auth.reach === 'service' || auth.reach === 'account')) return;
  }
  if (contract?.errors?.some((one) => one === code) || (contract?.idempotent && OF_A_KEY.has(code))) return;
  throw new Error(`${method} ${path} answered ${code}, which its contract does not name`);
}

/** A fixed path goes before one with parameters. */
function findRoute(all: readonly Route[], method: string, path: string): Route | undefined {
  const ofMethod = all.filter((route) => route.method === (method === 'HEAD' ? 'GET' : method));
  const fits = (route: Route) => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path);
  return ofMethod.find((route) => route.path === path) ?? ofMethod.find(fits);
}
