import { Forbidden, Unauthenticated } from '../errors.ts';
import type { AdminCaller, AppCaller } from './callers.ts';
import { authenticateAdmin, requireRole } from './admin-auth.ts';
import { authenticateApp, requireScope } from './bearer-auth.ts';
import { isListed } from './client-address.ts';
import type { Auth } from './contract.ts';
import type { EdgeContext } from './edge.ts';

/** Finds out who calls and whether the contract lets them; throws 401, 403 or 429. */
export async function authenticate(ctx: EdgeContext, auth: Auth): Promise<AdminCaller | AppCaller | undefined> {
  if (auth === 'none') {
    requireAdminNetwork(ctx);
    return undefined;
  }
  if (auth !== 'any-token' && 'admin' in auth) {
    const admin = await authenticateAdmin(ctx);
    requireAdminNetwork(ctx);
    requireRole(admin, auth.admin);
    return admin;
  }
  const app = await authenticateApp(ctx);
  if (auth !== 'any-token') requireScope(app, auth.scope);
  return app;
}

/** Checks the credential that a path below `/api` asks for when no route matched, so that the tree cannot be probed. */
export async function authenticateUnknown(ctx: EdgeContext): Promise<void> {
  if (ctx.path.startsWith('/api/v1/')) await authenticate(ctx, { admin: 'viewer' });
  else if (ctx.path.startsWith('/api/v2/')) await authenticate(ctx, 'any-token');
  else if (ctx.path === '/api' || ctx.path.startsWith('/api/')) {
    if (!ctx.get('authorization') && !ctx.get('cookie')) throw new Unauthenticated();
    await authenticateAdmin(ctx).catch(() => authenticateApp(ctx));
  }
}

function requireAdminNetwork(ctx: EdgeContext): void {
  const { adminNetworks } = ctx.edge;
  if (!adminNetworks || !ctx.path.startsWith('/api/v1/') || isListed(adminNetworks, ctx.state.ip)) return;
  throw new Forbidden('ip_not_allowed', 'Your IP address is not allowed to use the console.');
}
